package ratelimit

import (
	"fmt"
	"net"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// FuzzRedisURL checks that a URL that is taken leads to addresses that one can dial, and that one that is not is told
// of without what stands between : and @, which was meant as a password, however it was mistyped.
func FuzzRedisURL(f *testing.F) {
	for _, seed := range [][2]string{
		{"redis://h", ""}, {"redis://:", "@h:1/2"}, {"rediss://[::1]:7?addr=[::2]:8&addr=:9&skip_verify", ""}, {"unix://u:", "@/run/redis.sock?db=1"},
		{"unix://", ""}, {"redis://h?master_set=shop&addr=a:b", ""}, {"redis://h:99999", ""}, {"redis://h?addr=::1", ""}, {"redis://h?db=1;2", ""},
		{"redis://h/1/2", ""}, {"redis://h?addr=%20:1", ""}, {"redis://:12?", "=@h"}, {"redis://:1#", "@h"}, {"redis://:1/", "@h"}, {"redis://:%zz", "@h"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, before, after string) {
		const password = "hunter2"
		text := before + after
		_, rest, _ := strings.Cut(before, "://")
		if user, _, ok := strings.Cut(rest, ":"); ok && !strings.ContainsAny(user, "/?#@[") && strings.Contains(after, "@") {
			text = before + password + after
		}
		got, err := parseTarget(text)
		if err != nil {
			if strings.Contains(err.Error(), password) {
				t.Errorf("parseTarget(%q): %v, want it without the password", text, err)
			}
			return
		}
		if len(got.addresses) == 0 || got.database < 0 {
			t.Errorf("parseTarget(%q) = %+v, want an address, and a database from 0 on", text, got)
		}
		for _, address := range got.addresses {
			if why := undialable(got.network, address); why != "" {
				t.Errorf("parseTarget(%q) leads to %s %q: %s", text, got.network, address, why)
			}
		}
	})
}

// FuzzRedisURLParts checks that what a URL is put together of is what is read from it.
func FuzzRedisURLParts(f *testing.F) {
	f.Add("", "", "h", uint16(6379), uint16(0), "", "")
	f.Add("user", "p@ss/w:rd?#%", "2001:db8::1", uint16(1), uint16(15), "shop", "s1:26379")
	f.Fuzz(func(t *testing.T, user, password, host string, port, database uint16, master, other string) {
		if port = max(port, 1); undialable("tcp", net.JoinHostPort(host, "1")) != "" || undialable("tcp", other) != "" && other != "" {
			return
		}
		u := url.URL{
			Scheme: "redis", User: url.UserPassword(user, password), Host: net.JoinHostPort(host, strconv.Itoa(int(port))), Path: fmt.Sprint("/", database),
		}
		want := target{network: "tcp", addresses: []string{u.Host}, user: user, password: password, database: int(database), master: master}
		q := url.Values{}
		if master != "" {
			q.Set("master_set", master)
		}
		if other != "" {
			q.Set("addr", other)
			want.addresses = append(want.addresses, other)
		}
		u.RawQuery = q.Encode()
		_, err := url.Parse(u.String())
		if _, err2 := url.Parse("//" + other); err != nil || err2 != nil {
			return // no such host
		}
		if got, err := parseTarget(u.String()); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("parseTarget(%q) = %+v, %v, want %+v", u.String(), got, err, want)
		}
	})
}
