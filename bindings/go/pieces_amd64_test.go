// SPDX-License-Identifier: BSD-2-Clause

//go:build !purego

package tenrounds

import (
	"bytes"
	"crypto/cipher"
	"testing"
)

// lengths are around those at which a mode makes another call of the core.
var lengths = []int{piece - 1, piece, piece + 1, piece + 15, piece + 16, piece + 17, 2*piece + 15, 2*piece + 16, 3*piece + 8}

// compareInPlace checks f on a copy of a message, and in place.
func compareInPlace(t *testing.T, what string, in, want []byte, f func(dst, src []byte)) {
	t.Helper()
	got := make([]byte, len(in))
	f(got, in)
	if !bytes.Equal(got, want) {
		t.Errorf("%s of %d bytes differs", what, len(in))
	}
	copy(got, in)
	f(got, got)
	if !bytes.Equal(got, want) {
		t.Errorf("%s of %d bytes in place differs", what, len(in))
	}
}

// TestPieces compares CTR and CBC with Go's own. CTR begins in the middle of a block, and its counter
// wraps between two pieces.
func TestPieces(t *testing.T) {
	r := random(t, 6)
	ours, standard := both(t, drawKey(r))
	iv := append(bytes.Repeat([]byte{255}, 14), 0, 0)
	for _, n := range lengths {
		in := make([]byte, n)
		fill(r, in)
		want := make([]byte, n)
		ctr := func(b cipher.Block) func(dst, src []byte) {
			return func(dst, src []byte) {
				stream := cipher.NewCTR(b, iv)
				stream.XORKeyStream(dst[:5], src[:5])
				stream.XORKeyStream(dst[5:], src[5:])
			}
		}
		ctr(standard)(want, in)
		compareInPlace(t, "CTR", in, want, ctr(ours))

		in, want = in[:n&^15], want[:n&^15]
		for name, mode := range map[string]func(cipher.Block, []byte) cipher.BlockMode{
			"CBC encryption": cipher.NewCBCEncrypter, "CBC decryption": cipher.NewCBCDecrypter,
		} {
			mode(standard, iv).CryptBlocks(want, in)
			compareInPlace(t, name, in, want, func(dst, src []byte) { mode(ours, iv).CryptBlocks(dst, src) })
		}
	}
}

// TestXTSPieces compares XTS with the portable code.
func TestXTSPieces(t *testing.T) {
	r := random(t, 7)
	key, sector := make([]byte, 32+32*r.IntN(2)), r.Uint64()
	fill(r, key)
	all := xtss(t, key)
	for _, n := range lengths {
		in, want := make([]byte, n), make([]byte, n)
		fill(r, in)
		all["portable"].Encrypt(want, in, sector)
		compareInPlace(t, "Encrypt", in, want, func(dst, src []byte) { all["selected"].Encrypt(dst, src, sector) })
		compareInPlace(t, "Decrypt", want, in, func(dst, src []byte) { all["selected"].Decrypt(dst, src, sector) })
	}
}

// TestManyPieces seals and opens messages that fill calls of the core with `piece` bytes, with fewer,
// or alone with more. Some are forged.
func TestManyPieces(t *testing.T) {
	r := random(t, 8)
	key := drawKey(r)
	a, b, aad := ours.gcm(key), standard.gcm(key), make([]byte, 100)
	var all []Message
	for _, n := range []int{piece - 100, 0, 0, piece - 101, 0, piece - 99, piece, piece, 2 * piece, 5, 2 * piece, 5, 7,
		piece / 2, piece/2 - 200, piece / 2, piece/2 - 199, piece / 3, piece / 3, piece / 3, piece / 3, 1} {
		in := make([]byte, n)
		fill(r, in)
		all = append(all, Message{Nonce: make([]byte, 12), In: in, AdditionalData: aad})
	}
	SealMany(a, all)
	for i := range all {
		m := &all[i]
		if !bytes.Equal(m.Out, b.Seal(nil, m.Nonce, m.In, aad)) {
			t.Errorf("Seal of message %d, %d bytes, differs", i, len(m.In))
		}
		m.In = m.Out
		switch i % 5 {
		case 3:
			m.In[r.IntN(len(m.In))]++
		case 4:
			m.In = m.In[:15]
		}
	}
	if err := OpenMany(a, all); err != all[3].Err {
		t.Errorf("OpenMany returns %v", err)
	}
	for i, m := range all {
		want, err := b.Open(nil, m.Nonce, m.In, aad)
		if (m.Err == nil) != (err == nil) || !bytes.Equal(m.Out, want) {
			t.Errorf("Open of message %d, %d bytes, differs: %v", i, len(m.In), m.Err)
		}
	}
}
