package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func idsOf(t *testing.T, body []byte) []int64 {
	t.Helper()
	var rows []struct{ ID, PetID int64 }
	if err := json.Unmarshal(body, &rows); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	ids := make([]int64, len(rows))
	for i, r := range rows {
		ids[i] = max(r.ID, r.PetID)
	}
	return ids
}

// TestTwoLengths: of a request of HTTP/2 with two lengths net/http believes the first.
func TestTwoLengths(t *testing.T) {
	t.Parallel()
	s := prepareService(t, limits())
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/categories", strings.NewReader(`{"name":"x"}`))
	r.Header = http.Header{"Authorization": {"Bearer " + s.key}, "Content-Type": {"application/json"}, "Content-Length": {"12", "60"}}
	w := httptest.NewRecorder()
	s.api.ServeHTTP(w, r)
	answer{t: t, status: w.Code, body: w.Body.Bytes()}.want(400, "invalid_parameter").field("Content-Length", "invalid_format")
}

type faults map[string]string // pointer to code

// badBodies are what can be wrong with a body, and the code of each member that the error names.
var badBodies = []struct {
	method, path, body, code string
	want                     faults
}{
	{"POST", "/pets", ``, "malformed_json", nil},
	{"POST", "/pets", ` `, "malformed_json", nil},
	{"POST", "/pets", `{"name":"a","categoryId":1} {}`, "malformed_json", nil},
	{"POST", "/pets", `{"name":"a","name":"b","categoryId":1}`, "malformed_json", nil},
	{"POST", "/pets", `{"name":"a","categoryId":1,"\u006eame":"b"}`, "malformed_json", nil},
	{"POST", "/pets", "{\"name\":\"\xff\",\"categoryId\":1}", "malformed_json", nil},
	{"POST", "/pets", `{"name":"\ud800","categoryId":1}`, "malformed_json", nil},
	{"POST", "/pets", `{"name":"a","categoryId":1,}`, "malformed_json", nil},
	{"POST", "/pets", `{'name':'a'}`, "malformed_json", nil},
	{"POST", "/pets", `{"name":NaN}`, "malformed_json", nil},
	{"POST", "/pets", `{"categoryId":01}`, "malformed_json", nil},
	{"POST", "/pets", `{"name":` + strings.Repeat("[", 16) + strings.Repeat("]", 16) + `}`, "malformed_json", nil},
	{"POST", "/pets", `{"name":` + strings.Repeat("[", 15) + strings.Repeat("]", 15) + `,"categoryId":1}`, "validation_failed", faults{"/name": "invalid_type"}},
	{"POST", "/pets", `[]`, "validation_failed", faults{"": "invalid_type"}},
	{"POST", "/pets", `{}`, "validation_failed", faults{"/name": "required", "/categoryId": "required"}},
	{"POST", "/pets", `{"name":7,"categoryId":"1"}`, "validation_failed", faults{"/name": "invalid_type", "/categoryId": "invalid_type"}},
	{"POST", "/pets", `{"name":"","categoryId":1}`, "validation_failed", faults{"/name": "too_short"}},
	{"POST", "/pets", `{"name":"a","categoryId":1e2}`, "validation_failed", faults{"/categoryId": "invalid_type"}},
	{"POST", "/pets", `{"name":"a","categoryId":9223372036854775808}`, "validation_failed", faults{"/categoryId": "out_of_range"}},
	{"POST", "/pets", `{"name":"a","categoryId":999}`, "validation_failed", faults{"/categoryId": "not_found"}},
	{"POST", "/pets", `{"name":"a","categoryId":1,"status":null}`, "validation_failed", faults{"/status": "invalid_type"}},
	{"POST", "/pets", `{"name":"a","categoryId":1,"id":5}`, "validation_failed", faults{"/id": "read_only"}},
	{"POST", "/pets", `{"Name":"a","categoryId":1}`, "validation_failed", faults{"/Name": "unknown_field", "/name": "required"}},
	{"POST", "/pets", `{"name":"a","categoryId":1,"a/b~c":1}`, "validation_failed", faults{"/a~1b~0c": "unknown_field"}},
	{"PUT", "/pets/1", `{"name":"a","categoryId":1,"id":2}`, "validation_failed", faults{"/id": "read_only"}},
	{"PUT", "/pets/1", `{"name":"a"}`, "validation_failed", faults{"/categoryId": "required"}},
	{"PATCH", "/pets/1", `{"name":null}`, "validation_failed", faults{"/name": "invalid_type"}},
	{"PATCH", "/pets/1", `{"categoryId":999}`, "validation_failed", faults{"/categoryId": "not_found"}},
	{"POST", "/store/orders", `{}`, "validation_failed", faults{"/petId": "required"}},
	{"POST", "/store/orders", `{"petId":999}`, "validation_failed", faults{"/petId": "not_found"}},
	{"POST", "/store/orders", `{"petId":1,"shipDate":"tomorrow","complete":"yes","id":1}`, "validation_failed",
		faults{"/shipDate": "invalid_format", "/complete": "invalid_type", "/id": "read_only"}},
	{"POST", "/store/orders", `{"petId":1,"shipDate":"2026-01-01T00:00:00"}`, "validation_failed", faults{"/shipDate": "invalid_format"}},
	{"PATCH", "/store/orders/1", `{"quantity":5,"petId":2}`, "validation_failed", faults{"/quantity": "read_only", "/petId": "read_only"}},
	{"PATCH", "/inventory/1", `{}`, "validation_failed", faults{"/quantity": "required"}},
	{"PATCH", "/inventory/1", `{"quantity":null}`, "validation_failed", faults{"/quantity": "invalid_type"}},
	{"PATCH", "/inventory/1", `{"quantity":5,"status":"sold"}`, "validation_failed", faults{"/status": "read_only"}},
}

// TestBadBodies sends what is wrong with a body in every way, and checks that
// the error says where and that nothing has changed.
func TestBadBodies(t *testing.T) {
	t.Parallel()
	s := openService(t)
	s.stock()
	before := s.get("/pets").body
	for _, test := range badBodies {
		a := s.do(request{method: test.method, path: test.path, body: test.body, header: map[string]string{"Content-Type": "application/json"}})
		if a.want(400, test.code); len(a.errors()) != len(test.want) {
			t.Errorf("%s names %d members, want %d: %s", a.what, len(a.errors()), len(test.want), a.body)
		}
		for pointer, code := range test.want {
			a.field(pointer, code)
		}
	}
	s.get("/pets").is(string(before))
}

func TestBadParameters(t *testing.T) {
	t.Parallel()
	s := openService(t)
	s.stock()
	for _, test := range []struct{ path, parameter, code string }{
		{"/pets?limit=1.5", "limit", "invalid_type"},
		{"/pets?limit=", "limit", "invalid_type"},
		{"/pets?limit=99999999999999999999", "limit", "out_of_range"},
		{"/pets?Limit=5", "Limit", "unknown_field"},
		{"/pets?status=", "status", "invalid_enum"},
		{"/pets?id=0", "id", "out_of_range"},
		{"/pets?id=" + strings.Repeat("1&id=", 100) + "1", "id", "out_of_range"},
		{"/pets?name=", "name", "too_short"},
		{"/pets?name=%FF", "name", "invalid_format"},
		{"/pets?name=" + strings.Repeat("x", 101), "name", "too_long"},
		{"/pets?api_key=secret", "api_key", "unknown_field"},
		{"/inventory?maxQuantity=-1", "maxQuantity", "out_of_range"},
		{"/pets/0", "petId", "out_of_range"},
		{"/pets/-1", "petId", "out_of_range"},
		{"/pets/9223372036854775808", "petId", "out_of_range"},
		{"/pets/one", "petId", "invalid_type"},
		{"/account?x=1", "x", "unknown_field"},
	} {
		s.get(test.path).want(400, "invalid_parameter").field(test.parameter, test.code)
	}
	for _, path := range []string{"/pets?name=%zz", "/pets?a;b"} {
		s.get(path).want(400, "invalid_parameter")
	}
	s.get("/pets/9223372036854775807").want(404, "pet_not_found")
	s.get("/pets?id=9007199254740993&categoryId=9223372036854775807").want(200, "").is(`[]`)
}

// TestFaultsSayWhatCame: the first message says what was received, and what to send.
func TestFaultsSayWhatCame(t *testing.T) {
	t.Parallel()
	s := openService(t)
	s.stock()
	for _, test := range []struct{ method, target, body, want string }{
		{"GET", "/pets?status=available,pending", "", `status must be one of available, pending, sold, not "available,pending"; repeat the parameter: ?status=available&status=pending.`},
		{"GET", "/inventory?status=Sold", "", `status must be one of available, pending, sold, not "Sold".`},
		{"GET", "/pets?id=1,%202", "", `id must be an integer, not "1, 2"; repeat the parameter: ?id=1&id=2.`},
		{"GET", "/pets?status[]=available&status%5B%5D=sold", "", `There is no parameter "status[]" here; leave out the brackets: ?status=available&status=sold.`},
		{"GET", "/pets?id[0]=7", "", `There is no parameter "id[0]" here; leave out the brackets: ?id=7.`},
		{"GET", "/pets?colour[]=red", "", `There is no parameter "colour[]" here.`},
		{"GET", "/pets?limit=101", "", `limit must be between 1 and 100, not "101".`},
		{"GET", "/pets?limit=ten&", "", `limit must be an integer, not "ten".`},
		{"GET", "/pets?limit=1&limit=2", "", `limit may stand once only, not 2 times.`},
		{"GET", "/pets?categoryId=" + strings.Repeat("x", 500), "", `categoryId must be an integer, not "` + strings.Repeat("x", 40) + `".`},
		{"GET", "/store/orders?complete=yes", "", `complete must be true or false, not "yes".`},
		{"GET", "/store/orders?shipDateFrom=today", "", `shipDateFrom must be a date-time of RFC 3339 with an offset, such as 2026-01-31T12:00:00Z, not "today"; in a URL a + is written %2B.`},
		{"GET", "/categories/one", "", `categoryId must be an integer, not "one".`},
		{"GET", "/categories/0", "", `categoryId must be between 1 and 9223372036854775807, not "0".`},
		{"POST", "/pets", `[1]`, `The body must be a JSON object, not an array.`},
		{"POST", "/pets", `{"name":null,"categoryId":1}`, `name must be a string, not null.`},
		{"POST", "/pets", `{"name":"a","categoryId":"1"}`, `categoryId must be an integer, without fraction or exponent, not a string.`},
		{"POST", "/pets", `{"name":"a","categoryId":1.0}`, `categoryId must be an integer, without fraction or exponent, not 1.0.`},
		{"POST", "/pets", `{"name":"a","categoryId":1,"status":"free"}`, `status must be one of available, pending, sold, not "free".`},
		{"POST", "/pets", `{"name":"a","categoryId":1,"status":""}`, `status must be one of available, pending, sold, not "".`},
		{"POST", "/pets", `{"name":"a","categoryId":-1}`, `categoryId must be at least 1, not -1.`},
		{"POST", "/store/orders", `{"petId":1,"quantity":0}`, `quantity must be between 1 and 1000000, not 0.`},
		{"POST", "/store/orders", `{"petId":1,"quantity":1,"shipDate":"tomorrow"}`, `shipDate must be a date-time of RFC 3339 with an offset, such as 2026-01-31T12:00:00Z, not "tomorrow".`},
	} {
		var got struct{ Errors []struct{ Message string } }
		a := s.do(request{method: test.method, path: test.target, body: test.body})
		if err := json.Unmarshal(a.body, &got); err != nil || a.status != 400 || len(got.Errors) != 1 || got.Errors[0].Message != test.want {
			t.Errorf("%s %.60s %s = %d %s\nwant %s", test.method, test.target, test.body, a.status, a.body, test.want)
		}
	}
	for body, want := range map[string]string{" ": "at byte 1: it ends too early.", `{"name":`: "at byte 8: it ends too early.", "{} {": "after top-level value"} {
		if a := s.do(request{method: "POST", path: "/pets", body: body}); a.status != 400 || !strings.Contains(string(a.body), want) {
			t.Errorf("POST /pets %q = %d %s, want it to say %q", body, a.status, a.body, want)
		}
	}
}

// TestFaultsAreBounded: what is wrong with a request of any size is said in a hundred faults of a few hundred bytes.
func TestFaultsAreBounded(t *testing.T) {
	t.Parallel()
	s := openService(t)
	many := strings.Builder{}
	for i := range 5000 {
		fmt.Fprintf(&many, `"m%d":1,`, i)
	}
	long := strings.Repeat("x", 60_000)
	for _, test := range []struct{ method, path, body string }{
		{"POST", "/pets", "{" + many.String() + `"name":"a"}`},
		{"POST", "/pets", `{"` + long + `":1}`},
		{"POST", "/pets", `{"` + strings.Repeat("\\u0001", 10_000) + `":1}`},
		{"POST", "/pets", `{"name":"a","categoryId":1,"status":"` + long + `"}`},
		{"POST", "/keys", `{"name":"a","scopes":["` + strings.Repeat(`x","`, 10_000) + `"]}`},
		{"GET", "/pets?" + long[:8000], ""},
		{"GET", "/pets?" + strings.Repeat("a&b&c&", 1000), ""},
		{"GET", "/pets?status=" + long[:8000], ""},
	} {
		a := s.do(request{method: test.method, path: test.path, body: test.body})
		var e struct {
			Message string
			Errors  []struct{ Pointer, Parameter, Message string }
		}
		if err := json.Unmarshal(a.body, &e); err != nil || a.status != 400 || len(e.Errors) < 1 || len(e.Errors) > 100 || len(e.Message) > 230 {
			t.Errorf("%s %.40s = %d with %d faults, %.300q, %v", test.method, test.path, a.status, len(e.Errors), e.Message, err)
		}
		for _, f := range e.Errors {
			if len(f.Pointer)+len(f.Parameter) > 200 || len(f.Message) > 200 {
				t.Errorf("%s %.40s: the fault %.300q %.300q has the message %.300q", test.method, test.path, f.Pointer, f.Parameter, f.Message)
			}
		}
	}
}
