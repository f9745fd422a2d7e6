package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/petstore/client"
)

// A script answers requests with what is prepared, one after the other, and the last again and again. It stands for a
// server that fails in ways that the real one cannot be made to, in a time that is not real.
type script struct {
	mu      sync.Mutex
	answers []answer
	seen    []seen
}

// An answer of status 0 is a connection that breaks.
type answer struct {
	status     int
	retryAfter string
	body       string
}

type seen struct {
	at             time.Time
	method         string
	body           string
	idempotencyKey string
}

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body) // from memory
	}
	s.seen = append(s.seen, seen{time.Now(), r.Method, string(body), r.Header.Get("Idempotency-Key")})
	a := s.answers[min(len(s.seen), len(s.answers))-1]
	if a.status == 0 {
		return nil, errors.New("connection reset by peer")
	}
	h := http.Header{}
	if a.retryAfter != "" {
		h.Set("Retry-After", a.retryAfter)
	}
	return &http.Response{StatusCode: a.status, Header: h, Body: io.NopCloser(strings.NewReader(a.body)), Request: r}, nil
}

func scripted(t *testing.T, answers []answer, opts ...client.Option) (*client.Client, *script) {
	t.Helper()
	s := &script{answers: answers}
	c, err := client.New("https://petstore.example", "pst_key", append(opts, client.WithHTTPClient(&http.Client{Transport: s}))...)
	must(t, err)
	return c, s
}

func limited(after string) answer {
	return answer{http.StatusTooManyRequests, after, `{"code":"rate_limit_exceeded","message":"Too many.","status":429}`}
}

const order = `{"id":1001,"petId":42,"quantity":1,"complete":false}`

func place(ctx context.Context, c *client.Client) error {
	_, err := c.CreateOrder(ctx, client.NewOrder{PetID: 42})
	return err
}

func patch(ctx context.Context, c *client.Client) error {
	_, err := c.UpdateOrder(ctx, 1001, client.OrderPatch{Complete: client.Set(true)})
	return err
}

func read(ctx context.Context, c *client.Client) error {
	_, err := c.GetOrder(ctx, 1001)
	return err
}

func cancelOrder(ctx context.Context, c *client.Client) error { return c.CancelOrder(ctx, 1001) }

func TestWhatIsRepeated(t *testing.T) {
	t.Parallel()
	good, broken, failed := answer{200, "", order}, answer{}, answer{503, "", `{"code":"service_unavailable","message":"Later.","status":503}`}
	running := answer{409, "1", `{"code":"idempotency_in_progress","message":"Still running.","status":409}`}
	for name, tc := range map[string]struct {
		call     func(context.Context, *client.Client) error
		answers  []answer
		want     int // requests
		wantCode client.Code
		fails    bool
	}{
		"a read after a broken connection": {read, []answer{broken, good}, 2, "", false},
		"a read after 503":                 {read, []answer{failed, failed, good}, 3, "", false},
		"a read after 502 of a proxy":      {read, []answer{{502, "", "<html>"}, good}, 2, "", false},
		"a post after a broken connection": {place, []answer{broken, good}, 2, "", false},
		"a post that is still running":     {place, []answer{running, good}, 2, "", false},
		"a delete after 500":               {cancelOrder, []answer{{500, "", ""}, {204, "", ""}}, 2, "", false},
		"a patch after 429":                {patch, []answer{limited("1"), good}, 2, "", false},
		"no patch after 503":               {patch, []answer{failed, good}, 1, client.CodeServiceUnavailable, true},
		"no patch after a broken line":     {patch, []answer{broken, good}, 1, "", true},
		"nothing after 404":                {read, []answer{{404, "", `{"code":"order_not_found","message":"","status":404}`}}, 1, client.CodeOrderNotFound, true},
		"nothing after five attempts":      {read, []answer{failed}, 5, client.CodeServiceUnavailable, true},
		"nothing that takes hours":         {read, []answer{limited("43200")}, 1, client.CodeRateLimitExceeded, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, s := scripted(t, tc.answers)
				err := tc.call(t.Context(), c)
				if (err != nil) != tc.fails || client.CodeOf(err) != tc.wantCode {
					t.Errorf("the call = %v, want failure %v with code %q", err, tc.fails, tc.wantCode)
				}
				if len(s.seen) != tc.want {
					t.Errorf("%d requests, want %d", len(s.seen), tc.want)
				}
			})
		})
	}
}

func TestRepetitionsAreTheSameRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := scripted(t, []answer{{}, limited("1"), {500, "", ""}, {201, "", order}})
		var resp client.Response
		if _, err := c.CreateOrder(t.Context(), client.NewOrder{PetID: 42}, client.Into(&resp)); err != nil {
			t.Fatal(err)
		}
		must(t, place(t.Context(), c))
		for _, again := range s.seen[1:4] {
			if again.body != s.seen[0].body || again.idempotencyKey != s.seen[0].idempotencyKey || again.idempotencyKey == "" {
				t.Errorf("a repetition sent %+v, want %+v", again, s.seen[0])
			}
		}
		if s.seen[4].idempotencyKey == s.seen[0].idempotencyKey {
			t.Error("the next order has the same Idempotency-Key, want a fresh one")
		}
		if resp.Attempts != 4 {
			t.Errorf("Attempts = %d, want 4", resp.Attempts)
		}
	})
}

func TestPauses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := scripted(t, []answer{limited("17"), {}, {}, {}, {}}, client.WithRetry(client.Retry{
			Attempts: 5, Backoff: time.Second, MaxBackoff: 3 * time.Second, MaxWait: time.Minute,
		}))
		if err := read(t.Context(), c); err == nil {
			t.Fatal("GetOrder over broken connections succeeded, want an error")
		}
		want := []struct{ least, most time.Duration }{{17 * time.Second, 17 * time.Second}, {time.Second, 2 * time.Second}, {1500 * time.Millisecond, 3 * time.Second}, {1500 * time.Millisecond, 3 * time.Second}}
		for i, w := range want {
			if got := s.seen[i+1].at.Sub(s.seen[i].at); got < w.least || got > w.most {
				t.Errorf("pause %d took %v, want %v to %v", i+1, got, w.least, w.most)
			}
		}
	})
}

func TestNoWaitBeyondTheDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := scripted(t, []answer{limited("30")})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		start := time.Now()
		for range 2 { // the second is not even sent
			if err := read(ctx, c); client.CodeOf(err) != client.CodeRateLimitExceeded {
				t.Errorf("GetOrder = %v, want %s", err, client.CodeRateLimitExceeded)
			}
		}
		if len(s.seen) != 1 {
			t.Errorf("%d requests, want one", len(s.seen))
		}
		if waited := time.Since(start); waited != 0 {
			t.Errorf("both took %v, want no wait for what comes too late", waited)
		}
	})
}

func TestCancelEndsAWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := scripted(t, []answer{limited("30")})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		start := time.Now()
		err := read(ctx, c)
		if !errors.Is(err, context.Canceled) || client.CodeOf(err) != client.CodeRateLimitExceeded {
			t.Errorf("GetOrder = %v, want the end of the context and the refusal", err)
		}
		if took := time.Since(start); took != time.Second || len(s.seen) != 1 {
			t.Errorf("GetOrder took %v and %d requests, want 1 s and one request", took, len(s.seen))
		}
	})
}

// TestOthersWaitToo has many goroutines on one client: a refusal of one holds all others back.
func TestOthersWaitToo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := scripted(t, []answer{limited("20"), {200, "", order}})
		var calls sync.WaitGroup
		calls.Go(func() {
			if err := read(t.Context(), c); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		for range 50 {
			calls.Go(func() {
				if err := read(t.Context(), c); err != nil {
					t.Error(err)
				}
			})
		}
		calls.Wait()
		if len(s.seen) != 52 {
			t.Fatalf("%d requests, want 52", len(s.seen))
		}
		for _, r := range s.seen[1:] {
			if wait := r.at.Sub(s.seen[0].at); wait < 20*time.Second {
				t.Errorf("a request came %v after the refusal, want 20 s", wait)
			}
		}
	})
}

// slow answers each request after a time.
type slow time.Duration

func (s slow) RoundTrip(r *http.Request) (*http.Response, error) {
	select {
	case <-r.Context().Done():
		return nil, r.Context().Err()
	case <-time.After(time.Duration(s)):
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("[]")), Request: r}, nil
	}
}

// A request that asks the server to wait has that much longer than the HTTP client's timeout, and no more.
func TestWaitsLongerForEvents(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		wait  int
		takes time.Duration
		ok    bool
	}{{0, 29 * time.Second, true}, {0, 31 * time.Second, false}, {30, 59 * time.Second, true}, {30, 61 * time.Second, false}} {
		synctest.Test(t, func(t *testing.T) {
			h := &http.Client{Transport: slow(tc.takes), Timeout: 30 * time.Second}
			c, err := client.New("https://petstore.example", "pst_key", client.WithHTTPClient(h), client.WithRetry(client.Retry{}))
			must(t, err)
			if _, err := c.ListEvents(t.Context(), client.ListEventsParams{Wait: tc.wait}); (err == nil) != tc.ok {
				t.Errorf("ListEvents with Wait %d, answered after %v, = %v, want success %v", tc.wait, tc.takes, err, tc.ok)
			}
		})
	}
}

func TestRetriesAreReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var got []client.Attempt
		c, _ := scripted(t, []answer{limited("2"), {200, "", order}}, client.OnRetry(func(a client.Attempt) { got = append(got, a) }))
		must(t, read(t.Context(), c))
		if len(got) != 1 || got[0].Wait != 2*time.Second || got[0].Number != 1 || got[0].Operation != "getOrder" ||
			client.CodeOf(got[0].Err) != client.CodeRateLimitExceeded {
			t.Errorf("reported %+v, want one refusal of getOrder with a wait of 2 s", got)
		}
	})
}

func TestWithoutRetries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := scripted(t, []answer{limited("1")}, client.WithRetry(client.Retry{}))
		for range 2 {
			if err := read(t.Context(), c); client.CodeOf(err) != client.CodeRateLimitExceeded {
				t.Errorf("GetOrder = %v, want %s", err, client.CodeRateLimitExceeded)
			}
		}
		if len(s.seen) != 2 {
			t.Errorf("%d requests, want 2", len(s.seen))
		}
	})
}
