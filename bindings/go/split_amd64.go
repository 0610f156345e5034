// SPDX-License-Identifier: BSD-2-Clause

//go:build !purego

package tenrounds

import (
	"crypto/aes"
	"crypto/cipher"
	"math"
	"sync/atomic"
)

// standardFrom returns the length in bytes from which on Go's own GCM does the messages. Without
// VAES, the core is 1.04 to 1.16 times as fast there if it has a processor core for itself. If
// another program runs on its second thread, it has 0.80 to 0.91 of Go's speed (Emerald Rapids).
func standardFrom() int {
	if Backend() == "aesni" {
		return 2048
	}
	return math.MaxInt
}

// A split is the GCM of backends that gain only for messages shorter than `from`. Go's own GCM does
// the longer ones. The first message of each kind sets the key: most keys meet one kind alone, and
// to set a key takes as long as to seal a short message.
type split struct {
	block           *block
	nonceSize, from int
	short           atomic.Pointer[gcm]
	long            atomic.Pointer[cipher.AEAD]
}

func (s *split) NonceSize() int { return s.nonceSize }

func (s *split) Overhead() int { return BlockSize }

func (s *split) Seal(dst, nonce, plaintext, aad []byte) []byte {
	return s.of(len(plaintext)).Seal(dst, nonce, plaintext, aad)
}

func (s *split) Open(dst, nonce, ciphertext, aad []byte) ([]byte, error) {
	return s.of(len(ciphertext)-BlockSize).Open(dst, nonce, ciphertext, aad)
}

// of returns the GCM for messages of n bytes. If two goroutines make it, one result is not used.
func (s *split) of(n int) cipher.AEAD {
	if n < s.from {
		g := s.short.Load()
		if g == nil {
			g = s.block.newGCM(s.nonceSize, BlockSize)
			s.short.Store(g)
		}
		return g
	}
	g := s.long.Load()
	if g == nil {
		g = s.standard()
		s.long.Store(g)
	}
	return *g
}

func (s *split) standard() *cipher.AEAD {
	b, err := aes.NewCipher(s.block.raw[:s.block.size])
	if err != nil {
		panic(err)
	}
	aead, err := cipher.NewGCMWithNonceSize(b, s.nonceSize)
	if err != nil {
		panic(err)
	}
	return &aead
}
