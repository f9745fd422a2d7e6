package security

import (
	"fmt"
	"slices"
	"strings"
)

// A vector is bytes that two parsers might split into requests in two ways. The
// second request in it, for /smuggled, must never be taken for one of its own
// unless the RFC says that it is.
type vector struct {
	name   string
	raw    string // KEY stands for a key
	want   []int  // the statuses, in order
	closes bool   // the connection ends after them
}

const smuggled = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"

// get begins a request for nothing whose header goes on; post one that makes a
// category.
const (
	get  = "GET /nothing HTTP/1.1\r\nHost: x\r\n"
	post = "POST /categories HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer KEY\r\nContent-Type: application/json\r\n"
)

const (
	body    = `{"name":"x"}` // 12 bytes
	sized   = "Content-Length: 12\r\n\r\n" + body
	chunked = "c\r\n" + body + "\r\n0\r\n\r\n"
	te      = "Transfer-Encoding: chunked\r\n\r\n"
)

// vectors returns all of them. Sections without another RFC are of RFC 9112.
func vectors() []vector {
	return slices.Concat(lineVectors(), targetVectors(), fieldVectors(), lengthVectors(), codingVectors(), chunkVectors(), otherVectors())
}

// refused returns a vector that is answered with 400, and the connection ended.
func refused(name, raw string) vector { return vector{name, raw + smuggled, []int{400}, true} }

// taken returns a vector that is answered with the status, and the connection
// goes on.
func taken(name, raw string, status int) vector { return vector{name, raw, []int{status}, false} }

// last returns a vector that is answered with the status, after which the
// connection ends whatever follows.
func last(name, raw string, status int) vector {
	return vector{name, raw + smuggled, []int{status}, true}
}

// lineVectors are about the line of a request and its end (§2.2, §2.3, §3).
func lineVectors() []vector {
	line := func(line string) string { return line + "\r\nHost: x\r\n\r\n" }
	return []vector{
		refused("two spaces", line("GET  /pets HTTP/1.1")),
		refused("a space first", line(" GET /pets HTTP/1.1")),
		refused("a space last", line("GET /pets HTTP/1.1 ")),
		refused("tabs for spaces", line("GET\t/pets\tHTTP/1.1")),
		refused("a space in the path", line("GET /pets /x HTTP/1.1")),
		refused("a control character in the path", line("GET /pe\x01ts HTTP/1.1")),
		refused("a NUL in the path", line("GET /pe\x00ts HTTP/1.1")),
		refused("a method that is no token", line("G{T /pets HTTP/1.1")),
		refused("no version", line("GET /pets")),
		refused("HTTP/0.9", "GET /pets\r\n\r\n"),
		refused("an unknown version", line("GET /pets HTTP/3.7")),
		refused("the version of another framing", line("GET /pets HTTP/2.0")),
		refused("a version of three digits", line("GET /pets HTTP/1.10")),
		refused("a version with a zero", line("GET /pets HTTP/01.1")),
		refused("a lower-case version", line("GET /pets http/1.1")),
		taken("a later minor version", line("GET /nothing HTTP/1.2"), 404), // RFC 9110 §2.5: as the newest that is known
		// §2.2: a CR alone ends nothing, and nothing stands between the line and the fields.
		refused("a line that ends in CR", "GET /pets HTTP/1.1\rHost: x\r\n\r\n"),
		refused("a line that ends in CR CR LF", "GET /pets HTTP/1.1\r\r\nHost: x\r\n\r\n"),
		refused("a space before the first field", "GET /pets HTTP/1.1\r\n Host: x\r\n\r\n"),
		refused("a tab before the first field", "GET /pets HTTP/1.1\r\n\tX: y\r\nHost: x\r\n\r\n"),
		refused("a handshake of TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"+strings.Repeat("a", 60)+"\r\n\r\n"),
		// The preface of HTTP/2 is one at the beginning of a connection alone (RFC 9113 §3.4).
		last("the preface of HTTP/2 with a field", "PRI * HTTP/2.0\r\nHost: x\r\n\r\n", 404),
	}
}

// targetVectors are about the target and the host (§3.2).
func targetVectors() []vector {
	host := func(host string) string { return "GET /pets HTTP/1.1\r\n" + host + "\r\n\r\n" }
	target := func(target string) string { return "GET " + target + " HTTP/1.1\r\nHost: x\r\n\r\n" }
	return []vector{
		refused("no host", "GET /pets HTTP/1.1\r\n\r\n"),
		refused("two hosts", host("Host: a\r\nHost: b")),
		refused("the same host twice", host("Host: a\r\nHost: a")),
		refused("a host that is none", host("Host: a b")),
		refused("two hosts in one", host("Host: a, b")),
		refused("a host with a path", host("Host: a/b")),
		refused("a host with a user", host("Host: a@b")),
		refused("a space after Host", host("Host : a")),
		taken("an empty host", "GET /nothing HTTP/1.1\r\nHost:\r\n\r\n", 404),
		refused("a path without a slash", target("pets")),
		// §3.2.2: the host of an absolute target counts, but one of Host there must be all the same.
		taken("an absolute target", target("http://y/nothing"), 404),
		refused("an absolute target without a host", "GET http://y/pets HTTP/1.1\r\n\r\n"),
		refused("an absolute target with two hosts", "GET http://y/pets HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n"),
		// RFC 9110 §4.2: such URLs are none of ours.
		taken("an absolute target of nobody", target("http:///openapi.json"), 404),
		taken("an absolute target with a user", target("http://a@y/openapi.json"), 404),
		taken("an absolute target of another scheme", target("ftp://y/openapi.json"), 404),
		taken("a target that begins with two slashes", target("//y/openapi.json"), 404),
		taken("a host and a port", target("x:80"), 404),
		taken("a star", target("*"), 404),
		taken("a tunnel", "CONNECT x:443 HTTP/1.1\r\nHost: x:443\r\n\r\n", 404),
	}
}

// fieldVectors are about the fields of the header (§5).
func fieldVectors() []vector {
	field := func(line string) string { return post + line + "\r\n" + sized }
	return []vector{
		// §5.1: nothing stands between a name and its colon.
		refused("a space before the colon", field("Transfer-Encoding : chunked")),
		refused("a tab before the colon", field("Transfer-Encoding\t: chunked")),
		refused("a space in a name", field("Transfer Encoding: chunked")),
		refused("a name that is no token", field("X(y): chunked")),
		refused("a name that is not ASCII", field("X\xff: chunked")),
		refused("a NUL in a name", field("X\x00: b")),
		refused("an empty name", field(": x")),
		refused("a line without a colon", field("nothing")),
		taken("a name that is like another", field("Transfer_Encoding: chunked"), 201),
		// RFC 9110 §5.5: what may be in a value.
		refused("a NUL in a value", field("X: a\x00b")),
		refused("a DEL in a value", field("X: a\x7fb")),
		refused("a control character in a value", field("X: a\x07b")),
		refused("a bare CR", field("X: a\rTransfer-Encoding: chunked")),
		refused("a CR before the end of a line", field("X: a\r")),
		refused("a CR before the end of the header", get+"\r\r\n"),
		taken("a value that is not ASCII", field("X: \xff"), 201),
		// §2.2: a line may end in LF. What stands after it is a field.
		last("a field after LF", post+"X: a\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n"+chunked, 201),
		// §5.2: a folded line is refused, or joined to the one before.
		{"a space before a name", post + " Transfer-Encoding: chunked\r\n" + sized, []int{415}, false}, // Content-Type is another now
		last("a folded coding", post+"Transfer-Encoding:\r\n chunked\r\nContent-Length: 5\r\n\r\n"+chunked, 201),
		refused("a folded length", post+"Content-Length: 1\r\n 2\r\n\r\n"+body),
		taken("a folded length of nothing and a number", post+"Content-Length:\r\n 12\r\n\r\n"+body, 201),
	}
}

// lengthVectors are about Content-Length (§6.2, §6.3): several that differ, or
// one that is no number, cannot be recovered from.
func lengthVectors() []vector {
	length := func(value string) string { return post + "Content-Length: " + value + "\r\n\r\n" + body }
	return []vector{
		refused("two lengths", post+"Content-Length: 12\r\nContent-Length: 60\r\n\r\n"+body),
		refused("two lengths, the first 0", post+"Content-Length: 0\r\n"+sized),
		refused("two lengths of a get", get+"Content-Length: 0\r\nContent-Length: 35\r\n\r\n"),
		refused("a list of lengths", length("12, 60")),
		refused("a list of one length", length("12, 12")),
		refused("a signed length", length("+12")),
		refused("a negative length", length("-1")),
		refused("a hexadecimal length", length("0xc")),
		refused("a length with a point", length("12.0")),
		refused("a length with a space", length("1 2")),
		refused("a length with a line", length("1_2")),
		refused("a length in other digits", length("١٢")),
		refused("an empty length", length("")),
		refused("a length beyond 63 bits", length("9223372036854775808")),
		refused("a length beyond 64 bits", length("18446744073709551628")),
		refused("a huge length", length("99999999999999999999")),
		taken("a length with zeros", length("0000000012"), 201),
		taken("a length with blanks", length("\t12 \t"), 201),
		taken("a length twice", post+"Content-Length: 12\r\n"+sized, 201),
		taken("a length that Connection names", post+"Connection: Content-Length\r\n"+sized, 201),
		{"a length longer than is taken", post + "Content-Length: 70000\r\n\r\n" + strings.Repeat(" ", 70000), []int{413}, false},
	}
}

// codingVectors are about Transfer-Encoding (§6.1, §6.3).
func codingVectors() []vector {
	coding := func(value string) string { return post + "Transfer-Encoding: " + value + "\r\n\r\n" + chunked }
	old := func(fields string) string {
		return "POST /categories HTTP/1.0\r\nConnection: keep-alive\r\nAuthorization: Bearer KEY\r\nContent-Type: application/json\r\n" + fields
	}
	return []vector{
		// Who sends both is answered by Transfer-Encoding, and cut off.
		last("both lengths", post+"Content-Length: 5\r\n"+te+chunked, 201),
		last("both lengths, other order", post+"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n"+chunked, 201),
		last("chunked alone", post+te+chunked, 201),
		last("chunked in capitals", coding("CHUNKED"), 201),
		last("chunked after a tab", post+"Transfer-Encoding:\tchunked\r\n\r\n"+chunked, 201),
		last("a coding that Connection names", post+"Connection: Transfer-Encoding\r\n"+te+chunked, 201),
		// A coding that is not understood, or does not end in chunked.
		refused("an unknown coding", coding("xchunked")),
		refused("another coding before", coding("gzip, chunked")),
		refused("chunked twice", post+"Transfer-Encoding: chunked\r\n"+te+chunked),
		refused("chunked twice in one", coding("chunked, chunked")),
		refused("chunked, then identity", coding("chunked, identity")),
		refused("identity, then chunked", post+"Transfer-Encoding: identity\r\n"+te+chunked),
		refused("identity", post+"Transfer-Encoding: identity\r\n"+sized),
		refused("chunked and a comma", coding("chunked,")),
		refused("chunked with a parameter", coding("chunked;q=1")),
		refused("no coding", post+"Transfer-Encoding:\r\n"+sized),
		refused("a vertical tab", coding("\vchunked")),
		refused("another space", coding("\u00a0chunked")),
		refused("quoted", coding(`"chunked"`)),
		// HTTP/1.0 has no Transfer-Encoding: the framing is faulty, and the connection ends (§6.1).
		last("HTTP/1.0", old(sized), 201),
		last("HTTP/1.0 in chunks", old(te), 400),
		last("HTTP/1.0 with both lengths", old("Transfer-Encoding: chunked\r\n"+sized), 201),
		last("HTTP/1.0 with an unknown coding", old("Transfer-Encoding: x\r\n"+sized), 201),
	}
}

// chunkVectors are about chunks (§7.1). A connection ends after them, see
// codingVectors: what counts is that no chunk is taken for a request.
func chunkVectors() []vector {
	first := func(line string) string { return post + te + line + body + "\r\n0\r\n\r\n" }
	return []vector{
		refused("a chunk size that is none", first("zz\r\n")),
		refused("a chunk size that is empty", first("\r\n")),
		refused("a chunk size of an extension", first(";a\r\n")),
		refused("a chunk size with 0x", first("0xc\r\n")),
		refused("a chunk size with a sign", first("+c\r\n")),
		refused("a negative chunk size", first("-c\r\n")),
		refused("a chunk size after a space", first(" c\r\n")),
		refused("a chunk size too large", first("fffffffffffffffff\r\n")),
		refused("a chunk size beyond 64 bits", first("1000000000000000c\r\n")),
		refused("a chunk size with many zeros", first(strings.Repeat("0", 40)+"c\r\n")),
		refused("a chunk size that ends in LF", first("c\n")),
		refused("a chunk longer than its size", first("3\r\n")),
		refused("a chunk that ends in LF", post+te+"c\r\n"+body+"\n0\r\n\r\n"),
		refused("an extension with LF", first("c;a\nb\r\n")),
		refused("an extension with CR", first("c;a\rb\r\n")),
		refused("a long extension", first("c;"+strings.Repeat("a", 9000)+"\r\n")),
		refused("more extension than chunk", post+te+strings.Repeat("1;"+strings.Repeat("a", 3000)+"\r\n \r\n", 20)+chunked),
		refused("a last chunk that ends in LF", post+te+"c\r\n"+body+"\r\n0\n\r\n"),
		refused("a trailer that is no field", post+te+"c\r\n"+body+"\r\n0\r\nnothing\r\n\r\n"),
		refused("a trailer that is announced and would be a coding", post+"Trailer: Transfer-Encoding\r\n"+te+chunked),
		last("a chunk size with zeros", first("00c\r\n"), 201),
		last("a chunk size and a space", first("c \r\n"), 201),
		last("an extension", first("c;a=b\r\n"), 201),
		last("an extension of the last chunk", post+te+"c\r\n"+body+"\r\n0;a=b\r\n\r\n", 201),
		last("lengths and hosts in the trailer", post+te+"c\r\n"+body+"\r\n0\r\nContent-Length: 99\r\nTransfer-Encoding: x\r\nHost: z\r\n\r\n", 201),
	}
}

// otherVectors are requests in others, after others, and what would make a
// connection one of another protocol.
func otherVectors() []vector {
	inside := func(line string) string {
		return line + " HTTP/1.1\r\nHost: x\r\nContent-Length: " + fmt.Sprint(len(smuggled)) + "\r\n\r\n" + smuggled
	}
	return []vector{
		// Two requests that are two (§9.3.2), and bodies of requests that need none (RFC 9110 §9.3).
		{"pipelined", get + "\r\n" + smuggled, []int{404, 404}, false},
		taken("a get with a body", inside("GET /nothing"), 404),
		taken("a delete with a body", inside("DELETE /nothing"), 404),
		taken("a get without a key, with a body", inside("GET /pets"), 401),
		taken("a delete without a key, with a body", inside("DELETE /pets/1"), 401),
		taken("a post that is refused, with a body", inside("POST /pets"), 401),
		{"a post without a length", post + "\r\n" + smuggled, []int{400, 404}, false},
		// Nothing is read after the last (§9.6).
		last("close", get+"Connection: close\r\n\r\n", 404),
		last("close among others", get+"Connection: x, close\r\n\r\n", 404),
		last("close, of a short cut", "GET /pets HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 401),
		// RFC 9110 §7.8: an upgrade may be ignored. RFC 9113 §3.1: that to h2c is no longer used.
		taken("an upgrade to HTTP/2", get+"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n", 404),
		taken("an upgrade to WebSocket", get+"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", 404),
		// RFC 9110 §10.1.1: an expectation that is unknown may be refused.
		refused("an unknown expectation", post+"Expect: x\r\n"+sized),
		taken("an expectation of a get", get+"Expect: 100-continue\r\n\r\n", 404),
	}
}
