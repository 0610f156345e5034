// SPDX-License-Identifier: BSD-2-Clause

//go:build !purego

package tenrounds

import (
	"crypto/cipher"
	"errors"
	"unsafe"
)

// SP 800-38D, section 5.2.1.1: the longest message.
const gcmMaxLength = (1<<32 - 2) * blockSize

type gcm struct {
	memory             [gcmKeySize + slack]byte // struct tr_gcm_key
	nonceSize, tagSize int
}

func (g *gcm) key() unsafe.Pointer { return aligned(&g.memory[0]) }

// NewGCM is for [cipher.NewGCM] and its variants.
func (b *block) NewGCM(nonceSize, tagSize int) (cipher.AEAD, error) {
	if tagSize < 12 || tagSize > blockSize {
		return nil, errors.New("cipher: incorrect tag size given to GCM")
	}
	if nonceSize <= 0 {
		return nil, errors.New("cipher: the nonce can't have zero length")
	}
	g := &gcm{nonceSize: nonceSize, tagSize: tagSize}
	must(gcmSetKey(g.key(), backend(), &b.raw[0], b.size))
	return g, nil
}

func (g *gcm) NonceSize() int { return g.nonceSize }

func (g *gcm) Overhead() int { return g.tagSize }

func (g *gcm) Seal(dst, nonce, plaintext, aad []byte) []byte {
	if len(nonce) != g.nonceSize {
		panic("crypto/cipher: incorrect nonce length given to GCM")
	}
	if uint64(len(plaintext)) > gcmMaxLength {
		panic("crypto/cipher: message too large for GCM")
	}
	all, out := extend(dst, len(plaintext)+g.tagSize)
	checkOverlap(out, plaintext, aad)
	must(gcmSeal(g.key(), &nonce[0], len(nonce), pointer(aad), len(aad), &out[0], pointer(plaintext),
		len(plaintext), &out[len(plaintext)], g.tagSize))
	return all
}

func (g *gcm) Open(dst, nonce, ciphertext, aad []byte) ([]byte, error) {
	if len(nonce) != g.nonceSize {
		panic("crypto/cipher: incorrect nonce length given to GCM")
	}
	n := len(ciphertext) - g.tagSize
	if n < 0 || uint64(n) > gcmMaxLength {
		return nil, errOpen
	}
	all, out := extend(dst, n)
	checkOverlap(out, ciphertext, aad)
	if !verified(gcmOpen(g.key(), &nonce[0], len(nonce), pointer(aad), len(aad), pointer(out), &ciphertext[0],
		n, &ciphertext[n], g.tagSize)) {
		return nil, errOpen
	}
	return all, nil
}
