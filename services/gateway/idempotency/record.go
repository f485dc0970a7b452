package idempotency

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// keyBytes is the length of the keys that seal, in bytes.
const keyBytes = 32

// record is where a request is kept, and how.
type record struct {
	name     string // in Redis
	requests []byte // the key of the requests' fingerprints
	seals    cipher.AEAD
}

// newRecord derives a record of a scope and a key, neither of which can be read from it.
func newRecord(prefix string, scope Scope, key string) (record, error) {
	where := digest(scope.Tenant, scope.Route, key)
	r := record{name: name(prefix, scope.Tenant, "request:"+base64.RawURLEncoding.EncodeToString(where))}
	secret := digest(scope.Credential, key)
	sealing, err := hkdf.Key(sha256.New, secret, where, "answer", keyBytes)
	if err != nil {
		return r, err
	}
	if r.requests, err = hkdf.Key(sha256.New, digest(key), where, "request", keyBytes); err != nil {
		return r, err
	}
	block, err := aes.NewCipher(sealing)
	if err != nil {
		return r, err
	}
	r.seals, err = cipher.NewGCMWithRandomNonce(block)
	return r, err
}

// name is a key in Redis. All keys of a tenant are in one slot of a cluster.
func name(prefix, tenant, rest string) string { return prefix + "{" + tenant + "}:" + rest }

// digest hashes texts so that no two lists of texts look the same.
func digest(texts ...string) []byte {
	h := sha256.New()
	for _, t := range texts {
		h.Write([]byte(strconv.Itoa(len(t)) + ":" + t)) // never fails
	}
	return h.Sum(nil)
}

// fingerprint tells requests apart. Who does not know the key cannot guess the request from it.
func (r record) fingerprint(body []byte) string {
	h := hmac.New(sha256.New, r.requests)
	h.Write(body)
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

func (r record) seal(answer Stored) (string, error) {
	plain, err := json.Marshal(answer)
	if err != nil {
		return "", fmt.Errorf("encode the answer: %w", err)
	}
	return string(r.seals.Seal(nil, nil, plain, []byte(r.name))), nil
}

func (r record) open(sealed string) (*Stored, error) {
	plain, err := r.seals.Open(nil, nil, []byte(sealed), []byte(r.name))
	if err != nil {
		return nil, err
	}
	var out Stored
	if err := json.Unmarshal(plain, &out); err != nil {
		return nil, errors.New("the answer cannot be decoded")
	}
	return &out, nil
}
