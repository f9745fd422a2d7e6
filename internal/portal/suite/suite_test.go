package suite

import (
	"encoding/json"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// call is the client under test. It repeats what got no answer, or an answer with Retry-After.
func call(t *testing.T, method, path, body, simulate string, attempts int, timeout time.Duration) (res *http.Response, answer any, err error) {
	t.Helper()
	client := http.Client{Timeout: timeout}
	for attempt := 1; ; attempt++ {
		req, _ := http.NewRequest(method, os.Getenv("PETSTORE_URL")+path, strings.NewReader(body))
		for name, value := range map[string]string{"Authorization": "Bearer " + os.Getenv("PETSTORE_KEY"), "Content-Type": "application/json", "Idempotency-Key": t.Name(), "Petstore-Simulate": simulate} {
			if value != "" {
				req.Header.Set(name, value)
			}
		}
		if res, err = client.Do(req); err == nil {
			_ = json.NewDecoder(res.Body).Decode(&answer)
			res.Body.Close()
			seconds, _ := strconv.Atoi(res.Header.Get("Retry-After"))
			if seconds == 0 || attempt == attempts {
				return res, answer, nil
			}
			time.Sleep(time.Duration(seconds) * time.Second)
		} else if attempt == attempts {
			return nil, nil, err
		}
	}
}

func TestClient(t *testing.T) {
	for _, test := range []struct{ name, method, path, body, simulate, want string }{
		{"repeats what fails for a while", "GET", "/pets?limit=1", "", "code=service_unavailable; times=2; id=a", "200 Biscuit"},
		{"waits as it is told", "GET", "/pets?limit=1", "", "code=rate_limit_exceeded; retry-after=2; times=1; id=b", "200 Biscuit"},
		{"buys once though the answer is lost", "POST", "/store/orders", `{"petId":18}`, "connection=lose-answer; times=1; id=c", "201 \"id\":16,"},
		{"learns of a sunset", "GET", "/pets/1", "", "sunset=now", "410 operation_sunset"},
		{"reads what is cut once more", "GET", "/pets?limit=1", "", "connection=refuse-answer; times=1; id=d", "200 Biscuit"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if os.Getenv("PETSTORE_URL") == "" {
				t.Skip("run it by: petstore sandbox -- go test")
			}
			call(t, "POST", "/account/reset", `{"catalogue":"demo"}`, "", 1, time.Second)
			res, answer, err := call(t, test.method, test.path, test.body, test.simulate, 4, 5*time.Second)
			text, _ := json.Marshal(answer)
			status, part, _ := strings.Cut(test.want, " ")
			if err != nil || strconv.Itoa(res.StatusCode) != status || !strings.Contains(string(text), part) {
				t.Errorf("%s %s = %s, %v, want %s", test.method, test.path, text, err, test.want)
			}
		})
	}
}
