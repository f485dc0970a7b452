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

	"github.com/mneme-memory/mneme/shared/store/redisstore"
)

// keyBytes is the length of the sealing keys, in bytes.
const keyBytes = 32

// record is the place and the form of a stored request.
type record struct {
	name     string // in Redis
	requests []byte // the key of the requests' fingerprints
	seals    cipher.AEAD
}

// newRecord derives a record from a scope and a key. The record reveals neither.
func newRecord(space redisstore.Space, scope Scope, key string) (record, error) {
	where := redisstore.Digest(scope.Tenant, scope.Route, key)
	r := record{name: space.Key(scope.Tenant, "request:"+base64.RawURLEncoding.EncodeToString(where))}
	secret := redisstore.Digest(scope.Credential, key)
	sealing, err := hkdf.Key(sha256.New, secret, where, "answer", keyBytes)
	if err != nil {
		return r, err
	}
	if r.requests, err = hkdf.Key(sha256.New, redisstore.Digest(key), where, "request", keyBytes); err != nil {
		return r, err
	}
	block, err := aes.NewCipher(sealing)
	if err != nil {
		return r, err
	}
	r.seals, err = cipher.NewGCMWithRandomNonce(block)
	return r, err
}

// fingerprint distinguishes requests. Without the key, it does not reveal the request.
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
