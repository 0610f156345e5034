// SPDX-License-Identifier: BSD-2-Clause

// Package tenrounds is AES at the speed that the processor can reach, in the place of crypto/aes.
//
// [NewCipher] has the signature and the results of [aes.NewCipher]. The functions NewGCM, NewCTR,
// NewCBCEncrypter and NewCBCDecrypter of [crypto/cipher] find the faster modes on its result.
// [NewXTS] and [NewGCMSIV] are modes that the standard library lacks.
//
// The package needs no cgo. It contains the core of tenrounds, in C with AVX-512, VAES and AES-NI,
// as assembly that Go's assembler and linker take (internal/generate). Elsewhere than on amd64, on
// processors without AES-NI, with the build tag purego, and in FIPS 140-3 mode, it is crypto/aes:
// then all results are the same, and [Backend] returns "".
//
// The environment variable TENROUNDS_MASK removes features of the processor, such as
// "noavx512,novaes". The first use of the package runs known-answer tests.
package tenrounds

import (
	"crypto/aes"
	"crypto/cipher"
	"unsafe"
)

// What programs use of crypto/aes besides NewCipher. So they can change the import alone:
//
//	import aes "example.org/tenrounds/bindings/go"
const BlockSize = aes.BlockSize

// KeySizeError is [aes.KeySizeError].
type KeySizeError = aes.KeySizeError

// NewCipher creates a [cipher.Block]. The key has 16, 24 or 32 bytes and selects AES-128, AES-192
// or AES-256; another length gives a [KeySizeError].
//
// Any number of goroutines may use the Block and what [cipher.NewGCM] makes of it at the same time.
// [cipher.NewGCMWithRandomNonce] accepts only the Block of crypto/aes.
func NewCipher(key []byte) (cipher.Block, error) {
	if Backend() == "" {
		return aes.NewCipher(key)
	}
	switch len(key) {
	case 16, 24, 32:
		return newBlock(key), nil
	}
	return nil, KeySizeError(len(key))
}

// Backend returns the name of the core's implementation that this process uses: "vaes512",
// "vaes256" or "aesni". It returns "" if the package uses crypto/aes instead.
func Backend() string {
	_, name := selected()
	return name
}

// extend appends n bytes to a slice, without an allocation if its capacity suffices. It returns the
// longer slice, and the new bytes. The compiler must inline it, and what checks overlap.
func extend(b []byte, n int) (all, added []byte) {
	total := len(b) + n
	if total > cap(b) {
		b = moved(b, total)
	}
	return b[:total], b[len(b):total]
}

// moved returns a copy of a slice with a capacity.
func moved(b []byte, capacity int) []byte {
	larger := make([]byte, len(b), capacity)
	copy(larger, b)
	return larger
}

func address(b []byte) uintptr {
	return uintptr(unsafe.Pointer(unsafe.SliceData(b)))
}

// overlap reports whether two slices share memory.
func overlap(a, b []byte) bool {
	distance := address(b) - address(a)
	return distance < uintptr(len(a)) && len(b) > 0 || -distance < uintptr(len(b)) && len(a) > 0
}

// shifted reports whether two slices share memory but begin at different addresses, which
// crypto/cipher forbids for output and input.
func shifted(out, in []byte) bool {
	return address(out) != address(in) && overlap(out, in)
}
