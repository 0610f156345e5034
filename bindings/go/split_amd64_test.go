// SPDX-License-Identifier: BSD-2-Clause

//go:build !purego

package tenrounds

import (
	"crypto/cipher"
	"reflect"
	"testing"
)

// TestStepsAside shows which code seals and opens. TestMasks runs it on each backend.
func TestStepsAside(t *testing.T) {
	ours, standard := both(t, make([]byte, 16))
	if same := reflect.TypeOf(ours) == reflect.TypeOf(standard); same != (Backend() == "") {
		t.Fatalf("with the backend %q, NewCipher returns a %T", Backend(), ours)
	}
	aead, err := cipher.NewGCM(ours)
	if err != nil {
		t.Fatal(err)
	}
	s, is := aead.(*split)
	if is != (Backend() == "aesni") {
		t.Fatalf("with the backend %q, NewGCM returns a %T", Backend(), aead)
	}
	if !is {
		return
	}
	open := func(n int) {
		message, nonce := make([]byte, n), make([]byte, 12)
		if _, err := s.Open(nil, nonce, s.Seal(nil, nonce, message, nil), nil); err != nil {
			t.Fatal(err)
		}
	}
	open(s.from - 1)
	if s.short.Load() == nil || s.long.Load() != nil {
		t.Error("the core does not process short messages alone")
	}
	s.short.Store(nil)
	open(s.from)
	if s.short.Load() != nil || s.long.Load() == nil {
		t.Error("Go's own code does not process long messages alone")
	}
}
