// SPDX-License-Identifier: BSD-2-Clause

package tenrounds

import (
	"bytes"
	"crypto/cipher"
	"fmt"
	"testing"
)

// TestRandomMany seals and opens up to 200 messages at a time, most of them of one length, and
// compares with Go's own AEAD, one by one. Some messages are forged, and some are no ciphertexts.
func TestRandomMany(t *testing.T) {
	r := random(t, 5)
	for range *messages / 100 {
		ours, standard := both(t, drawKey(r))
		tagSize := safe(max(12, 16-r.IntN(20)))
		a, err := cipher.NewGCMWithTagSize(ours, tagSize)
		if err != nil {
			t.Fatal(err)
		}
		b, err := cipher.NewGCMWithTagSize(standard, tagSize)
		if err != nil {
			t.Fatal(err)
		}
		length, aad := r.IntN(2200), draw(r, 80)
		if r.IntN(20) == 0 {
			length = 0
		}
		all := make([]Message, r.IntN(200))
		plaintexts := make([][]byte, len(all))
		for i := range all {
			n := length
			if r.IntN(100) == 0 {
				n = r.IntN(2200)
			}
			plaintexts[i] = make([]byte, n)
			fill(r, plaintexts[i])
			nonce := make([]byte, 12)
			fill(r, nonce)
			in := append(make([]byte, 0, n+16), plaintexts[i]...)
			all[i] = Message{Dst: in[:0], Nonce: nonce, In: in, AdditionalData: aad}
			if r.IntN(2) == 0 {
				all[i].Dst = draw(r, 20)
			}
		}
		SealMany(a, all)
		for i := range all {
			m := &all[i]
			want := b.Seal(roomy(m.Dst, len(plaintexts[i])), m.Nonce, plaintexts[i], aad)
			if !bytes.Equal(m.Out, want) {
				t.Fatalf("Seal of message %d of %d, %d bytes, differs", i, len(all), len(plaintexts[i]))
			}
			*m = Message{Nonce: m.Nonce, In: m.Out[len(m.Dst):], AdditionalData: aad}
			switch r.IntN(50) {
			case 0:
				m.In[r.IntN(len(m.In))] ^= 1 << r.IntN(8)
			case 1:
				m.In = m.In[:r.IntN(tagSize)]
			}
			if r.IntN(2) == 0 {
				m.Dst = make([]byte, 3, 3+len(plaintexts[i]))
			}
		}
		err = OpenMany(a, all)
		var first error
		for i := range all {
			m := &all[i]
			want, wantErr := b.Open(bytes.Clone(m.Dst), m.Nonce, m.In, aad)
			same := bytes.Equal(m.Out, want) && (m.Out == nil) == (want == nil)
			if !same || (m.Err == nil) != (wantErr == nil) {
				t.Fatalf("Open of message %d of %d: %v, not %v", i, len(all), m.Err, wantErr)
			}
			if wantErr != nil && cap(m.Dst) > 3 && !zero(m.Dst[3:cap(m.Dst)]) {
				t.Fatalf("Open of message %d of %d leaves plaintext of a forgery", i, len(all))
			}
			if first == nil {
				first = m.Err
			}
		}
		if err != first {
			t.Fatalf("OpenMany returns %v, not %v", err, first)
		}
	}
}

// TestManyAllocations fails if a call on existing buffers allocates memory.
func TestManyAllocations(t *testing.T) {
	block, _ := both(t, make([]byte, 16))
	aead, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	all := make([]Message, 100)
	for i := range all {
		m := make([]byte, 64, 80)
		all[i] = Message{Dst: m[:0], Nonce: make([]byte, 12), In: m}
	}
	if n := testing.AllocsPerRun(100, func() { SealMany(aead, all) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkSealMany compares a call for 64 messages with 64 calls of Go's own Seal.
func BenchmarkSealMany(b *testing.B) {
	for _, size := range []int{64, 256, 1350} {
		var calls [2]func()
		for i, implementation := range []implementation{ours, standard} {
			aead, all := implementation.gcm(make([]byte, 16)), make([]Message, 64)
			for i := range all {
				m := make([]byte, size, size+16)
				all[i] = Message{Dst: m[:0], Nonce: make([]byte, 12), In: m}
			}
			calls[i] = func() { SealMany(aead, all) }
		}
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			paired(b, calls[0], calls[1])
		})
	}
}
