package access

import (
	"bytes"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"hash/crc32"
	"io"
	"strings"

	"example.com/petstore/internal/petstore"
)

// The form of a key: Prefix, secretLen random base62 characters, then the
// CRC-32 (IEEE) of what stands before, as sumLen base62 characters.
const (
	Prefix      = "pst_"
	TokenPrefix = "pso_" // of the tokens of operators, which have the same form
	secretLen   = 32
	sumLen      = 6
	keyLen      = len(Prefix) + secretLen + sumLen
	shown       = 8 // characters of a key that may be displayed
)

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// A Hash is the SHA-256 of a key: 190 bits of entropy need no slow hash.
type Hash [sha256.Size]byte

// HashOf returns the hash under which a key is stored.
func HashOf(key string) Hash {
	if len(key) != keyLen {
		return sha256.Sum256([]byte(key))
	}
	var text [keyLen]byte // on the stack, where a slice of this length would not be
	copy(text[:], key)
	return sha256.Sum256(text[:])
}

// Mint returns a new key and its prefix, which may be displayed.
func Mint() (key, prefix string) { return mintFrom(Prefix, rand.Reader) }

// MintToken returns a new operator's token and its prefix, which may be displayed.
func MintToken() (token, prefix string) { return mintFrom(TokenPrefix, rand.Reader) }

func mintFrom(begin string, random io.Reader) (key, prefix string) {
	body := begin + text62(random, secretLen)
	sum := checksum(body)
	key = body + string(sum[:])
	return key, key[:shown]
}

// deriveKey returns the key that a request with an Idempotency-Key creates. It is
// derived from the secret of the caller's key, so it is the same whenever the caller
// repeats the request, and cannot be learned from the database, which has only a hash
// of that secret.
func deriveKey(secret, id string, once *petstore.Idempotency) (key, prefix string) {
	const enough = 8 * secretLen // text62 leaves out one byte in 32
	stream, err := hkdf.Key(sha256.New, []byte(secret), []byte(id), once.Operation+"\n"+once.Key, enough)
	if err != nil {
		panic(err) // only if the length is too great for SHA-256, and it is constant
	}
	return mintFrom(Prefix, bytes.NewReader(stream))
}

// MintID returns a new public key id.
func MintID() string { return "key_" + text62(rand.Reader, 16) }

// MintTokenID returns a new public id of an operator's token.
func MintTokenID() string { return "op_" + text62(rand.Reader, 16) }

// WellFormedID reports whether id has the form of a public key id.
func WellFormedID(id string) bool {
	random, ok := strings.CutPrefix(id, "key_")
	return ok && len(random) == 16 && strings.Trim(random, base62) == ""
}

// WellFormed reports whether key has the form of a key and a correct checksum, so that
// the store is not read for a mistyped key.
func WellFormed(key string) bool { return wellFormed(Prefix, key) }

// WellFormedToken is WellFormed for the tokens of operators.
func WellFormedToken(token string) bool { return wellFormed(TokenPrefix, token) }

func wellFormed(begin, key string) bool {
	if len(key) != keyLen || key[:len(begin)] != begin {
		return false
	}
	sum := checksum(key[:keyLen-sumLen])
	return string(sum[:]) == key[keyLen-sumLen:]
}

// checksum returns the CRC-32 of body in base 62, the most significant digit
// first.
func checksum(body string) (digits [sumLen]byte) {
	sum := crc32.ChecksumIEEE([]byte(body))
	for i := sumLen - 1; i >= 0; i-- {
		digits[i] = base62[sum%62]
		sum /= 62
	}
	return digits
}

// text62 returns n base62 characters, which are uniformly random if the bytes of random
// are. It panics if random ends, which crypto/rand never does.
func text62(random io.Reader, n int) string {
	var out strings.Builder
	buf := make([]byte, 2*n)
	for {
		if _, err := io.ReadFull(random, buf); err != nil {
			panic(err)
		}
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
