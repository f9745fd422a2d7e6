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
func HashOf(key string) Hash {
	if len(key) != keyLen {
		return sha256.Sum256([]byte(key))
	}
	var text [keyLen]byte // on the stack, where a slice of this length would not be
	copy(text[:], key)
	return sha256.Sum256(text[:])
}

// Mint returns a new key and what may be displayed of it.
func Mint() (key, prefix string) {
	body := Prefix + randomText(secretLen)
	sum := checksum(body)
	key = body + string(sum[:])
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
	sum := checksum(key[:keyLen-sumLen])
	return string(sum[:]) == key[keyLen-sumLen:]
}

// checksum returns the CRC-32 of body in base 62, the most significant digit
// first.
func checksum(body string) (digits [sumLen]byte) {
	sum := crc(body)
	for i := sumLen - 1; i >= 0; i-- {
		digits[i] = base62[sum%62]
		sum /= 62
	}
	return digits
}

// crc is crc32.ChecksumIEEE of a string, without the copy of it.
func crc(text string) uint32 {
	sum := ^uint32(0)
	for i := range len(text) {
		sum = crc32.IEEETable[byte(sum)^text[i]] ^ sum>>8
	}
	return ^sum
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
