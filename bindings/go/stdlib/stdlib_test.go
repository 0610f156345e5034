// SPDX-License-Identifier: BSD-2-Clause

package stdlib

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"flag"
	"testing"

	tenrounds "example.org/tenrounds/bindings/go"
)

var overlay = flag.Bool("overlay-used", false, "whether the test is built with the overlay")

// TestActive seals with Go's GCM, which uses the core if, and only if, the overlay is used.
func TestActive(t *testing.T) {
	if want := *overlay && tenrounds.Backend() != ""; Active() != want {
		t.Errorf("Active returns %v, not %v", Active(), want)
	}
	key, nonce, message := []byte("a key of 24 bytes, 192 b"), make([]byte, 12), make([]byte, 1000)
	var sealed [2][]byte
	for i, constructor := range []func([]byte) (cipher.Block, error){aes.NewCipher, tenrounds.NewCipher} {
		block, err := constructor(key)
		if err != nil {
			t.Fatal(err)
		}
		aead, err := cipher.NewGCM(block)
		if err != nil {
			t.Fatal(err)
		}
		sealed[i] = aead.Seal(nil, nonce, message, nonce)
		if opened, err := aead.Open(nil, nonce, sealed[i], nonce); err != nil || !bytes.Equal(opened, message) {
			t.Errorf("Open: %v", err)
		}
	}
	if !bytes.Equal(sealed[0], sealed[1]) {
		t.Error("Go's GCM and ours differ")
	}
}
