package host

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strings"
)

// sealer encrypts and authenticates what clients carry for the host. Every message has a key of its own, derived from a random
// salt, so that one of the operator's keys may seal without a bound (see host/RATIONALE.md).
type sealer struct {
	keys [][]byte
}

const (
	sealSalt = 16
	sealTag  = 16
)

var errSeal = errors.New("not sealed by this host for this use")

// newSealer derives its keys from those of the operator. The first seals, all open. Without any it draws one.
func newSealer(keys [][]byte) (*sealer, error) {
	if len(keys) == 0 {
		random := make([]byte, 32)
		rand.Read(random) // never fails: crypto/rand
		keys = [][]byte{random}
	}
	s := &sealer{}
	for _, k := range keys {
		derived, err := hkdf.Key(sha256.New, k, nil, "reshost seal v1", sha256.Size)
		if err != nil {
			return nil, err
		}
		s.keys = append(s.keys, derived)
	}
	return s, nil
}

// seal returns plain as text for a URL or JSON, bound to the use that aad describes.
func (s *sealer) seal(plain, aad []byte) (string, error) {
	out := make([]byte, sealSalt, sealSalt+len(plain)+sealTag)
	rand.Read(out)
	aead, err := messageAEAD(s.keys[0], out)
	if err != nil {
		return "", err
	}
	out = aead.Seal(out, make([]byte, aead.NonceSize()), plain, aad)
	return base64.RawURLEncoding.EncodeToString(out), nil
}

// open returns what seal was given, if one of the keys sealed it for the same use. Text has one spelling only.
func (s *sealer) open(text string, aad []byte) ([]byte, error) {
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(sealed) < sealSalt+sealTag || strings.ContainsAny(text, "\r\n") { // the decoder passes over line breaks
		return nil, errSeal
	}
	for _, key := range s.keys {
		aead, err := messageAEAD(key, sealed[:sealSalt])
		if err != nil {
			return nil, err
		}
		if plain, err := aead.Open(nil, make([]byte, aead.NonceSize()), sealed[sealSalt:], aad); err == nil {
			return plain, nil
		}
	}
	return nil, errSeal
}

func messageAEAD(key, salt []byte) (cipher.AEAD, error) {
	mac := hmac.New(sha256.New, key)
	mac.Write(salt)
	block, err := aes.NewCipher(mac.Sum(nil))
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}
