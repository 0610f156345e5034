// SPDX-License-Identifier: BSD-2-Clause

package tenrounds

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/subtle"
	"encoding/binary"
)

const (
	gcmSIVNonceSize = 12
	gcmSIVTagSize   = 16
	gcmSIVMaxLength = 1 << 36
)

type gcmSIV struct {
	message sealer
}

// A sealer seals and opens a message, whose arguments have been checked. The output and the
// ciphertext end with the tag.
type sealer interface {
	seal(out, nonce, plaintext, aad []byte)
	open(out, nonce, ciphertext, aad []byte) bool
}

// NewGCMSIV creates an AEAD for AES-GCM-SIV (RFC 8452), which stays secure if a nonce is used
// twice: this reveals only whether two messages are equal. The key has 16 or 32 bytes, the nonce 12
// bytes, and the tag 16 bytes. Any number of goroutines may use the AEAD at the same time.
func NewGCMSIV(key []byte) (cipher.AEAD, error) {
	if len(key) != 16 && len(key) != 32 {
		return nil, KeySizeError(len(key))
	}
	if Backend() != "" {
		return &gcmSIV{newCoreGCMSIV(key)}, nil
	}
	generator, err := aes.NewCipher(key)
	return &gcmSIV{&portableGCMSIV{generator, len(key)}}, err
}

func (g *gcmSIV) NonceSize() int { return gcmSIVNonceSize }

func (g *gcmSIV) Overhead() int { return gcmSIVTagSize }

func (g *gcmSIV) Seal(dst, nonce, plaintext, aad []byte) []byte {
	if len(nonce) != gcmSIVNonceSize {
		panic("crypto/cipher: incorrect nonce length given to GCM-SIV")
	}
	if uint64(len(plaintext)) > gcmSIVMaxLength || uint64(len(aad)) > gcmSIVMaxLength {
		panic("crypto/cipher: message too large for GCM-SIV")
	}
	all, out := extend(dst, len(plaintext)+gcmSIVTagSize)
	checkInput(out, plaintext)
	checkAAD(out, aad)
	g.message.seal(out, nonce, plaintext, aad)
	return all
}

func (g *gcmSIV) Open(dst, nonce, ciphertext, aad []byte) ([]byte, error) {
	if len(nonce) != gcmSIVNonceSize {
		panic("crypto/cipher: incorrect nonce length given to GCM-SIV")
	}
	n := len(ciphertext) - gcmSIVTagSize
	if n < 0 || uint64(n) > gcmSIVMaxLength || uint64(len(aad)) > gcmSIVMaxLength {
		return nil, errOpen
	}
	all, out := extend(dst, n)
	checkInput(out, ciphertext)
	checkAAD(out, aad)
	if !g.message.open(out, nonce, ciphertext, aad) {
		return nil, errOpen
	}
	return all, nil
}

// ---- Without the core ---------------------------------------------------------------------------

type portableGCMSIV struct {
	generator cipher.Block
	keySize   int
}

// derive returns the keys for a nonce (section 4): the one of POLYVAL, and that of AES.
func (g *portableGCMSIV) derive(nonce []byte) (hash element, encryption cipher.Block) {
	var keys [48]byte
	for i := 0; i < 16+g.keySize; i += 8 {
		var b [16]byte
		b[0] = byte(i / 8)
		copy(b[4:], nonce)
		g.generator.Encrypt(b[:], b[:])
		copy(keys[i:], b[:8])
	}
	encryption, err := aes.NewCipher(keys[16 : 16+g.keySize])
	if err != nil {
		panic(err) // the length is right
	}
	return load(keys[:]), encryption
}

// tagOf computes the tag of a plaintext (section 4).
func tagOf(hash element, encryption cipher.Block, nonce, plaintext, aad []byte) (tag [16]byte) {
	var lengths [16]byte
	binary.LittleEndian.PutUint64(lengths[:], uint64(len(aad))*8)
	binary.LittleEndian.PutUint64(lengths[8:], uint64(len(plaintext))*8)
	sum := hash.polyval(hash.polyval(hash.polyval(element{}, aad), plaintext), lengths[:])
	binary.LittleEndian.PutUint64(tag[:], sum.low)
	binary.LittleEndian.PutUint64(tag[8:], sum.high)
	subtle.XORBytes(tag[:], tag[:], nonce)
	tag[15] &= 0x7f
	encryption.Encrypt(tag[:], tag[:])
	return tag
}

// xorKeyStream is CTR with a counter in the first 4 bytes, little-endian, that begins at the tag.
func xorKeyStream(encryption cipher.Block, tag [16]byte, out, in []byte) {
	tag[15] |= 0x80
	for len(in) > 0 {
		var keystream [16]byte
		encryption.Encrypt(keystream[:], tag[:])
		n := subtle.XORBytes(out, in, keystream[:])
		out, in = out[n:], in[n:]
		binary.LittleEndian.PutUint32(tag[:], binary.LittleEndian.Uint32(tag[:])+1)
	}
}

func (g *portableGCMSIV) seal(out, nonce, plaintext, aad []byte) {
	hash, encryption := g.derive(nonce)
	tag := tagOf(hash, encryption, nonce, plaintext, aad)
	xorKeyStream(encryption, tag, out, plaintext)
	copy(out[len(plaintext):], tag[:])
}

func (g *portableGCMSIV) open(out, nonce, ciphertext, aad []byte) bool {
	hash, encryption := g.derive(nonce)
	tag := [16]byte(ciphertext[len(out):])
	xorKeyStream(encryption, tag, out, ciphertext[:len(out)])
	expected := tagOf(hash, encryption, nonce, out, aad)
	if subtle.ConstantTimeCompare(tag[:], expected[:]) != 1 {
		clear(out)
		return false
	}
	return true
}

// An element of POLYVAL's field, GF(2) [x] / (x^128 + x^127 + x^126 + x^121 + 1).
type element struct {
	low, high uint64
}

func load(b []byte) element {
	return element{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])}
}

// polyval continues POLYVAL (section 3) with data, padded with zeros to whole blocks.
func (h element) polyval(sum element, data []byte) element {
	for len(data) > 0 {
		var b [16]byte
		data = data[copy(b[:], data):]
		x := load(b[:])
		sum = h.dot(element{sum.low ^ x.low, sum.high ^ x.high})
	}
	return sum
}

// dot returns h * a * x^-128 without a branch or an index that depends on them.
func (h element) dot(a element) (sum element) {
	for i := 0; i < 128; i++ {
		mask := -(a.low & 1)
		a.low, a.high = a.low>>1|a.high<<63, a.high>>1
		sum.low ^= h.low & mask
		sum.high ^= h.high & mask
		odd := -(sum.low & 1)
		sum.low, sum.high = sum.low>>1|sum.high<<63, sum.high>>1^0xe1<<56&odd
	}
	return sum
}
