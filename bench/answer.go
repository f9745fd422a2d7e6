package main

import (
	"bytes"
	"fmt"
	"strconv"
)

// most is the longest head of an answer that is taken.
const most = 64 << 10

// parseAnswer returns the answer that in holds; its body is nil if it is not
// complete.
func parseAnswer(in []byte) (answer, error) {
	end := bytes.Index(in, []byte("\r\n\r\n"))
	if end < 0 && len(in) < most {
		return answer{}, nil
	}
	head := in[:end+4]
	length, err := bodyLength(head)
	if err != nil {
		return answer{}, err
	}
	body := in[len(head):]
	switch {
	case length < 0 && bytes.HasSuffix(body, []byte("0\r\n\r\n")):
		return answer{head, body}, nil
	case length < 0:
		return answer{}, nil
	case len(body) > length:
		return answer{}, fmt.Errorf("an answer is longer than it says: %.80q", in)
	case len(body) < length:
		return answer{}, nil
	}
	return answer{head, body}, nil
}

// An answer is a response as it came.
type answer struct{ head, body []byte }

func (a answer) status() int {
	n, err := strconv.Atoi(string(a.head[9:12]))
	if err != nil {
		return 0
	}
	return n
}

// bodyLength returns how much follows a head, or -1 if it comes in chunks.
func bodyLength(head []byte) (int, error) {
	if len(head) < 12 || !bytes.HasPrefix(head, []byte("HTTP/1.")) {
		return 0, fmt.Errorf("an answer is not of HTTP/1: %.40q", head)
	}
	if status := string(head[9:12]); status == "304" || status == "204" {
		return 0, nil
	}
	_, rest, ok := bytes.Cut(head, []byte("\r\nContent-Length: "))
	if !ok {
		_, rest, ok = bytes.Cut(head, []byte("\r\ncontent-length: "))
	}
	if !ok {
		if bytes.Contains(head, []byte("\r\nTransfer-Encoding: chunked\r\n")) {
			return -1, nil
		}
		return 0, fmt.Errorf("an answer has no Content-Length: %.200q", head)
	}
	digits, _, _ := bytes.Cut(rest, []byte("\r\n"))
	return strconv.Atoi(string(digits))
}
