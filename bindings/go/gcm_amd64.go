// SPDX-License-Identifier: BSD-2-Clause

//go:build !purego

package tenrounds

import (
	"crypto/cipher"
	"errors"
	"math"
	"math/bits"
	"sync/atomic"
	"unsafe"
)

// SP 800-38D, section 5.2.1.1: the longest message.
const gcmMaxLength = (1<<32 - 2) * BlockSize

type gcm struct {
	memory             [gcmKeySize + slack]byte // struct tr_gcm_key
	nonceSize, tagSize int
	noRoom             atomic.Uint32 // calls of room in a row that found none
}

var gcms secrets[gcm]

func (g *gcm) key() unsafe.Pointer { return aligned(&g.memory[0]) }

// NewGCM is for [cipher.NewGCM] and its variants.
func (b *block) NewGCM(nonceSize, tagSize int) (cipher.AEAD, error) {
	if tagSize < 12 || tagSize > BlockSize {
		return nil, errors.New("cipher: incorrect tag size given to GCM")
	}
	if nonceSize <= 0 {
		return nil, errors.New("cipher: the nonce can't have zero length")
	}
	if from := standardFrom(); from != math.MaxInt && tagSize == BlockSize {
		return &split{block: b, nonceSize: nonceSize, from: from}, nil
	}
	return b.newGCM(nonceSize, tagSize), nil
}

func (b *block) newGCM(nonceSize, tagSize int) *gcm {
	g := gcms.new()
	g.nonceSize, g.tagSize = nonceSize, tagSize
	must(gcmSetKey(g.key(), backend(), &b.raw[0], b.size))
	return g
}

func (g *gcm) NonceSize() int { return g.nonceSize }

func (g *gcm) Overhead() int { return g.tagSize }

// checkLengths panics as the GCM of crypto/cipher does. The compiler must inline it.
func (g *gcm) checkLengths(nonce, plaintext []byte) {
	if len(nonce) != g.nonceSize {
		panic("crypto/cipher: incorrect nonce length given to GCM")
	}
	if uint64(len(plaintext)) > gcmMaxLength {
		panic("crypto/cipher: message too large for GCM")
	}
}

// A gcmCall has the arguments of gcmSeal and gcmOpen. As arguments of Go they would be copied once
// more, from registers to the stack.
type gcmCall struct {
	key      unsafe.Pointer
	nonce    *byte
	nonceLen int
	aad      *byte
	aadLen   int
	out, in  *byte
	n        int
	tag      *byte
	tagLen   int
}

func (g *gcm) Seal(dst, nonce, plaintext, aad []byte) []byte {
	g.checkLengths(nonce, plaintext)
	all, out := extend(dst, len(plaintext)+g.tagSize)
	checkInput(out, plaintext)
	checkAAD(out, aad)
	must(gcmSeal(&gcmCall{
		g.key(), &nonce[0], len(nonce), pointer(aad), len(aad), &out[0], pointer(plaintext),
		len(plaintext), &out[len(plaintext)], g.tagSize,
	}))
	return all
}

func (g *gcm) Open(dst, nonce, ciphertext, aad []byte) ([]byte, error) {
	g.checkLengths(nonce, nil)
	n := len(ciphertext) - g.tagSize
	if n < 0 || uint64(n) > gcmMaxLength {
		return nil, errOpen
	}
	all, out := extend(dst, n)
	checkInput(out, ciphertext)
	checkAAD(out, aad)
	if !verified(gcmOpen(&gcmCall{
		g.key(), &nonce[0], len(nonce), pointer(aad), len(aad), pointer(out), &ciphertext[0], n,
		&ciphertext[n], g.tagSize,
	})) {
		return nil, errOpen
	}
	return all, nil
}

// gcmRoom is the room on the stack with which Seal and Open do not let it grow: the frame of
// calls_amd64.s, what Go keeps below the limit, and the frame of Seal. A stack that has grown for
// them has 25 bytes more at least. If gcmRoom were larger, some of these would not have it.
const gcmRoom = 12416 + 1024

// room tells whether to seal or open here, for the overlay, which can also use Go's own code. To let
// the stack grow takes as long as to seal 16 KiB. It pays if the goroutine goes on to use its key, and
// not if each message has a new goroutine, as in Go's server for HTTP/2. So room accepts growth only
// for the 1st, 2nd, 4th, 8th, .. message in a row that would need it.
func (g *gcm) room() bool {
	if stackRoom() >= gcmRoom {
		if g.noRoom.Load() != 0 {
			g.noRoom.Store(0)
		}
		return true
	}
	n := g.noRoom.Add(1)
	return n&(n-1) == 0
}

// hooked is the GCM of the package stdlib. Tests of the standard library want no other methods in
// the result of cipher.NewGCM than those of cipher.AEAD.
type hooked struct {
	*gcm
	standardFrom int
}

// Room tells whether to process a message of n bytes here.
func (h hooked) Room(n int) bool { return n < h.standardFrom && h.room() }

// NewHookedGCM is for the package stdlib, whose caller has checked the sizes.
func (b *block) NewHookedGCM(nonceSize, tagSize int) cipher.AEAD {
	return hooked{b.newGCM(nonceSize, tagSize), standardFrom()}
}

// ---- Many messages ------------------------------------------------------------------------------

var _ = [1]struct{}{}[unsafe.Sizeof(Message{})-messageSize]

func (g *gcm) sealMany(messages []Message) { g.many(messages, 0, g.tagSize) }

func (g *gcm) openMany(messages []Message) { g.many(messages, g.tagSize, 0) }

// many seals or opens messages, at most gcmMaxJobs in a call of the core. A call has one message, or at
// most `piece` bytes: the collector waits for it to end. The data are In without its last `cut` bytes,
// and a result has `added` bytes more than the data: of the two, one is the size of the tag and the
// other is 0. A message that Open refuses for its length ends a call of the core.
func (g *gcm) many(messages []Message, cut, added int) {
	for len(messages) > 0 {
		n, failed := min(len(messages), gcmMaxJobs), uint64(1)
		for i := range messages[:n] {
			m := &messages[i]
			length := len(m.In) - cut
			g.checkLengths(m.Nonce, nil)
			if uint64(length)|uint64(len(m.AdditionalData)) > manyShort && endsBefore(messages[:i+1], cut) {
				n = i
				break
			}
			all, out := extend(m.Dst, length+added)
			checkInput(out, m.In)
			checkAAD(out, m.AdditionalData)
			m.Out, m.Err = all, nil
		}
		if n > 0 {
			must(gcmMany(g.key(), &messages[0], n, g.tagSize, cut, &failed))
		} else {
			n = 1
		}
		for ; failed != 0; failed &= failed - 1 {
			m := &messages[bits.TrailingZeros64(failed)]
			m.Out, m.Err = nil, errOpen
		}
		messages = messages[n:]
	}
}

// Messages with at most manyShort bytes, and at most as many of AAD, are fewer bytes than a piece in
// each call of the core, however many there are.
const manyShort = piece/(2*gcmMaxJobs) - 1

// endsBefore tells whether a call of the core ends before the last of these messages: because its
// length is wrong, or because all of them have more bytes than a piece.
func endsBefore(messages []Message, cut int) bool {
	size, length := 0, 0
	for i := range messages {
		length = len(messages[i].In) - cut
		size += length + len(messages[i].AdditionalData)
	}
	return uint64(length) > gcmMaxLength && tooLong(cut == 0) || size > piece && len(messages) > 1
}

// tooLong panics as Seal does. Open returns an error instead.
func tooLong(seal bool) bool {
	if seal {
		panic("crypto/cipher: message too large for GCM")
	}
	return true
}
