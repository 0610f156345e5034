// SPDX-License-Identifier: BSD-2-Clause

//go:build !purego

package tenrounds

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
	"unsafe"
)

// TestCleansed looks at the memory of keys that are no longer used. A cycle of the collector queues
// their finalizers, and only a later one, which this test switches off, would free the memory.
func TestCleansed(t *testing.T) {
	if Backend() == "" {
		t.Skip("this package uses crypto/aes, which cleanses nothing")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // the pool has groups for each processor
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	for name, secrets := range map[string]func() [][]byte{
		"block": func() [][]byte { // its key, and a cycle later its schedule
			b := newBlock([]byte("a key of a block")).(*block)
			return [][]byte{b.raw[:], unsafe.Slice((*byte)(b.key()), aesKeySize)}
		},
		"GCM": func() [][]byte {
			g := newBlock([]byte("a key for GCM...")).(*block).newGCM(12, 16)
			return [][]byte{g.memory[:]}
		},
		"XTS": func() [][]byte {
			x, _ := NewXTS([]byte("the key of data,the key of tweak"))
			return [][]byte{x.unit.(*coreXTS).memory[:]}
		},
		"GCM-SIV": func() [][]byte {
			g, _ := NewGCMSIV([]byte("a key of GCM-SIV"))
			return [][]byte{g.(*gcmSIV).message.(*coreGCMSIV).memory[:]}
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, secret := range unreferenced(secrets) {
				if zero(secret.bytes()) {
					t.Fatal("no secret is where the test looks")
				}
				runtime.GC()
				for deadline := time.Now().Add(time.Minute); !zero(secret.bytes()); runtime.Gosched() {
					if time.Now().After(deadline) {
						t.Fatalf("the collector leaves % x", secret.bytes())
					}
				}
			}
		})
	}
}

// A place is memory to which the collector sees no pointer.
type place struct {
	address uintptr
	size    int
}

func (p *place) bytes() []byte {
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&p.address)), p.size)
}

// unreferenced returns the secrets of an object in a group that is full.
//
//go:noinline
func unreferenced(secrets func() [][]byte) (places []place) {
	for i := range 3 * groupSize {
		for _, secret := range secrets() {
			if i == groupSize {
				places = append(places, place{uintptr(unsafe.Pointer(&secret[0])), len(secret)})
			}
		}
	}
	return places
}
