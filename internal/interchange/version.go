package interchange

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"slices"
	"strconv"
	"strings"

	"example.com/petstore/internal/petstore"
)

// A version says what a row of CSV contained when it was exported, so that a merge can tell which cells were changed
// in the file since, and which in the shop. It has checksums of the texts, which detect every change of a few
// letters.
type version struct {
	name, category uint32 // checksums; of the category's name
	categoryID     uint32 // its last bits
	stock          uint32
	status         uint8 // the index in [petstore.Statuses]
}

const (
	versionPrefix = "v1" // keeps spreadsheets from taking the rest for a number or a date
	versionBytes  = 17
	checkBytes    = 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(text string) uint32 { return crc32.Checksum([]byte(text), castagnoli) }

func statusIndex(s petstore.Status) uint8 { return uint8(slices.Index(petstore.Statuses(), s)) } //nolint:gosec // there are three

// versionOf returns the version of a pet.
func versionOf(p *petstore.StockedPet, category string) version {
	return version{checksum(p.Name), checksum(category), lastBits(p.CategoryID), lastBits(p.Quantity), statusIndex(p.Status)}
}

func lastBits(n int64) uint32 { return uint32(n) } //nolint:gosec // the others are left out

// append appends the version of a pet's row in its text form.
func (v version) append(dst []byte, id int64) []byte {
	var b [versionBytes + checkBytes]byte
	for i, n := range []uint32{v.name, v.category, v.categoryID, v.stock} {
		binary.BigEndian.PutUint32(b[4*i:], n)
	}
	b[versionBytes-1] = v.status
	binary.BigEndian.PutUint32(b[versionBytes:], versionCheck(b[:versionBytes], id))
	return base64.RawURLEncoding.AppendEncode(append(dst, versionPrefix...), b[:])
}

// versionCheck returns the checksum of a version and the pet's id.
func versionCheck(b []byte, id int64) uint32 {
	return crc32.Update(checksum(strconv.FormatInt(id, 10)), castagnoli, b)
}

// parseVersion parses the version of a pet's row.
func parseVersion(cell string, id int64) (*version, bool) {
	text, ok := strings.CutPrefix(cell, versionPrefix)
	b, err := base64.RawURLEncoding.DecodeString(text)
	if !ok || err != nil || len(b) != versionBytes+checkBytes || binary.BigEndian.Uint32(b[versionBytes:]) != versionCheck(b[:versionBytes], id) {
		return nil, false
	}
	n := func(i int) uint32 { return binary.BigEndian.Uint32(b[4*i:]) }
	return &version{n(0), n(1), n(2), n(3), b[versionBytes-1]}, true
}
