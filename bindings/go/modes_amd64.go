// SPDX-License-Identifier: BSD-2-Clause

//go:build !purego

package tenrounds

import (
	"crypto/subtle"
	"unsafe"
)

type coreXTS struct {
	memory [xtsKeySize + slack]byte // struct tr_xts_key
	tweaks [32]byte                 // the key for tweaks, of which `size` bytes are used
	size   int
}

var xtsKeys secrets[coreXTS]

func (x *coreXTS) key() unsafe.Pointer { return aligned(&x.memory[0]) }

func newCoreXTS(key []byte) dataUnit {
	x := xtsKeys.new()
	must(xtsSetKey(x.key(), backend(), &key[0], len(key)))
	x.size = copy(x.tweaks[:], key[len(key)/2:])
	return x
}

func (x *coreXTS) encrypt(out, in []byte, sector uint64) {
	if len(in) > piece {
		x.pieces(out, in, sector, false)
		return
	}
	must(xtsEncrypt(x.key(), sector, &out[0], &in[0], len(in)))
}

func (x *coreXTS) decrypt(out, in []byte, sector uint64) {
	if len(in) > piece {
		x.pieces(out, in, sector, true)
		return
	}
	must(xtsDecrypt(x.key(), sector, &out[0], &in[0], len(in)))
}

// pieces processes a data unit in several calls of the core, each as a data unit of its own. The
// core encrypts the number of a data unit to get its first tweak. So the number of a piece is that
// tweak, decrypted. The last piece has a whole block at least, as ciphertext stealing needs it. Setting
// the key again takes 0.1 % of the time of a piece.
func (x *coreXTS) pieces(out, in []byte, sector uint64, decrypt bool) {
	tweak := tweakOf(sector)
	var number [16]byte
	block := newBlock(x.tweaks[:x.size])
	block.Encrypt(tweak[:], tweak[:])
	for len(in) > 0 {
		n := len(in)
		if n >= piece+BlockSize {
			n = piece
		}
		block.Decrypt(number[:], tweak[:])
		if decrypt {
			must(xtsDecryptPiece(x.key(), &number, &out[0], &in[0], n))
		} else {
			must(xtsEncryptPiece(x.key(), &number, &out[0], &in[0], n))
		}
		skipPiece(&tweak)
		out, in = out[n:], in[n:]
	}
	clear(tweak[:])
	clear(number[:])
}

// farPower is x to the power of the blocks of a piece in GF(2^128), little-endian.
var farPower = [2]uint64{0x118fe6196978ef70, 0x1001001111110961}

// skipPiece multiplies a tweak by farPower, whose bits are no secret.
func skipPiece(tweak *[16]byte) {
	var sum [16]byte
	for i := range 128 {
		if farPower[i/64]>>(i%64)&1 != 0 {
			subtle.XORBytes(sum[:], sum[:], tweak[:])
		}
		double(tweak)
	}
	*tweak = sum
	clear(sum[:])
}

type coreGCMSIV struct {
	memory [gcmSIVKeySize + slack]byte // struct tr_gcm_siv_key
}

var gcmSIVKeys secrets[coreGCMSIV]

func (g *coreGCMSIV) key() unsafe.Pointer { return aligned(&g.memory[0]) }

func newCoreGCMSIV(key []byte) sealer {
	g := gcmSIVKeys.new()
	must(gcmSIVSetKey(g.key(), backend(), &key[0], len(key)))
	return g
}

func (g *coreGCMSIV) seal(out, nonce, plaintext, aad []byte) {
	must(gcmSIVSeal(g.key(), &nonce[0], pointer(aad), len(aad), &out[0], pointer(plaintext),
		len(plaintext), &out[len(plaintext)]))
}

func (g *coreGCMSIV) open(out, nonce, ciphertext, aad []byte) bool {
	return verified(gcmSIVOpen(g.key(), &nonce[0], pointer(aad), len(aad), pointer(out), &ciphertext[0],
		len(out), &ciphertext[len(out)]))
}
