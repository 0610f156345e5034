// SPDX-License-Identifier: BSD-2-Clause

package tenrounds

import (
	"crypto/aes"
	"crypto/cipher"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// An implementation makes the ciphers that a benchmark compares.
type implementation struct {
	cipher func(key []byte) (cipher.Block, error)
	xts    func(key []byte) sectors
}

// The methods of XTS, and of Cipher in golang.org/x/crypto/xts.
type sectors interface {
	Encrypt(ciphertext, plaintext []byte, sectorNum uint64)
	Decrypt(plaintext, ciphertext []byte, sectorNum uint64)
}

var ours = implementation{NewCipher, func(key []byte) sectors {
	x, err := NewXTS(xtsKey(key))
	if err != nil {
		panic(err)
	}
	return x
}}

// The standard library has no XTS, and this module needs no other one: so XTS is our portable code
// here. With testdata/xcrypto_test.go, it is golang.org/x/crypto/xts.
var standard = implementation{aes.NewCipher, func(key []byte) sectors {
	data, _ := aes.NewCipher(key)
	tweak, _ := aes.NewCipher(xtsKey(key)[len(key):])
	return &XTS{&portableXTS{data, tweak}}
}}

// xtsKey returns a key of twice the size, whose halves differ.
func xtsKey(key []byte) []byte {
	double := append(slices.Clone(key), key...)
	double[len(key)] ^= 1
	return double
}

// Each mode returns a call that processes a message in place.
var modes = []struct {
	name string
	call func(i implementation, key, message []byte) func()
}{
	{"gcm-seal", func(i implementation, key, message []byte) func() {
		aead, nonce, aad := i.gcm(key), make([]byte, 12), make([]byte, 13)
		return func() { aead.Seal(message[:0], nonce, message, aad) }
	}},
	{"gcm-open", func(i implementation, key, message []byte) func() {
		aead, nonce, aad := i.gcm(key), make([]byte, 12), make([]byte, 13)
		sealed := aead.Seal(nil, nonce, message, aad)
		return func() {
			if _, err := aead.Open(message[:0], nonce, sealed, aad); err != nil {
				panic(err)
			}
		}
	}},
	{"ctr", func(i implementation, key, message []byte) func() {
		stream := cipher.NewCTR(i.block(key), make([]byte, 16))
		return func() { stream.XORKeyStream(message, message) }
	}},
	{"cbc-encrypt", func(i implementation, key, message []byte) func() {
		mode, blocks := cipher.NewCBCEncrypter(i.block(key), make([]byte, 16)), message[:len(message)&^15]
		return func() { mode.CryptBlocks(blocks, blocks) }
	}},
	{"cbc-decrypt", func(i implementation, key, message []byte) func() {
		mode, blocks := cipher.NewCBCDecrypter(i.block(key), make([]byte, 16)), message[:len(message)&^15]
		return func() { mode.CryptBlocks(blocks, blocks) }
	}},
	{"xts-encrypt", func(i implementation, key, message []byte) func() {
		x, blocks := i.xts(key), message[:len(message)&^15]
		return func() { x.Encrypt(blocks, blocks, 1) }
	}},
	{"xts-decrypt", func(i implementation, key, message []byte) func() {
		x, blocks := i.xts(key), message[:len(message)&^15]
		return func() { x.Decrypt(blocks, blocks, 1) }
	}},
	{"new-gcm-seal", func(i implementation, key, message []byte) func() {
		nonce := make([]byte, 12)
		return func() { i.gcm(key).Seal(message[:0], nonce, message, nil) }
	}},
}

func (i implementation) block(key []byte) cipher.Block {
	block, err := i.cipher(key)
	if err != nil {
		panic(err)
	}
	return block
}

func (i implementation) gcm(key []byte) cipher.AEAD {
	aead, err := cipher.NewGCM(i.block(key))
	if err != nil {
		panic(err)
	}
	return aead
}

// Benchmark compares each mode with Go's own code. Run it on an idle machine:
//
//	go test -run - -bench . -skip Collector -benchtime 500x
//
// "scripts/go compare" runs it on each backend, with golang.org/x/crypto/xts, and makes one table.
func Benchmark(b *testing.B) {
	fmt.Printf("backend: %s\n", Backend()) // a column of benchstat
	for _, mode := range modes {
		for _, keySize := range []int{16, 32} {
			for _, size := range []int{64, 256, 1350, 4 << 10, 16 << 10, 1 << 20} {
				b.Run(fmt.Sprintf("%s/aes-%d/%d", mode.name, keySize*8, size), func(b *testing.B) {
					key, message := make([]byte, keySize), make([]byte, size, size+16)
					paired(b, mode.call(ours, key, message), mode.call(standard, key, message))
				})
			}
		}
	}
	for name, crypt := range map[string]func(b cipher.Block, dst, src []byte){
		"block-encrypt": cipher.Block.Encrypt, "block-decrypt": cipher.Block.Decrypt,
	} {
		b.Run(name, func(b *testing.B) {
			key, message := make([]byte, 16), make([]byte, 16)
			one := func(block cipher.Block) func() { return func() { crypt(block, message, message) } }
			paired(b, one(ours.block(key)), one(standard.block(key)))
		})
	}
}

// BenchmarkCollector reports how many milliseconds runtime.GC takes while a goroutine processes 256 MiB
// again and again (XTS: 8 MiB). The collector waits for calls of the core, and of Go's assembly.
func BenchmarkCollector(b *testing.B) {
	for _, mode := range modes {
		size := 256 << 20
		if strings.HasPrefix(mode.name, "xts") {
			size = 8 << 20
		}
		for name, i := range map[string]implementation{"ours": ours, "go": standard} {
			b.Run(mode.name+"/"+name, func(b *testing.B) {
				call := mode.call(i, make([]byte, 16), make([]byte, size, size+16))
				var stop atomic.Bool
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					for !stop.Load() {
						call()
					}
				}()
				var times []float64
				for b.Loop() {
					begin := time.Now()
					runtime.GC()
					times = append(times, float64(time.Since(begin))/1e6)
				}
				stop.Store(true)
				<-ended
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(median(times), "ms")
			})
		}
	}
}

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

// paired compares two calls in alternated windows of at least 100 µs. It reports the medians of the
// time of a call in nanoseconds, and of the ratio, which is above 1 if ours is faster.
func paired(b *testing.B, ours, standard func()) {
	window := func(calls int, f func()) float64 {
		begin := time.Now()
		for range calls {
			f()
		}
		return float64(time.Since(begin)) / float64(calls)
	}
	calls := 1 + int(100_000/window(100, standard))
	var our, its, ratios []float64
	for b.Loop() {
		its = append(its, window(calls, standard))
		our = append(our, window(calls, ours))
		ratios = append(ratios, its[len(its)-1]/our[len(our)-1])
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(our), "ns")
	b.ReportMetric(median(its), "go-ns")
	b.ReportMetric(median(ratios), "times")
}
