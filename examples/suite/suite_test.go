package suite

import (
	"fmt"
	"net/http"
	"net/http/httputil"
	"os"
	"strings"
	"testing"
	"time"
)

// call is the client under test. It repeats what got no answer, or an answer with a short Retry-After, and reads every page.
func call(method, path, body string, simulate ...string) string {
	client, answer := http.Client{Timeout: 3 * time.Second}, "no answer"
	for range 4 {
		req, _ := http.NewRequest(method, os.Getenv("PETSTORE_URL")+path, strings.NewReader(body))
		req.Header = http.Header{"Authorization": {"Bearer " + os.Getenv("PETSTORE_KEY")}, "Content-Type": {"application/json"}, "Idempotency-Key": {"order-1"}, "Petstore-Simulate": simulate}
		if res, err := client.Do(req); err == nil {
			text, _ := httputil.DumpResponse(res, true)
			answer = string(text)
			if next, more := strings.CutPrefix(res.Header.Get("Link"), "<"); more && method == "GET" {
				return answer + call(method, strings.Split(next, ">")[0], "")
			}
			wait, err := time.ParseDuration(res.Header.Get("Retry-After") + "s")
			if err != nil || wait > client.Timeout {
				break
			}
			time.Sleep(wait)
		}
	}
	return answer
}

// handle is the handler of events under test. It counts open orders, and ignores what it does not know.
func handle(kind string, open int) int {
	return open + map[string]int{"order.created": 1, "order.cancelled": -1}[kind]
}

func TestClient(t *testing.T) {
	if os.Getenv("PETSTORE_URL") == "" {
		t.Skip("run it by: petstore sandbox -- go test")
	}
	want := func(name, got, part string) {
		if !strings.Contains(got, part) {
			t.Errorf("%s: %.300s, want %s", name, got, part)
		}
		call("POST", "/account/reset", `{"catalogue":"large"}`)
	}
	want("repeats what fails for a while", call("GET", "/pets?id=1", "", "code=service_unavailable; times=2; id=a"), "200 OK")
	began := time.Now()
	want("waits as it is told", fmt.Sprint(call("GET", "/pets?id=1", "", "code=rate_limit_exceeded; retry-after=2; times=1; id=b"), time.Since(began) > 2*time.Second), "true")
	want("does not go on when banned", call("GET", "/pets?id=1", "", "code=api_key_banned; retry-after=60"), "api_key_banned")
	want("buys once though the answer is lost", call("POST", "/store/orders", `{"petId":1}`, "connection=lose-answer; times=1; id=c"), "Idempotency-Replayed: true")
	want("learns of a sunset", call("HEAD", "/pets/1", "", "sunset=now"), "410 Gone")
	want("gives up on slow answers", call("GET", "/pets?id=1", "", "latency=9s"), "no answer")
	want("ignores events that it does not know", fmt.Sprint(handle("pet.groomed", handle("order.created", 0))), "1")
	want("reads every page", call("GET", "/pets?limit=100", ""), `"id":1000,`)
}
