// SPDX-License-Identifier: BSD-2-Clause

package tenrounds

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"flag"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"
)

var (
	seed     = flag.Uint64("seed", uint64(time.Now().UnixNano()), "the seed of random messages")
	messages = flag.Int("messages", 20000, "the number of random messages for each mode")
)

// random returns a generator for one goroutine of a test.
func random(t *testing.T, stream uint64) *rand.Rand {
	t.Helper()
	t.Logf("-seed=%d, stream %d", *seed, stream)
	return rand.New(rand.NewPCG(*seed, stream))
}

// draw returns up to n random bytes, mostly few, at any address.
func draw(r *rand.Rand, n int) []byte {
	n = r.IntN(r.IntN(n+1) + 1)
	b := make([]byte, n+64)[r.IntN(64):][:n]
	fill(r, b)
	return b
}

func fill(r *rand.Rand, b []byte) {
	for i := range b {
		b[i] = byte(r.Uint32())
	}
}

// roomy returns a copy of a prefix to which Go's GCM can append n bytes and a tag. If the tag has
// fewer than 16 bytes, Go 1.26 writes up to 3 zeros behind it, past the capacity.
func roomy(prefix []byte, n int) []byte {
	return append(make([]byte, 0, len(prefix)+n+16), prefix...)
}

// safe returns this size of tags, or 16 where this package uses crypto/aes, whose zeros (see roomy)
// would change another variable.
func safe(tagSize int) int {
	if Backend() == "" {
		return BlockSize
	}
	return tagSize
}

func drawKey(r *rand.Rand) []byte {
	key := make([]byte, 16+8*r.IntN(3))
	fill(r, key)
	return key
}

// both returns our cipher and Go's own for a key.
func both(t *testing.T, key []byte) (ours, gos cipher.Block) {
	t.Helper()
	ours, err := NewCipher(key)
	if err != nil {
		t.Fatal(err)
	}
	gos, err = aes.NewCipher(key)
	if err != nil {
		t.Fatal(err)
	}
	return ours, gos
}

// compareGCM seals a random message, opens it, and opens a forgery of it.
func compareGCM(t *testing.T, r *rand.Rand) {
	t.Helper()
	ours, standard := both(t, drawKey(r))
	var a, b cipher.AEAD
	var err error
	switch nonceSize, tagSize := 1+r.IntN(40), safe(12+r.IntN(5)); r.IntN(3) {
	case 0:
		a, _ = cipher.NewGCMWithNonceSize(ours, nonceSize)
		b, err = cipher.NewGCMWithNonceSize(standard, nonceSize)
	case 1:
		a, _ = cipher.NewGCMWithTagSize(ours, tagSize)
		b, err = cipher.NewGCMWithTagSize(standard, tagSize)
	default:
		a, _ = cipher.NewGCM(ours)
		b, err = cipher.NewGCM(standard)
	}
	if err != nil {
		t.Fatal(err)
	}
	nonce := make([]byte, a.NonceSize())
	fill(r, nonce)
	prefix, message, aad := draw(r, 100), draw(r, 5000), draw(r, 300)
	want := b.Seal(roomy(prefix, len(message)), nonce, message, aad)
	if got := a.Seal(bytes.Clone(prefix), nonce, message, aad); !bytes.Equal(got, want) {
		t.Fatalf("Seal of %d bytes with %d of AAD differs", len(message), len(aad))
	}

	// In place, with the capacity for the tag.
	sealed := a.Seal(append(make([]byte, 0, len(message)+16), message...)[:0], nonce, message, aad)
	if !bytes.Equal(sealed, want[len(prefix):]) {
		t.Fatalf("Seal of %d bytes in place differs", len(message))
	}
	forged := bytes.Clone(sealed)
	if opened, err := a.Open(sealed[:0], nonce, sealed, aad); err != nil || !bytes.Equal(opened, message) {
		t.Fatalf("Open of %d bytes in place differs: %v", len(message), err)
	}
	forged[r.IntN(len(forged))] ^= 1 << r.IntN(8)
	out := bytes.Repeat([]byte{1}, len(message))
	if opened, err := a.Open(out[:0], nonce, forged, aad); err == nil || opened != nil || !zero(out) {
		t.Fatalf("Open of a forgery of %d bytes: %v, %x", len(message), err, out)
	}
	forged = bytes.Clone(want[len(prefix):])
	if _, err := a.Open(nil, nonce, forged, append(bytes.Clone(aad), 0)); err == nil {
		t.Fatal("Open with other AAD succeeds")
	}
}

func zero(b []byte) bool {
	return bytes.Count(b, []byte{0}) == len(b)
}

// compareModes processes random messages in pieces: CTR, CBC in both directions, and single blocks.
func compareModes(t *testing.T, r *rand.Rand) {
	t.Helper()
	ours, standard := both(t, drawKey(r))
	iv := make([]byte, 16)
	fill(r, iv)
	if r.IntN(4) == 0 { // the counter wraps
		copy(iv, bytes.Repeat([]byte{255}, 15))
	}
	in := draw(r, 5000)
	got, want := make([]byte, len(in)), make([]byte, len(in))
	pieces := func(got, in []byte, crypt func(dst, src []byte), unit int) {
		for len(in) > 0 {
			n := min(unit*r.IntN(len(in)/unit+2), len(in))
			crypt(got, in[:n])
			got, in = got[n:], in[n:]
		}
	}
	check := func(mode string) {
		if !bytes.Equal(got, want) {
			t.Fatalf("%s of %d bytes differs", mode, len(in))
		}
	}
	pieces(got, in, cipher.NewCTR(ours, iv).XORKeyStream, 1)
	cipher.NewCTR(standard, iv).XORKeyStream(want, in)
	check("CTR")
	copy(got, in)
	pieces(got, got, cipher.NewCTR(ours, iv).XORKeyStream, 1)
	check("CTR in place")

	in = in[:len(in)&^15]
	got, want = got[:len(in)], want[:len(in)]
	for mode, constructor := range map[string]func(cipher.Block, []byte) cipher.BlockMode{
		"CBC encryption": cipher.NewCBCEncrypter, "CBC decryption": cipher.NewCBCDecrypter,
	} {
		pieces(got, in, constructor(ours, iv).CryptBlocks, 16)
		constructor(standard, iv).CryptBlocks(want, in)
		check(mode)
		copy(got, in)
		pieces(got, got, constructor(ours, iv).CryptBlocks, 16)
		check(mode + " in place")
	}
	if len(in) > 0 {
		ours.Encrypt(got, in)
		standard.Encrypt(want, in)
		check("a block's encryption")
		ours.Decrypt(got, in)
		standard.Decrypt(want, in)
		check("a block's decryption")
	}
}

func TestRandomGCM(t *testing.T) {
	r := random(t, 1)
	for range *messages {
		compareGCM(t, r)
	}
}

func TestRandomModes(t *testing.T) {
	r := random(t, 2)
	for range *messages {
		compareModes(t, r)
	}
}

// gcmSIVs returns the implementations of GCM-SIV in this build.
func gcmSIVs(t *testing.T, key []byte) map[string]cipher.AEAD {
	t.Helper()
	generator, err := aes.NewCipher(key)
	if err != nil {
		t.Fatal(err)
	}
	selected, err := NewGCMSIV(key)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]cipher.AEAD{
		"selected": selected,
		"portable": &gcmSIV{&portableGCMSIV{generator, len(key)}},
	}
}

// xtss returns the implementations of XTS in this build.
func xtss(t *testing.T, key []byte) map[string]*XTS {
	t.Helper()
	data, tweak := key[:len(key)/2], key[len(key)/2:]
	selected, err := NewXTS(key)
	if err != nil {
		t.Fatal(err)
	}
	_, dataBlock := both(t, data)
	_, tweakBlock := both(t, tweak)
	return map[string]*XTS{"selected": selected, "portable": {&portableXTS{dataBlock, tweakBlock}}}
}

func TestRandomGCMSIV(t *testing.T) {
	r := random(t, 3)
	for range *messages / 20 {
		key := make([]byte, 16+16*r.IntN(2))
		fill(r, key)
		nonce := make([]byte, 12)
		fill(r, nonce)
		message, aad := draw(r, 1000), draw(r, 100)
		all := gcmSIVs(t, key)
		a, b := all["selected"], all["portable"]
		sealed := a.Seal(nil, nonce, message, aad)
		if !bytes.Equal(sealed, b.Seal(nil, nonce, message, aad)) {
			t.Fatalf("Seal of %d bytes differs", len(message))
		}
		for name, aead := range all {
			opened, err := aead.Open(nil, nonce, sealed, aad)
			if err != nil || !bytes.Equal(opened, message) {
				t.Fatalf("%s: Open of %d bytes: %v", name, len(message), err)
			}
			forged := bytes.Clone(sealed)
			forged[r.IntN(len(forged))] ^= 1 << r.IntN(8)
			out := bytes.Repeat([]byte{1}, len(message))
			if opened, err := aead.Open(out[:0], nonce, forged, aad); err == nil || opened != nil || !zero(out) {
				t.Fatalf("%s: Open of a forgery of %d bytes: %v", name, len(message), err)
			}
		}
	}
}

func TestRandomXTS(t *testing.T) {
	r := random(t, 4)
	for range *messages / 20 {
		key := make([]byte, 32+32*r.IntN(2))
		fill(r, key)
		sector := r.Uint64()
		message := append(draw(r, 2000), make([]byte, 16)...)
		all := xtss(t, key)
		got, want := make([]byte, len(message)), make([]byte, len(message))
		all["selected"].Encrypt(got, message, sector)
		all["portable"].Encrypt(want, message, sector)
		if !bytes.Equal(got, want) {
			t.Fatalf("Encrypt of %d bytes differs", len(message))
		}
		for name, x := range all {
			copy(got, want)
			x.Decrypt(got, got, sector)
			if !bytes.Equal(got, message) {
				t.Fatalf("%s: Decrypt of %d bytes in place differs", name, len(message))
			}
		}
	}
}

// TestGoroutines uses the core in 8 goroutines with small stacks, one AEAD in all of them, while
// the collector runs all the time and moves the stacks.
func TestGoroutines(t *testing.T) {
	block, standard := both(t, []byte("0123456789abcdef"))
	shared, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	want, err := cipher.NewGCM(standard)
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var collector, workers sync.WaitGroup
	collector.Add(1)
	go func() {
		defer collector.Done()
		for {
			select {
			case <-stop:
				return
			default:
				runtime.GC()
			}
		}
	}()
	for i := range uint64(8) {
		workers.Add(1)
		r := random(t, 10+i)
		go func() {
			defer workers.Done()
			for range *messages / 100 {
				done := make(chan bool)
				go func() { // a new stack
					message, nonce := draw(r, 3000), make([]byte, 12)
					fill(r, nonce)
					sealed := shared.Seal(nil, nonce, message, nonce)
					opened, err := shared.Open(nil, nonce, sealed, nonce)
					done <- err == nil && bytes.Equal(opened, message) &&
						bytes.Equal(sealed, want.Seal(nil, nonce, message, nonce))
				}()
				if !<-done {
					t.Error("a message of a goroutine is wrong")
				}
			}
		}()
	}
	workers.Wait()
	close(stop)
	collector.Wait()
}
