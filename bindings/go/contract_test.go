// SPDX-License-Identifier: BSD-2-Clause

package tenrounds

import (
	"bytes"
	"compress/gzip"
	"crypto/cipher"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/pprof"
	"strings"
	"testing"
	"time"
	"unsafe"
)

// panics returns what f panics with, or "".
func panics(f func()) (text string) {
	defer func() {
		if p := recover(); p != nil {
			text = fmt.Sprint(p)
		}
	}()
	f()
	return ""
}

// TestContract makes calls that crypto/cipher allows or forbids, with our Block and with Go's own.
// Both must panic alike and write the same bytes into the same buffer.
func TestContract(t *testing.T) {
	ours, standard := both(t, make([]byte, 24))
	iv := make([]byte, 16)
	aead := func(b cipher.Block) cipher.AEAD {
		a, err := cipher.NewGCM(b)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	sealed := aead(standard).Seal(nil, iv[:12], make([]byte, 40), nil)
	calls := map[string]func(b cipher.Block, m []byte){
		"short block":             func(b cipher.Block, m []byte) { b.Encrypt(m, m[:15]) },
		"short output of a block": func(b cipher.Block, m []byte) { b.Decrypt(m[:15], m[:16]) },
		"empty block":             func(b cipher.Block, m []byte) { b.Encrypt(nil, nil) },
		"shifted block":           func(b cipher.Block, m []byte) { b.Encrypt(m[1:], m) },
		"shifted back":            func(b cipher.Block, m []byte) { b.Decrypt(m, m[1:]) },
		"block before":            func(b cipher.Block, m []byte) { b.Encrypt(m, m[16:]) },
		"block in place":          func(b cipher.Block, m []byte) { b.Encrypt(m, m) },
		"CTR, IV of 15":           func(b cipher.Block, m []byte) { cipher.NewCTR(b, iv[:15]) },
		"CTR, short output":       func(b cipher.Block, m []byte) { cipher.NewCTR(b, iv).XORKeyStream(m[:9], m[:10]) },
		"CTR, shifted":            func(b cipher.Block, m []byte) { cipher.NewCTR(b, iv).XORKeyStream(m[1:], m[:9]) },
		"CTR, shifted back":       func(b cipher.Block, m []byte) { cipher.NewCTR(b, iv).XORKeyStream(m, m[1:9]) },
		"CTR, nothing":            func(b cipher.Block, m []byte) { cipher.NewCTR(b, iv).XORKeyStream(nil, nil) },
		"CTR, longer output":      func(b cipher.Block, m []byte) { cipher.NewCTR(b, iv).XORKeyStream(m, m[:9]) },
		"CBC, IV of 17":           func(b cipher.Block, m []byte) { cipher.NewCBCEncrypter(b, make([]byte, 17)) },
		"CBC, no IV":              func(b cipher.Block, m []byte) { cipher.NewCBCDecrypter(b, nil) },
		"CBC, ragged":             func(b cipher.Block, m []byte) { cipher.NewCBCEncrypter(b, iv).CryptBlocks(m, m[:17]) },
		"CBC, short output":       func(b cipher.Block, m []byte) { cipher.NewCBCDecrypter(b, iv).CryptBlocks(m[:16], m[:32]) },
		"CBC, shifted":            func(b cipher.Block, m []byte) { cipher.NewCBCDecrypter(b, iv).CryptBlocks(m[16:], m[:32]) },
		"CBC, nothing":            func(b cipher.Block, m []byte) { cipher.NewCBCDecrypter(b, iv).CryptBlocks(nil, nil) },
		"CBC, longer output":      func(b cipher.Block, m []byte) { cipher.NewCBCEncrypter(b, iv).CryptBlocks(m, m[:32]) },
		"CBC, another IV": func(b cipher.Block, m []byte) {
			mode := cipher.NewCBCEncrypter(b, iv)
			mode.CryptBlocks(m, m[:16])
			mode.(interface{ SetIV([]byte) }).SetIV(m[16:32])
			mode.CryptBlocks(m[32:], m[:16])
		},
		"CBC, another short IV": func(b cipher.Block, m []byte) {
			cipher.NewCBCEncrypter(b, iv).(interface{ SetIV([]byte) }).SetIV(m[:15])
		},
		"GCM, nonce of 11":   func(b cipher.Block, m []byte) { aead(b).Seal(nil, iv[:11], m, nil) },
		"GCM, no nonce":      func(b cipher.Block, m []byte) { aead(b).Open(nil, nil, m, nil) },
		"GCM, in place":      func(b cipher.Block, m []byte) { aead(b).Seal(m[:0], iv[:12], m[:40], nil) },
		"GCM, appended":      func(b cipher.Block, m []byte) { aead(b).Seal(m[:10], iv[:12], m[50:70], m[1:9]) },
		"GCM, shifted":       func(b cipher.Block, m []byte) { aead(b).Seal(m[:1], iv[:12], m[:40], nil) },
		"GCM, shifted back":  func(b cipher.Block, m []byte) { aead(b).Seal(m[:0], iv[:12], m[1:40], nil) },
		"GCM, tag on input":  func(b cipher.Block, m []byte) { aead(b).Seal(m[:0], iv[:12], m[45:85], nil) },
		"GCM, AAD in output": func(b cipher.Block, m []byte) { aead(b).Seal(m[:0], iv[:12], m[:40], m[50:51]) },
		"GCM, AAD behind":    func(b cipher.Block, m []byte) { aead(b).Seal(m[:0], iv[:12], m[:40], m[56:58]) },
		"GCM, nothing":       func(b cipher.Block, m []byte) { aead(b).Seal(m[:0], iv[:12], nil, nil) },
		"GCM, capacity":      func(b cipher.Block, m []byte) { aead(b).Seal(m[:0:55], iv[:12], m[:40:40], nil) },
		"GCM, opened": func(b cipher.Block, m []byte) {
			copy(m, sealed)
			aead(b).Open(m[:0], iv[:12], m[:56], nil)
		},
		"GCM, opened shifted": func(b cipher.Block, m []byte) {
			copy(m[1:], sealed)
			aead(b).Open(m[:0], iv[:12], m[1:57], nil)
		},
		"GCM, opened onto AAD": func(b cipher.Block, m []byte) { aead(b).Open(m[:0], iv[:12], m[60:], m[:1]) },
		"GCM, forged":          func(b cipher.Block, m []byte) { aead(b).Open(m[:0], iv[:12], m[:56], nil) },
		"GCM, only a tag":      func(b cipher.Block, m []byte) { aead(b).Open(m[:0], iv[:12], m[:16], nil) },
		"GCM, too short":       func(b cipher.Block, m []byte) { aead(b).Open(m[:0], iv[:12], m[:15], nil) },
	}
	for name, call := range calls {
		var text [2]string
		var memory [2][]byte
		for i, b := range []cipher.Block{ours, standard} {
			memory[i] = bytes.Repeat([]byte{7}, 100)
			text[i] = panics(func() { call(b, memory[i]) })
		}
		if (text[0] == "") != (text[1] == "") || strings.Contains(text[0], "runtime error") {
			t.Errorf("%s: ours panics with %q, Go's own with %q", name, text[0], text[1])
		}
		if !bytes.Equal(memory[0], memory[1]) {
			t.Errorf("%s: ours writes\n%x, Go's own\n%x", name, memory[0], memory[1])
		}
	}
}

// TestErrors compares errors of constructors with those of the standard library.
func TestErrors(t *testing.T) {
	for n := range 66 {
		_, err := NewCipher(make([]byte, n))
		if (err == nil) != (n == 16 || n == 24 || n == 32) {
			t.Errorf("NewCipher with a key of %d bytes: %v", n, err)
		}
		_, err = NewGCMSIV(make([]byte, n))
		if (err == nil) != (n == 16 || n == 32) {
			t.Errorf("NewGCMSIV with a key of %d bytes: %v", n, err)
		}
		key := make([]byte, n)
		if n > 0 {
			key[0] = 1
		}
		_, err = NewXTS(key)
		if (err == nil) != (n == 32 || n == 64) {
			t.Errorf("NewXTS with a key of %d bytes: %v", n, err)
		}
	}
	if _, err := NewXTS(make([]byte, 32)); err == nil {
		t.Error("NewXTS with two equal keys succeeds")
	}
	ours, standard := both(t, make([]byte, 16))
	for n := -1; n < 20; n++ {
		_, a := cipher.NewGCMWithTagSize(ours, n)
		_, b := cipher.NewGCMWithTagSize(standard, n)
		if fmt.Sprint(a) != fmt.Sprint(b) {
			t.Errorf("GCM with a tag of %d bytes: %v, Go's own: %v", n, a, b)
		}
		_, a = cipher.NewGCMWithNonceSize(ours, n)
		_, b = cipher.NewGCMWithNonceSize(standard, n)
		if fmt.Sprint(a) != fmt.Sprint(b) {
			t.Errorf("GCM with a nonce of %d bytes: %v, Go's own: %v", n, a, b)
		}
	}
}

// TestXTSContract checks the panics of XTS and GCM-SIV, which the standard library lacks.
func TestXTSContract(t *testing.T) {
	key := append(make([]byte, 16), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)
	m := make([]byte, 1<<24+1)
	for name, x := range xtss(t, key) {
		for what, call := range map[string]func(){
			"15 bytes":       func() { x.Encrypt(m, m[:15], 0) },
			"2^24 + 1 bytes": func() { x.Decrypt(m, m, 0) },
			"short output":   func() { x.Encrypt(m[:16], m[:17], 0) },
			"shifted":        func() { x.Encrypt(m[1:], m[:32], 0) },
			"shifted back":   func() { x.Decrypt(m, m[1:33], 0) },
		} {
			if panics(call) == "" {
				t.Errorf("%s: no panic for %s", name, what)
			}
		}
		if text := panics(func() { x.Encrypt(m, m[:16], 1<<64-1) }); text != "" {
			t.Errorf("%s: %s", name, text)
		}
	}
	nonce := make([]byte, 12)
	for name, aead := range gcmSIVs(t, make([]byte, 16)) {
		for what, call := range map[string]func(){
			"nonce of 11":   func() { aead.Seal(nil, nonce[:11], nil, nil) },
			"shifted":       func() { aead.Seal(m[:1], nonce, m[:16], nil) },
			"AAD in output": func() { aead.Seal(m[:0], nonce, nil, m[15:16]) },
		} {
			if panics(call) == "" {
				t.Errorf("%s: no panic for %s", name, what)
			}
		}
		for n := range 16 {
			if _, err := aead.Open(nil, nonce, m[:n], nil); err == nil {
				t.Errorf("%s: Open of %d bytes succeeds", name, n)
			}
		}
	}
}

// TestAllocations fails if a call on existing buffers allocates memory.
func TestAllocations(t *testing.T) {
	block, _ := both(t, make([]byte, 16))
	aead, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	m, nonce := make([]byte, 100, 116), make([]byte, 12)
	stream := cipher.NewCTR(block, make([]byte, 16))
	if n := testing.AllocsPerRun(100, func() {
		aead.Seal(m[:0], nonce, m, nil)
		stream.XORKeyStream(m, m)
		block.Encrypt(m, m)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	var key [16]byte
	want := 1.0
	if Backend() != "" {
		want = 0 // AllocsPerRun rounds down: a group of Blocks is one allocation
	}
	if n := testing.AllocsPerRun(100, func() {
		if _, err := NewCipher(key[:]); err != nil {
			t.Error(err)
		}
	}); n != want {
		t.Errorf("NewCipher makes %v allocations: the caller's key must not escape to the heap", n)
	}
}

// child runs a test in a process of its own, with another environment and fewer random messages.
func child(t *testing.T, test string, environment ...string) string {
	t.Helper()
	command := exec.Command(os.Args[0], "-test.run=^"+test+"$", "-test.v",
		fmt.Sprintf("-messages=%d", max(300, *messages/10)))
	command.Env = append(append(os.Environ(), "TENROUNDS_GO_CHILD=1"), environment...)
	output, err := command.CombinedOutput()
	if err != nil {
		t.Errorf("%s with %v: %v\n%s", test, environment, err, output)
	}
	return string(output)
}

// TestBackend names the backend, for TestMasks.
func TestBackend(t *testing.T) {
	t.Logf("backend %q", Backend())
}

// TestMasks runs every backend of this processor, and FIPS 140-3 mode.
func TestMasks(t *testing.T) {
	if os.Getenv("TENROUNDS_GO_CHILD") != "" {
		t.Skip("already in a child")
	}
	_, best, _ := strings.Cut(child(t, "TestBackend", "TENROUNDS_MASK="), "backend \"")
	best, _, _ = strings.Cut(best, "\"")
	if best == "" {
		t.Skip("this build, this processor or GODEBUG has only Go's own code")
	}
	for variable, expected := range map[string]string{
		"TENROUNDS_MASK=":                                          best,
		"TENROUNDS_MASK=noavx512":                                  strings.Replace(best, "vaes512", "vaes256", 1),
		"TENROUNDS_MASK=noavx512,novaes":                           "aesni",
		"TENROUNDS_MASK=noaes":                                     "",
		"TENROUNDS_MASK=noclmul":                                   "",
		"TENROUNDS_MASK=nosuchfeature" + strings.Repeat("x", 5000): best,
		"GODEBUG=fips140=on":                                       "",
	} {
		if got := child(t, "TestBackend", variable); !strings.Contains(got, fmt.Sprintf("backend %q", expected)) {
			t.Errorf("%s: not backend %q: %s", variable, expected, got)
		}
		child(t, "Test(Wycheproof.*|Random.*|.*Pieces|Contract|Errors|StepsAside)", variable)
	}
}

// TestOverlap compares overlap with the intervals that it looks at.
func TestOverlap(t *testing.T) {
	m := make([]byte, 8)
	for i := range 8 {
		for j := i; j <= 8; j++ {
			for k := range 8 {
				for l := k; l <= 8; l++ {
					want := max(i, k) < min(j, l)
					if overlap(m[i:j], m[k:l]) != want || shifted(m[i:j], m[k:l]) != (want && i != k) {
						t.Errorf("overlap of %d to %d and %d to %d is not %v", i, j, k, l, want)
					}
				}
			}
		}
	}
	if unsafe.SliceData(m[:0]) != unsafe.SliceData(m) || overlap(m[:0], m) {
		t.Error("an empty slice overlaps")
	}
}

// TestProfile seals until a CPU profile has a sample in the core, with the name of its function.
func TestProfile(t *testing.T) {
	if Backend() == "" {
		t.Skip("this build or this processor has only Go's own code")
	}
	block, _ := both(t, make([]byte, 16))
	aead, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	message, nonce := make([]byte, 1<<10, 1<<10+16), make([]byte, 12)
	for {
		var profile bytes.Buffer
		if err := pprof.StartCPUProfile(&profile); err != nil {
			t.Fatal(err)
		}
		for begin := time.Now(); time.Since(begin) < 50*time.Millisecond; {
			aead.Seal(message[:0], nonce, message, nil)
		}
		pprof.StopCPUProfile()
		text, err := gzip.NewReader(&profile)
		if err != nil {
			t.Fatal(err)
		}
		names, err := io.ReadAll(text)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(names, []byte("bindings/go.core")) && bytes.Contains(names, []byte("tr_"+Backend())) {
			return
		}
	}
}

// TestShortTags looks behind the capacity of the output, where Go 1.26 writes zeros.
func TestShortTags(t *testing.T) {
	if Backend() == "" {
		t.Skip("this package uses crypto/aes")
	}
	block, _ := both(t, make([]byte, 16))
	for tagSize := 12; tagSize <= 16; tagSize++ {
		aead, err := cipher.NewGCMWithTagSize(block, tagSize)
		if err != nil {
			t.Fatal(err)
		}
		for n := range 1100 {
			out := bytes.Repeat([]byte{0xa5}, n+tagSize+64)
			dst := out[: 0 : n+tagSize]
			aead.Seal(dst, make([]byte, 12), make([]byte, n), nil)
			if bytes.Count(out[n+tagSize:], []byte{0xa5}) != 64 {
				t.Fatalf("Seal of %d bytes with a tag of %d writes past the capacity", n, tagSize)
			}
		}
	}
}
