// SPDX-License-Identifier: BSD-2-Clause

package tenrounds

import (
	"bytes"
	"crypto/cipher"
	"testing"
)

// fit returns a copy of b, shortened or filled up with zeros.
func fit(b []byte, n int) []byte {
	out := make([]byte, n)
	copy(out, b)
	return out
}

// FuzzOpen compares Open of any bytes, and Seal of them, with Go's own.
func FuzzOpen(f *testing.F) {
	f.Add([]byte("key"), []byte("nonce"), []byte("aad"), make([]byte, 40), uint8(4))
	f.Fuzz(func(t *testing.T, key, nonce, aad, message []byte, tagSize uint8) {
		var aeads [2]cipher.AEAD
		for i, implementation := range []implementation{ours, standard} {
			block := implementation.block(fit(key, 16+8*(len(key)%3)))
			var err error
			if len(nonce) == 12 {
				aeads[i], err = cipher.NewGCMWithTagSize(block, 12+int(tagSize)%5)
			} else {
				aeads[i], err = cipher.NewGCMWithNonceSize(block, len(nonce))
			}
			if err != nil && len(nonce) > 0 {
				t.Fatal(err)
			}
		}
		if len(nonce) == 0 {
			return
		}
		sealed := aeads[1].Seal(roomy(nil, len(message)), nonce, message, aad)
		if got := aeads[0].Seal(nil, nonce, message, aad); !bytes.Equal(got, sealed) {
			t.Errorf("Seal returns %x, not %x", got, sealed)
		}
		for _, ciphertext := range [][]byte{message, sealed} {
			want, wantErr := aeads[1].Open(nil, nonce, ciphertext, aad)
			got, err := aeads[0].Open(nil, nonce, ciphertext, aad)
			if (err == nil) != (wantErr == nil) || !bytes.Equal(got, want) {
				t.Errorf("Open returns %x, %v, not %x, %v", got, err, want, wantErr)
			}
		}
	})
}

// FuzzMany cuts messages of any lengths out of bytes. It compares SealMany and OpenMany with Go's own,
// one by one. OpenMany also opens the messages themselves, and those that were sealed with another byte.
func FuzzMany(f *testing.F) {
	f.Add([]byte("key"), []byte("aad"), make([]byte, 900), []byte{40, 40, 40, 40, 40, 40, 40, 40, 17}, uint16(3))
	f.Fuzz(func(t *testing.T, key, aad, data, lengths []byte, forged uint16) {
		key = fit(key, 16+8*(len(key)%3))
		a, b := ours.gcm(key), standard.gcm(key)
		var all []Message
		for i, n := range lengths {
			n := min(int(n), len(data))
			all = append(all, Message{Nonce: []byte{byte(i), 11: 0}, In: data[:n], AdditionalData: aad})
			data = data[n:]
		}
		openMany(t, a, b, all)
		SealMany(a, all)
		for i := range all {
			m := &all[i]
			if want := b.Seal(nil, m.Nonce, m.In, aad); !bytes.Equal(m.Out, want) {
				t.Errorf("Seal of message %d of %d returns %x, not %x", i, len(all), m.Out, want)
			}
			m.In = m.Out
		}
		openMany(t, a, b, all)
		if len(all) > 0 {
			m := all[int(forged)%len(all)]
			m.In[int(forged)%len(m.In)]++
			openMany(t, a, b, all)
		}
	})
}

func openMany(t *testing.T, a, b cipher.AEAD, all []Message) {
	var first error
	err := OpenMany(a, all)
	for i, m := range all {
		want, wantErr := b.Open(nil, m.Nonce, m.In, m.AdditionalData)
		if (m.Err == nil) != (wantErr == nil) || !bytes.Equal(m.Out, want) {
			t.Errorf("Open of message %d of %d returns %x, %v, not %x, %v", i, len(all), m.Out, m.Err, want, wantErr)
		}
		if first == nil {
			first = m.Err
		}
	}
	if err != first {
		t.Errorf("OpenMany returns %v, not %v", err, first)
	}
}

// FuzzXTS compares the two implementations of XTS.
func FuzzXTS(f *testing.F) {
	f.Add([]byte("key"), uint64(1), make([]byte, 40))
	f.Fuzz(func(t *testing.T, key []byte, sector uint64, message []byte) {
		raw := fit(key, 32+32*(len(key)%2))
		raw[0] = raw[len(raw)/2] ^ 1 // no two equal keys
		if len(message) < 16 {
			return
		}
		got, want := make([]byte, len(message)), make([]byte, len(message))
		all := xtss(t, raw)
		all["selected"].Encrypt(got, message, sector)
		all["portable"].Encrypt(want, message, sector)
		if !bytes.Equal(got, want) {
			t.Errorf("Encrypt returns %x, not %x", got, want)
		}
		all["selected"].Decrypt(got, message, sector)
		all["portable"].Decrypt(want, message, sector)
		if !bytes.Equal(got, want) {
			t.Errorf("Decrypt returns %x, not %x", got, want)
		}
	})
}

// FuzzGCMSIV compares the two implementations of GCM-SIV.
func FuzzGCMSIV(f *testing.F) {
	f.Add([]byte("key"), []byte("nonce"), []byte("aad"), make([]byte, 40))
	f.Fuzz(func(t *testing.T, key, nonce, aad, message []byte) {
		all := gcmSIVs(t, fit(key, 16+16*(len(key)%2)))
		a, b := all["selected"], all["portable"]
		nonce = fit(nonce, 12)
		sealed := b.Seal(nil, nonce, message, aad)
		if got := a.Seal(nil, nonce, message, aad); !bytes.Equal(got, sealed) {
			t.Errorf("Seal returns %x, not %x", got, sealed)
		}
		for _, ciphertext := range [][]byte{message, sealed} {
			want, wantErr := b.Open(nil, nonce, ciphertext, aad)
			got, err := a.Open(nil, nonce, ciphertext, aad)
			if (err == nil) != (wantErr == nil) || !bytes.Equal(got, want) {
				t.Errorf("Open returns %x, %v, not %x, %v", got, err, want, wantErr)
			}
		}
	})
}
