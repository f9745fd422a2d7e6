package console

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"time"

	"example.com/petstore/internal/access"
)

// A sealer makes texts that only it can read and make, each for one purpose and until an instant.
type sealer struct{ aead cipher.AEAD }

func newSealer(secret []byte) (sealer, error) {
	if len(secret) < 16 {
		return sealer{}, errors.New("console: the secret is shorter than 16 bytes")
	}
	key, err := hkdf.Key(sha256.New, secret, nil, "petstore console 1", 32)
	if err != nil {
		return sealer{}, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return sealer{}, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return sealer{aead}, err
}

// seal returns the content as text that can stand in a cookie or a URL.
func (s sealer) seal(purpose string, until time.Time, content string) string {
	plain := binary.BigEndian.AppendUint64(nil, uint64(until.Unix()))
	sealed := s.aead.Seal(nil, nil, append(plain, content...), []byte(purpose)) //nolint:gosec // it makes its own random nonce
	return base64.RawURLEncoding.EncodeToString(sealed)
}

// open returns the content of a text that seal made for the purpose, and until when it holds.
func (s sealer) open(purpose, text string, now time.Time) (content string, until time.Time, ok bool) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return "", time.Time{}, false
	}
	plain, err := s.aead.Open(nil, nil, raw, []byte(purpose))
	if err != nil || len(plain) < 8 {
		return "", time.Time{}, false
	}
	until = time.Unix(int64(binary.BigEndian.Uint64(plain)), 0)
	return string(plain[8:]), until, now.Before(until)
}

// linkOf returns the link that a text is, if it was made for the purpose and holds still. Links are told apart by what
// the text encodes: one link has several texts.
func (s sealer) linkOf(purpose, text string, now time.Time) (content string, l access.Link, ok bool) {
	content, until, ok := s.open(purpose, text, now)
	raw, err := base64.RawURLEncoding.DecodeString(text)
	return content, access.Link{Hash: sha256.Sum256(raw), Until: until}, ok && err == nil
}
