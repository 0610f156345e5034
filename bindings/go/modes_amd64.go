// SPDX-License-Identifier: BSD-2-Clause

//go:build !purego

package tenrounds

import "unsafe"

type coreXTS struct {
	memory [xtsKeySize + slack]byte // struct tr_xts_key
}

var xtsKeys secrets[coreXTS]

func (x *coreXTS) key() unsafe.Pointer { return aligned(&x.memory[0]) }

func newCoreXTS(key []byte) dataUnit {
	x := xtsKeys.new()
	must(xtsSetKey(x.key(), backend(), &key[0], len(key)))
	return x
}

func (x *coreXTS) encrypt(out, in []byte, sector uint64) {
	must(xtsEncrypt(x.key(), sector, &out[0], &in[0], len(in)))
}

func (x *coreXTS) decrypt(out, in []byte, sector uint64) {
	must(xtsDecrypt(x.key(), sector, &out[0], &in[0], len(in)))
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
