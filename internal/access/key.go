package access

import (
	"crypto/rand"
	"crypto/sha256"
	"hash/crc32"
	"strings"
)

// The form of a key: Prefix, secretLen random base62 characters, then the
// CRC-32 (IEEE) of what stands before, as sumLen base62 characters.
const (
	Prefix    = "pst_"
	secretLen = 32
	sumLen    = 6
	keyLen    = len(Prefix) + secretLen + sumLen
	shown     = 8 // characters of a key that may be displayed
)

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// A Hash is the SHA-256 of a key: 190 bits of entropy need no slow hash.
type Hash [sha256.Size]byte

// HashOf returns the hash under which a key is kept.
func HashOf(key string) Hash { return sha256.Sum256([]byte(key)) }

// Mint returns a new key and what may be displayed of it.
func Mint() (key, prefix string) {
	body := Prefix + randomText(secretLen)
	key = body + checksum(body)
	return key, key[:shown]
}

// MintID returns a new public key id.
func MintID() string { return "key_" + randomText(16) }

// WellFormed reports whether key has the form of a key, its checksum included,
// so that a mistyped key is refused without a look-up.
func WellFormed(key string) bool {
	if len(key) != keyLen || key[:len(Prefix)] != Prefix {
		return false
	}
	var want [sumLen]byte
	appendSum(want[:0], crc32.ChecksumIEEE([]byte(key[:keyLen-sumLen])))
	return string(want[:]) == key[keyLen-sumLen:]
}

func checksum(body string) string {
	return string(appendSum(nil, crc32.ChecksumIEEE([]byte(body))))
}

// appendSum appends sum in base 62, the most significant digit first.
func appendSum(dst []byte, sum uint32) []byte {
	var digits [sumLen]byte
	for i := sumLen - 1; i >= 0; i-- {
		digits[i] = base62[sum%62]
		sum /= 62
	}
	return append(dst, digits[:]...)
}

// randomText returns n uniformly random base62 characters.
func randomText(n int) string {
	var out strings.Builder
	buf := make([]byte, 2*n)
	for {
		rand.Read(buf) // never fails: crypto/rand ends the program instead
		for _, b := range buf {
			if b >= 248 { // 4·62: the rest would favour the first characters
				continue
			}
			out.WriteByte(base62[b%62])
			if out.Len() == n {
				return out.String()
			}
		}
	}
}
