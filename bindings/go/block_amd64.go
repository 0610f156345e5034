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
	expanded unsafe.Pointer // into an aesKey; not for GCM, which has a key schedule of its own
}

// struct tr_aes_key
type aesKey struct {
	memory [aesKeySize + slack]byte
}

var (
	blocks  secrets[block]
	aesKeys secrets[aesKey]
)

func newBlock(key []byte) cipher.Block {
	b := blocks.new()
	b.size = copy(b.raw[:], key)
	return b
}

// key returns the expanded key. If two goroutines expand it first, one result is not used. The
// compiler must inline it.
func (b *block) key() unsafe.Pointer {
	if k := atomic.LoadPointer(&b.expanded); k != nil {
		return k
	}
	return b.expand()
}

func (b *block) expand() unsafe.Pointer {
	k := aligned(&aesKeys.new().memory[0])
	must(aesSetKey(k, backend(), &b.raw[0], b.size))
	atomic.StorePointer(&b.expanded, k)
	return k
}

func (b *block) BlockSize() int { return BlockSize }

func (b *block) Encrypt(dst, src []byte) {
	checkBlock(dst, src)
	must(ecbEncrypt(b.key(), &dst[0], &src[0], BlockSize))
}

func (b *block) Decrypt(dst, src []byte) {
	checkBlock(dst, src)
	must(ecbDecrypt(b.key(), &dst[0], &src[0], BlockSize))
}

// checkBlock panics as crypto/aes does. The compiler must inline it.
func checkBlock(dst, src []byte) {
	distance := address(dst) - address(src)
	if len(src) < BlockSize || len(dst) < BlockSize || distance != 0 && distance+15 < 31 {
		wrongBlock(dst, src)
	}
}

func wrongBlock(dst, src []byte) {
	switch {
	case len(src) < BlockSize:
		panic("crypto/aes: input not full block")
	case len(dst) < BlockSize:
		panic("crypto/aes: output not full block")
	}
	panic("crypto/aes: invalid buffer overlap")
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
	if len(src) > piece {
		inPieces(c.XORKeyStream, dst, src)
		return
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
	if len(src) > piece {
		inPieces(c.CryptBlocks, dst, src)
		return
	}
	must(c.crypt(c.key, &c.iv, pointer(dst), pointer(src), len(src)))
}
