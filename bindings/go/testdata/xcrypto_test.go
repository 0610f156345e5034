// SPDX-License-Identifier: BSD-2-Clause

// Benchmark compares with golang.org/x/crypto/xts when "scripts/go compare" builds it with this file.
// The go command ignores this folder, so the module does not depend on x/crypto.

package tenrounds

import (
	"bytes"
	"crypto/aes"
	"testing"

	"golang.org/x/crypto/xts"
)

func init() {
	standard.xts = func(key []byte) sectors {
		x, err := xts.NewCipher(aes.NewCipher, xtsKey(key))
		if err != nil {
			panic(err)
		}
		return x
	}
}

// TestXCrypto compares the results of XTS with those of x/crypto/xts, which takes whole blocks alone.
func TestXCrypto(t *testing.T) {
	r := random(t, 9)
	for range 1000 {
		key, sector := make([]byte, 16+16*r.IntN(2)), r.Uint64()
		fill(r, key)
		message := append(draw(r, 5000), make([]byte, 16)...)
		message = message[:len(message)&^15]
		got, want := make([]byte, len(message)), make([]byte, len(message))
		ours.xts(key).Encrypt(got, message, sector)
		standard.xts(key).Encrypt(want, message, sector)
		if !bytes.Equal(got, want) {
			t.Fatalf("Encrypt of %d bytes differs", len(message))
		}
		ours.xts(key).Decrypt(got, message, sector)
		standard.xts(key).Decrypt(want, message, sector)
		if !bytes.Equal(got, want) {
			t.Fatalf("Decrypt of %d bytes differs", len(message))
		}
	}
}
