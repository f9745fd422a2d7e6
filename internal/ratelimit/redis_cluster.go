package ratelimit

import (
	"errors"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
)

// slots is how many parts the keys of a cluster have.
const slots = 16384

// slotOf returns the part that a key is in: CRC-16/XMODEM over all of it, as no key of ours has braces.
func slotOf(key string) int {
	crc := uint16(0)
	for _, b := range []byte(key) {
		crc ^= uint16(b) << 8
		for range 8 {
			carry := crc&0x8000 != 0
			crc <<= 1
			if carry {
				crc ^= 0x1021
			}
		}
	}
	return int(crc % slots)
}

var (
	errNoSlots   = errors.New("the server knows of no part of the cluster")
	errNoCluster = errors.New("the server is of no cluster")
)

// learnCluster asks one server after the other for the parts of the cluster, until one knows them; if none does, what was
// known before stays. The error is errNoCluster if the only server that was asked for is of none.
func (s *servers) learnCluster() error {
	for _, address := range s.addresses {
		s.named(address)
	}
	all := s.all()
	end := time.Now().Add(connecting)
	var failed []error
	for i, one := range all {
		err := s.learnFrom(one, time.Now().Add(time.Until(end)/time.Duration(len(all)-i)))
		if err == nil {
			return nil
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// learnFrom asks one server for the parts of the cluster.
func (s *servers) learnFrom(one *server, end time.Time) error {
	replies, err := one.do(end, command{"CLUSTER", []any{"SLOTS"}})
	if err != nil {
		return err
	}
	answer := replies[0]
	switch codeOf(answer.err) {
	case "":
		return s.takeSlots(one.host, answer.value)
	case "ERR", "NOPERM": // there is none, or it is not for us to ask
		if len(s.addresses) == 1 && s.routes.Load() == nil {
			return errNoCluster
		}
	}
	return answer.err
}

// takeSlots takes over the parts as a server at host tells them: rows of a first and a last slot, and the master's
// address. The servers that are in none any more go.
func (s *servers) takeSlots(host string, answer any) error {
	rows, err := redis.Values(answer, nil)
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return errNoSlots // it has just started, or was removed
	}
	r := &routes{slots: make([]*server, slots)}
	inUse := map[*server]bool{}
	for _, row := range rows {
		first, last, address, err := parseSlots(row, host)
		if err != nil {
			return err
		}
		one := s.named(address)
		inUse[one] = true
		for i := first; i <= last; i++ {
			r.slots[i] = one
		}
	}
	s.routes.Store(r)
	s.forget(inUse)
	return nil
}

func parseSlots(row any, host string) (first, last int, address string, err error) {
	var master []any
	fields, err := redis.Values(row, nil)
	if err == nil {
		_, err = redis.Scan(fields, &first, &last, &master)
	}
	if err != nil {
		return 0, 0, "", err
	}
	var ip string
	var port int
	if _, err = redis.Scan(master, &ip, &port); err != nil {
		return 0, 0, "", err
	}
	if first < 0 || last >= slots {
		return 0, 0, "", errAnswer
	}
	address, ok := at(ip, strconv.Itoa(port), host)
	if !ok {
		return 0, 0, "", errAnswer
	}
	return first, last, address, nil
}

// at returns an address; a server that does not know its own name is at the host that was asked. ok is false if there can
// be no such address.
func at(ip, port, host string) (address string, ok bool) {
	if ip == "" || ip == "?" {
		ip = host
	}
	return join(ip, port)
}

// forget ends the servers that are neither in use nor in the URL, and that no refusal has named of late: one to which a
// part is going (ASK) has none yet.
func (s *servers) forget(inUse map[*server]bool) {
	for _, address := range s.addresses {
		inUse[s.named(address)] = true
	}
	s.known.mu.Lock()
	defer s.known.mu.Unlock()
	for address, one := range s.known.byName {
		if !inUse[one] && time.Since(one.told) > remembering {
			delete(s.known.byName, address)
			s.running.Go(one.close)
		}
	}
}

// redirected returns the server that a refusal names, and whether it is asked for this once (ASK) or from now on (MOVED).
func (s *servers) redirected(from *server, err error) (to *server, once bool) {
	code := codeOf(err)
	if code != "MOVED" && code != "ASK" {
		return nil, false
	}
	words := strings.Fields(err.Error())
	if len(words) != 3 {
		return nil, false
	}
	ip, port, err := net.SplitHostPort(words[2])
	if err != nil {
		return nil, false
	}
	address, ok := at(ip, port, from.host)
	if !ok {
		return nil, false
	}
	if once = code == "ASK"; !once {
		s.doubt()
	}
	return s.told(address), once
}
