// SPDX-License-Identifier: BSD-2-Clause

package tenrounds

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/subtle"
	"encoding/binary"
	"errors"
)

// XTS is AES in XTS mode (SP 800-38E, IEEE 1619), for sectors of a disk. It has the methods of
// Cipher in golang.org/x/crypto/xts. Any number of goroutines may use an XTS at the same time.
type XTS struct {
	unit dataUnit
}

// A dataUnit processes one data unit, whose arguments have been checked.
type dataUnit interface {
	encrypt(out, in []byte, sector uint64)
	decrypt(out, in []byte, sector uint64)
}

// NewXTS creates an XTS. The key has 32 or 64 bytes for AES-128 or AES-256: the key for data, then
// the key for tweaks. Two equal keys are an error, because they make XTS insecure.
func NewXTS(key []byte) (*XTS, error) {
	half := len(key) / 2
	if len(key) != 32 && len(key) != 64 {
		return nil, KeySizeError(len(key))
	}
	if subtle.ConstantTimeCompare(key[:half], key[half:]) == 1 {
		return nil, errors.New("tenrounds: both halves of the XTS key are equal")
	}
	if Backend() != "" {
		return &XTS{newCoreXTS(key)}, nil
	}
	data, err := aes.NewCipher(key[:half])
	if err != nil {
		return nil, err
	}
	tweak, err := aes.NewCipher(key[half:])
	return &XTS{&portableXTS{data, tweak}}, err
}

// Encrypt encrypts a sector. It has 16 to 2^24 bytes, and need not be whole blocks. The ciphertext
// has room for as many bytes, and is the plaintext itself or does not overlap it.
func (x *XTS) Encrypt(ciphertext, plaintext []byte, sectorNum uint64) {
	checkUnit(ciphertext, plaintext)
	x.unit.encrypt(ciphertext[:len(plaintext)], plaintext, sectorNum)
}

// Decrypt is the reverse of [XTS.Encrypt].
func (x *XTS) Decrypt(plaintext, ciphertext []byte, sectorNum uint64) {
	checkUnit(plaintext, ciphertext)
	x.unit.decrypt(plaintext[:len(ciphertext)], ciphertext, sectorNum)
}

func checkUnit(out, in []byte) {
	if len(in) < 16 || len(in) > 1<<24 {
		panic("xts: a sector has 16 to 2^24 bytes")
	}
	if len(out) < len(in) {
		panic("xts: output smaller than input")
	}
	if shifted(out[:len(in)], in) {
		panic("xts: invalid buffer overlap")
	}
}

// ---- Without the core ---------------------------------------------------------------------------

type portableXTS struct {
	data, tweak cipher.Block
}

func tweakOf(sector uint64) (tweak [16]byte) {
	binary.LittleEndian.PutUint64(tweak[:], sector)
	return tweak
}

func (x *portableXTS) encrypt(out, in []byte, sector uint64) {
	tweak := tweakOf(sector)
	x.tweak.Encrypt(tweak[:], tweak[:])
	out, in = wholeBlocks(x.data.Encrypt, out, in, &tweak)
	if len(in) > 0 {
		next := tweak
		double(&next)
		steal(x.data.Encrypt, out, in, &tweak, &next)
	}
}

func (x *portableXTS) decrypt(out, in []byte, sector uint64) {
	tweak := tweakOf(sector)
	x.tweak.Encrypt(tweak[:], tweak[:])
	out, in = wholeBlocks(x.data.Decrypt, out, in, &tweak)
	if len(in) > 0 {
		next := tweak
		double(&next)
		steal(x.data.Decrypt, out, in, &next, &tweak)
	}
}

// wholeBlocks processes all but the last 17 to 31 bytes, if there is a partial block.
func wholeBlocks(crypt func(dst, src []byte), out, in []byte, tweak *[16]byte) ([]byte, []byte) {
	for len(in) >= 32 || len(in) == 16 {
		masked(crypt, out, in, tweak)
		double(tweak)
		out, in = out[16:], in[16:]
	}
	return out, in
}

// steal processes the last 17 to 31 bytes. The partial block takes the end of the block before it.
func steal(crypt func(dst, src []byte), out, in []byte, first, second *[16]byte) {
	var full, last [16]byte
	masked(crypt, full[:], in, first)
	last = full
	copy(last[:], in[16:])
	copy(out[16:], full[:len(in)-16])
	masked(crypt, out, last[:], second)
}

// masked processes a block between two XORs with the tweak.
func masked(crypt func(dst, src []byte), out, in []byte, tweak *[16]byte) {
	var b [16]byte
	subtle.XORBytes(b[:], in, tweak[:])
	crypt(b[:], b[:])
	subtle.XORBytes(out, b[:], tweak[:])
}

// double multiplies a tweak by x in GF(2^128).
func double(tweak *[16]byte) {
	low, high := binary.LittleEndian.Uint64(tweak[:]), binary.LittleEndian.Uint64(tweak[8:])
	binary.LittleEndian.PutUint64(tweak[:], low<<1^0x87&-(high>>63))
	binary.LittleEndian.PutUint64(tweak[8:], high<<1|low>>63)
}
