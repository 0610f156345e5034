// SPDX-License-Identifier: BSD-2-Clause

//go:build !purego

package tenrounds

import (
	"runtime"
	"sync"
	"unsafe"
)

// Keys are arrays in the objects that use them. Some bytes more make sure that a part of the array
// is aligned for the core.
const slack = 15

// aligned returns where a key begins in its array.
func aligned(memory *byte) unsafe.Pointer {
	p := unsafe.Pointer(memory)
	return unsafe.Add(p, -uintptr(p)&slack)
}

// secrets allocates objects of type T that contain a key, and cleanses them when the collector has
// found them unused. To set a finalizer takes as long as to set a key, so several objects share one:
// they stay until none of them is in use.
type secrets[T any] struct {
	pool sync.Pool // of groups that are not full
}

const groupSize = 8

type group[T any] struct {
	objects [groupSize]T
	used    int
}

func (s *secrets[T]) new() *T {
	g, _ := s.pool.Get().(*group[T])
	if g == nil {
		g = new(group[T])
		runtime.SetFinalizer(g, func(g *group[T]) { clear(g.objects[:]) })
	}
	object := &g.objects[g.used]
	g.used++
	if g.used < groupSize {
		s.pool.Put(g)
	}
	return object
}
