// SPDX-License-Identifier: BSD-2-Clause

package tenrounds

import "crypto/cipher"

// A Message is an element of [SealMany] and [OpenMany].
type Message struct {
	Dst, Nonce, In, AdditionalData []byte // the arguments of Seal or Open

	Out []byte // the result
	Err error  // of Open
}

// SealMany does for each message what aead.Seal does, and sets Out. It is faster if at least 8
// messages that follow each other have one length, at most 2048 bytes. This needs a processor with
// AVX-512 and a GCM of this package with the usual sizes of nonce and tag.
//
// The memory that a message writes (Dst, up to its capacity) must not overlap what another message
// reads or writes. Messages may share inputs. A call that panics may have sealed some messages.
func SealMany(aead cipher.AEAD, messages []Message) {
	if g, is := aead.(manyMessages); is {
		g.sealMany(messages)
		return
	}
	for i := range messages {
		m := &messages[i]
		m.Out, m.Err = aead.Seal(m.Dst, m.Nonce, m.In, m.AdditionalData), nil
	}
}

// OpenMany does for each message what aead.Open does, and sets Out and Err. It returns the first
// error. The rules of [SealMany] apply.
func OpenMany(aead cipher.AEAD, messages []Message) error {
	if g, is := aead.(manyMessages); is {
		g.openMany(messages)
	} else {
		for i := range messages {
			m := &messages[i]
			m.Out, m.Err = aead.Open(m.Dst, m.Nonce, m.In, m.AdditionalData)
		}
	}
	for i := range messages {
		if err := messages[i].Err; err != nil {
			return err
		}
	}
	return nil
}

// An AEAD that takes many messages at a time.
type manyMessages interface {
	sealMany(messages []Message)
	openMany(messages []Message)
}
