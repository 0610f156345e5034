// SPDX-License-Identifier: BSD-2-Clause

//go:build !purego

package tenrounds

import (
	"crypto/fips140"
	"os"
	"runtime"
	"sync"
	"unsafe"
)

// selected returns the core's backend for this processor and its name. The first call runs the
// known-answer tests. In FIPS 140-3 mode, and on processors that the core cannot make faster, the
// backend is nil, and the package uses Go's own code.
var selected = sync.OnceValues(func() (unsafe.Pointer, string) {
	if fips140.Enabled() {
		return nil, ""
	}
	mask := append([]byte(os.Getenv("TENROUNDS_MASK")), 0)
	if runtime.GOOS == "darwin" { // before macOS 12.2, signals destroy the mask registers of AVX-512
		mask = append([]byte("noavx512,"), mask...)
	}
	var name *byte
	backend := coreSelect(&mask[0], &name)
	if backend == nil {
		return nil, ""
	}
	return backend, string(unsafe.Slice(name, length(name)))
})

// length is C's strlen.
func length(s *byte) (n int) {
	for *(*byte)(unsafe.Add(unsafe.Pointer(s), n)) != 0 {
		n++
	}
	return n
}

// backend returns the core's backend, for calls that set a key. Functions call the core directly:
// arguments of a call through a variable would escape to the heap, and with them the caller's key.
func backend() unsafe.Pointer {
	b, _ := selected()
	return b
}

// verified reports whether the tag matched. If not, the core has written zeros.
func verified(status int32) bool {
	const errTag = 9 // TR_ERR_TAG
	if status != errTag {
		must(status)
	}
	return status != errTag
}

// must panics if a call failed whose arguments have been checked.
func must(status int32) {
	if status != 0 {
		panic("tenrounds: the core refused a call")
	}
}

// piece is how many bytes a call of the core processes at most, except for a single message of GCM or
// GCM-SIV: the collector waits for a call to end.
const piece = 1 << 20

// inPieces calls a function for each piece of a message. Inlined, it would slow down short messages.
//
//go:noinline
func inPieces(crypt func(dst, src []byte), dst, src []byte) {
	for len(src) > 0 {
		n := min(piece, len(src))
		crypt(dst[:n], src[:n])
		dst, src = dst[n:], src[n:]
	}
}

var empty [16]byte

// pointer returns where the bytes are: a readable address even if there are none.
func pointer(b []byte) *byte {
	if len(b) == 0 {
		return &empty[0]
	}
	return &b[0]
}

func stackRoom() int

//go:noescape
func coreSelect(mask *byte, name **byte) unsafe.Pointer

//go:noescape
func aesSetKey(key, backend unsafe.Pointer, raw *byte, n int) int32

//go:noescape
func gcmSetKey(key, backend unsafe.Pointer, raw *byte, n int) int32

//go:noescape
func xtsSetKey(key, backend unsafe.Pointer, raw *byte, n int) int32

//go:noescape
func gcmSIVSetKey(key, backend unsafe.Pointer, raw *byte, n int) int32

//go:noescape
func ecbEncrypt(key unsafe.Pointer, out, in *byte, n int) int32

//go:noescape
func ecbDecrypt(key unsafe.Pointer, out, in *byte, n int) int32

//go:noescape
func cbcEncrypt(key unsafe.Pointer, iv *[16]byte, out, in *byte, n int) int32

//go:noescape
func cbcDecrypt(key unsafe.Pointer, iv *[16]byte, out, in *byte, n int) int32

//go:noescape
func xtsEncrypt(key unsafe.Pointer, sector uint64, out, in *byte, n int) int32

//go:noescape
func xtsDecrypt(key unsafe.Pointer, sector uint64, out, in *byte, n int) int32

//go:noescape
func xtsEncryptPiece(key unsafe.Pointer, number *[16]byte, out, in *byte, n int) int32

//go:noescape
func xtsDecryptPiece(key unsafe.Pointer, number *[16]byte, out, in *byte, n int) int32

//go:noescape
func ctrCrypt(key unsafe.Pointer, counter, keystream *[16]byte, used *uint32, out, in *byte, n int) int32

//go:noescape
func gcmSeal(call *gcmCall) int32

//go:noescape
func gcmOpen(call *gcmCall) int32

//go:noescape
func gcmMany(key unsafe.Pointer, messages *Message, n, tagLen, cut int, failed *uint64) int32

//go:noescape
func gcmSIVSeal(key unsafe.Pointer, nonce, aad *byte, aadLen int, out, in *byte, n int, tag *byte) int32

//go:noescape
func gcmSIVOpen(key unsafe.Pointer, nonce, aad *byte, aadLen int, out, in *byte, n int, tag *byte) int32
