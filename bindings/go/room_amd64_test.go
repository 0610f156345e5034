// SPDX-License-Identifier: BSD-2-Clause

//go:build !purego

package tenrounds

import (
	"crypto/cipher"
	"testing"
)

// TestRoom calls room without room on the stack and with it.
func TestRoom(t *testing.T) {
	var g gcm
	for range 2 {
		for n := 1; n <= 1000; n++ {
			if got, want := withoutRoom(&g), n&(n-1) == 0; got != want {
				t.Fatalf("call %d without room: %v, not %v", n, got, want)
			}
		}
		if grow(); !g.room() {
			t.Error("no room on a large stack")
		}
	}
	if h := (hooked{&g, 100}); !h.Room(99) || h.Room(100) {
		t.Error("Room does not leave messages of 100 bytes to Go's own code")
	}
}

// withoutRoom calls room when recursion has used most of the stack.
func withoutRoom(g *gcm) bool {
	var frame [512]byte
	if stackRoom() < gcmRoom {
		return g.room()
	}
	frame[0] = 1
	return withoutRoom(g) && frame[0] == 1
}

// TestRoomIsExact seals at all depths of small stacks. With room, the stack does not grow. When it
// has grown, it has room: else Go's own code would do the next messages of the goroutine, too.
func TestRoomIsExact(t *testing.T) {
	if Backend() == "" {
		t.Skip("this package uses crypto/aes")
	}
	h := newBlock(make([]byte, 16)).(*block).NewHookedGCM(12, 16).(overlaid)
	seen := map[[2]bool]int{}
	for _, prepare := range []func() int{func() int { return 0 }, grow16} {
		for depth := range 100 {
			done := make(chan [2]bool)
			go func() { // a new stack
				prepare()
				done <- sealAt(t, h, depth)
			}()
			seen[<-done]++
		}
	}
	if seen[[2]bool{true, false}] == 0 || seen[[2]bool{false, true}] == 0 {
		t.Errorf("room, growth: %v", seen)
	}
}

// What the overlay calls.
type overlaid interface {
	cipher.AEAD
	Room(n int) bool
}

// sealAt seals at a depth of recursion. It returns whether there is room, and whether the stack
// grows.
//
//go:noinline
func sealAt(t *testing.T, h overlaid, depth int) [2]bool {
	if depth > 0 {
		return sealAt(t, h, depth-1)
	}
	calls, nonce := &h.(hooked).noRoom, make([]byte, 12)
	calls.Store(2) // room accepts no growth for a third call in a row
	before, room := stackRoom(), h.Room(0)
	h.Seal(nil, nonce, nil, nil)
	grows := stackRoom() != before
	calls.Store(2)
	if grows && !h.Room(0) {
		t.Errorf("a stack with %d bytes of room grew to %d, which are not enough", before, stackRoom())
	}
	return [2]bool{room, grows}
}

//go:noinline
func grow16() (sum int) {
	var large [9 << 10]byte
	for i := range large {
		sum += int(large[i]) + i
	}
	return sum
}

//go:noinline
func grow() (sum int) {
	var large [64 << 10]byte
	for i := range large {
		large[i] = byte(i)
	}
	for _, b := range large {
		sum += int(b)
	}
	return sum
}
