// SPDX-License-Identifier: BSD-2-Clause

// Package stdlib gives the AES-GCM of tenrounds to the standard library: to crypto/tls, to
// cipher.NewGCM of a Block of crypto/aes, and so to packages such as golang.org/x/crypto/ssh.
// Import it for its effect, and build the program with the overlay that the command ../overlay
// writes:
//
//	import _ "example.org/tenrounds/bindings/go/stdlib"
//
// Without the overlay, the import has no effect.
package stdlib

import (
	"crypto/aes"
	"crypto/cipher"
	_ "unsafe" // for go:linkname

	tenrounds "example.org/tenrounds/bindings/go"
)

// The methods that the overlay calls. Room tells whether to call the others for a message of n
// bytes, or Go's own code.
type aead = interface {
	Room(n int) bool
	Seal(dst, nonce, plaintext, additionalData []byte) []byte
	Open(dst, nonce, ciphertext, additionalData []byte) ([]byte, error)
}

// newGCM is the overlay's variable. Go's GCM calls it for each new key, and uses the result if it
// is not nil.
//
//go:linkname newGCM crypto/internal/fips140/aes/gcm.tenroundsNewGCM
var newGCM func(key []byte, nonceSize, tagSize int) aead

var active bool

func init() {
	newGCM = func(key []byte, nonceSize, tagSize int) aead {
		active = true
		return nil
	}
	// Look whether Go's GCM calls it.
	if block, err := aes.NewCipher(make([]byte, 16)); err == nil {
		_, _ = cipher.NewGCM(block)
	}
	newGCM = tenroundsGCM
}

// Active reports whether the standard library uses the AES-GCM of tenrounds.
func Active() bool {
	return active && tenrounds.Backend() != ""
}

func tenroundsGCM(key []byte, nonceSize, tagSize int) aead {
	if tenrounds.Backend() == "" {
		return nil
	}
	block, err := tenrounds.NewCipher(key)
	if err != nil {
		return nil
	}
	return block.(interface {
		NewHookedGCM(nonceSize, tagSize int) cipher.AEAD
	}).NewHookedGCM(nonceSize, tagSize).(aead)
}
