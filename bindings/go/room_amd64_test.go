// SPDX-License-Identifier: BSD-2-Clause

//go:build !purego

package tenrounds

import "testing"

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
