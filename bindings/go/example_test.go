// SPDX-License-Identifier: BSD-2-Clause

package tenrounds_test

import (
	"bytes"
	"crypto/cipher"
	"crypto/rand"
	"fmt"
	"log"

	tenrounds "example.org/tenrounds/bindings/go"
)

func ExampleNewCipher() {
	key := make([]byte, 16)
	rand.Read(key)
	block, err := tenrounds.NewCipher(key)
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

func ExampleSealMany() {
	block, err := tenrounds.NewCipher([]byte("a key of 16 byte"))
	if err != nil {
		log.Fatal(err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		log.Fatal(err)
	}
	rows := []string{"the first row", "the second row", "the third row"}
	messages := make([]tenrounds.Message, len(rows))
	for i := range messages {
		nonce := make([]byte, aead.NonceSize())
		nonce[0] = byte(i) // never twice under one key
		messages[i] = tenrounds.Message{Nonce: nonce, In: []byte(rows[i])}
	}
	tenrounds.SealMany(aead, messages)

	for i := range messages {
		messages[i].In = messages[i].Out
	}
	if err := tenrounds.OpenMany(aead, messages); err != nil {
		log.Fatal(err) // the first error; each message has its own
	}
	fmt.Printf("%s, %s, %s\n", messages[0].Out, messages[1].Out, messages[2].Out)
	// Output: the first row, the second row, the third row
}

func ExampleNewXTS() {
	key := make([]byte, 64) // AES-256
	rand.Read(key)
	x, err := tenrounds.NewXTS(key)
	if err != nil {
		log.Fatal(err)
	}
	sector := []byte("the contents of a sector")
	x.Encrypt(sector, sector, 7)
	x.Decrypt(sector, sector, 7)
	fmt.Printf("%s\n", sector)
	// Output: the contents of a sector
}

func ExampleNewGCMSIV() {
	aead, err := tenrounds.NewGCMSIV([]byte("a key of 32 bytes, of AES-256..."))
	if err != nil {
		log.Fatal(err)
	}
	nonce := []byte("the same one") // two equal messages have equal ciphertexts
	a := aead.Seal(nil, nonce, []byte("a message"), nil)
	b := aead.Seal(nil, nonce, []byte("a message"), nil)
	fmt.Println(bytes.Equal(a, b))
	// Output: true
}
