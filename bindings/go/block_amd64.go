// SPDX-License-Identifier: BSD-2-Clause

//go:build !purego

package tenrounds

import (
	"crypto/cipher"
	"sync/atomic"
	"unsafe"
)

// A block has the methods that crypto/cipher looks for.
type block struct {
	raw      [32]byte
	size     int
	expanded atomic.Pointer[aesKey] // not for GCM, which has a key schedule of its own
}

// struct tr_aes_key
type aesKey struct {
	memory [aesKeySize + slack]byte
}

func (k *aesKey) address() unsafe.Pointer { return aligned(&k.memory[0]) }

var (
	blocks  secrets[block]
	aesKeys secrets[aesKey]
)

func newBlock(key []byte) cipher.Block {
	b := blocks.new()
	b.size = copy(b.raw[:], key)
	return b
}

// key returns the expanded key. If two goroutines expand it first, one result is not used.
func (b *block) key() unsafe.Pointer {
	k := b.expanded.Load()
	if k == nil {
		k = b.expand()
	}
	return k.address()
}

func (b *block) expand() *aesKey {
	k := aesKeys.new()
	must(aesSetKey(k.address(), backend(), &b.raw[0], b.size))
	b.expanded.Store(k)
	return k
}

func (b *block) BlockSize() int { return BlockSize }

func (b *block) Encrypt(dst, src []byte) {
	b.one(ecbEncrypt, dst, src)
}

func (b *block) Decrypt(dst, src []byte) {
	b.one(ecbDecrypt, dst, src)
}

// one processes one block, with the panics of crypto/aes.
func (b *block) one(crypt func(key unsafe.Pointer, out, in *byte, n int) int32, dst, src []byte) {
	if len(src) < BlockSize {
		panic("crypto/aes: input not full block")
	}
	if len(dst) < BlockSize {
		panic("crypto/aes: output not full block")
	}
	if shifted(dst[:BlockSize], src[:BlockSize]) {
		panic("crypto/aes: invalid buffer overlap")
	}
	must(crypt(b.key(), &dst[0], &src[0], BlockSize))
}

// ---- CTR ----------------------------------------------------------------------------------------

type ctr struct {
	key                unsafe.Pointer // of the block
	counter, keystream [BlockSize]byte
	used               uint32 // bytes of keystream
}

// NewCTR is for [cipher.NewCTR].
func (b *block) NewCTR(iv []byte) cipher.Stream {
	if len(iv) != BlockSize {
		panic("cipher.NewCTR: IV length must equal block size")
	}
	return &ctr{key: b.key(), counter: [BlockSize]byte(iv)}
}

func (c *ctr) XORKeyStream(dst, src []byte) {
	if len(dst) < len(src) {
		panic("crypto/cipher: output smaller than input")
	}
	if shifted(dst[:len(src)], src) {
		panic("crypto/cipher: invalid buffer overlap")
	}
	must(ctrCrypt(c.key, &c.counter, &c.keystream, &c.used, pointer(dst), pointer(src), len(src)))
}

// ---- CBC ----------------------------------------------------------------------------------------

type cbc struct {
	key   unsafe.Pointer // of the block
	iv    [BlockSize]byte
	crypt func(key unsafe.Pointer, iv *[16]byte, out, in *byte, n int) int32
}

// NewCBCEncrypter is for [cipher.NewCBCEncrypter].
func (b *block) NewCBCEncrypter(iv []byte) cipher.BlockMode {
	return &cbc{b.key(), [BlockSize]byte(iv), cbcEncrypt}
}

// NewCBCDecrypter is for [cipher.NewCBCDecrypter].
func (b *block) NewCBCDecrypter(iv []byte) cipher.BlockMode {
	return &cbc{b.key(), [BlockSize]byte(iv), cbcDecrypt}
}

func (c *cbc) BlockSize() int { return BlockSize }

// SetIV begins another message, as the modes of the standard library can, too.
func (c *cbc) SetIV(iv []byte) {
	if len(iv) != BlockSize {
		panic("cipher: incorrect length IV")
	}
	copy(c.iv[:], iv)
}

func (c *cbc) CryptBlocks(dst, src []byte) {
	if len(src)%BlockSize != 0 {
		panic("crypto/cipher: input not full blocks")
	}
	if len(dst) < len(src) {
		panic("crypto/cipher: output smaller than input")
	}
	if shifted(dst[:len(src)], src) {
		panic("crypto/cipher: invalid buffer overlap")
	}
	must(c.crypt(c.key, &c.iv, pointer(dst), pointer(src), len(src)))
}
