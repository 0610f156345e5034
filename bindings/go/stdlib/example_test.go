// SPDX-License-Identifier: BSD-2-Clause

package stdlib_test

import (
	"crypto/aes"
	"crypto/cipher"
	"fmt"
	"log"

	"example.org/tenrounds/bindings/go/stdlib"
)

// Packages of the standard library are used as always: only the import and the build are others.
func Example() {
	if !stdlib.Active() {
		log.Print("built without the overlay, or for a processor without AES instructions")
	}
	block, err := aes.NewCipher([]byte("a key of 16 byte"))
	if err != nil {
		log.Fatal(err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		log.Fatal(err)
	}
	nonce := make([]byte, aead.NonceSize()) // never twice under one key
	sealed := aead.Seal(nil, nonce, []byte("a message"), nil)
	opened, err := aead.Open(nil, nonce, sealed, nil)
	fmt.Printf("%s, %v\n", opened, err)
	// Output: a message, <nil>
}
