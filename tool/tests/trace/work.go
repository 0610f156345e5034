// SPDX-License-Identifier: BSD-2-Clause

// Does AES-GCM, or uses maps, until it is killed. For tests of `tenrounds trace`.
package main

import (
	"crypto/aes"
	"crypto/cipher"
	"fmt"
	"os"
	"time"
)

func seal() {
	block, err := aes.NewCipher(make([]byte, 16))
	if err != nil {
		panic(err)
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		panic(err)
	}
	text, nonce := make([]byte, 16384), make([]byte, gcm.NonceSize())
	var sealed []byte
	for {
		sealed = gcm.Seal(sealed[:0], nonce, text, nil)
	}
}

func count() {
	numbers, keys := map[string]int{}, []string{}
	for i := 0; i < 5000; i++ {
		keys = append(keys, fmt.Sprintf("a key of some length with the number %d", i))
	}
	for {
		for _, key := range keys {
			numbers[key]++
		}
	}
}

func main() {
	time.AfterFunc(10*time.Minute, func() { os.Exit(1) })
	if os.Args[1] == "gcm" {
		seal()
	}
	count()
}
