package http1

import "testing"

// BenchmarkRead reads a request and describes it to a handler, as is done for
// each.
func BenchmarkRead(b *testing.B) {
	text := []byte("GET /pets/1234 HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nUser-Agent: Go-http-client/1.1\r\n" +
		"Authorization: Bearer pst_abcdefghijklmnopqrstuvwxyz0123456789AB\r\nAccept: application/json\r\nAccept-Encoding: gzip\r\n\r\n")
	for b.Loop() {
		one := calls.Get().(*call)
		if _, v := one.read(text, anyPet); v != wholePlain {
			b.Fatal("the request is not plain")
		}
		if got := one.describe(b.Context(), nil, "127.0.0.1:1024", nil); got.Host == "" {
			b.Fatal("the request has no host")
		}
		calls.Put(one)
	}
}
