package main

import (
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"time"
)

// send repeats what is worth repeating: an answer with Retry-After, or none at all.
// Give every POST an Idempotency-Key, so that its repetition is safe.
func send(req *http.Request, attempts int, longest time.Duration) (*http.Response, error) {
	for attempt := 1; ; attempt++ {
		res, err := http.DefaultClient.Do(req)
		if err == nil && res.Header.Get("Retry-After") == "" {
			return res, nil
		}
		wait := backoff(attempt)
		if err == nil {
			if seconds, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil {
				wait = time.Duration(seconds) * time.Second
			}
		}
		if attempt == attempts || wait > longest {
			return res, err
		}
		if err == nil {
			res.Body.Close()
		}
		time.Sleep(wait)
		if req.GetBody != nil {
			req.Body, _ = req.GetBody()
		}
	}
}

// backoff is 1 to 2 s, 2 to 4 s, 4 to 8 s, … and at most a minute.
func backoff(attempt int) time.Duration {
	most := min(time.Minute, time.Second<<attempt)
	return most/2 + rand.N(most/2)
}

func main() {
	req, err := http.NewRequest("GET", os.Args[1], nil)
	if err != nil {
		log.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+os.Getenv("PETSTORE_KEY"))
	res, err := send(req, 6, 5*time.Minute)
	if err != nil {
		log.Fatal(err)
	}
	defer res.Body.Close()
	io.Copy(os.Stdout, res.Body)
}
