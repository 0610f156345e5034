// SPDX-License-Identifier: BSD-2-Clause

package tenrounds

import (
	"bytes"
	"crypto/cipher"
	"encoding/binary"
	"encoding/hex"
	"os"
	"strings"
	"testing"
)

// A vector is a line of tests/vectors/wycheproof.
type vector struct {
	id                             string
	valid                          bool
	key, iv, aad, message, ct, tag []byte
}

// vectors reads a file. A release of the module does not contain the files.
func vectors(t *testing.T, name string) (all []vector) {
	text, err := os.ReadFile("../../tests/vectors/wycheproof/" + name)
	if err != nil && os.Getenv("TENROUNDS_MUST_RUN") != "1" {
		t.Skip("the vectors are in the repository of tenrounds: ", err)
	} else if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(text), "\n") {
		fields := strings.Fields(line)
		if len(fields) != 8 || fields[0] == "#" {
			continue
		}
		v := vector{id: fields[0], valid: fields[1] == "valid"}
		for i, field := range []*[]byte{&v.key, &v.iv, &v.aad, &v.message, &v.ct, &v.tag} {
			if text := fields[i+2]; text != "-" {
				if *field, err = hex.DecodeString(text); err != nil {
					t.Fatal(name, v.id, err)
				}
			}
		}
		all = append(all, v)
	}
	if len(all) < 50 {
		t.Fatalf("%s has only %d vectors", name, len(all))
	}
	return all
}

// checkAEAD seals and opens a vector.
func checkAEAD(t *testing.T, v vector, aead cipher.AEAD) {
	sealed := append(bytes.Clone(v.ct), v.tag...)
	opened, err := aead.Open(nil, v.iv, sealed, v.aad)
	if (err == nil) != v.valid || v.valid && !bytes.Equal(opened, v.message) {
		t.Errorf("%s: Open returns %x, %v", v.id, opened, err)
	}
	if got := aead.Seal(nil, v.iv, v.message, v.aad); v.valid != bytes.Equal(got, sealed) {
		t.Errorf("%s: Seal returns %x", v.id, got)
	}
}

func TestWycheproofGCM(t *testing.T) {
	macs := vectors(t, "aes_gmac.txt")
	for i := range macs { // the message of GMAC is the AAD of GCM
		macs[i].aad, macs[i].message = macs[i].message, nil
	}
	for _, v := range append(vectors(t, "aes_gcm.txt"), macs...) {
		block, err := NewCipher(v.key)
		if err != nil {
			t.Fatal(v.id, err)
		}
		aead, err := cipher.NewGCMWithNonceSize(block, len(v.iv))
		if len(v.iv) == 0 {
			if err == nil {
				t.Errorf("%s: an empty nonce is no error", v.id)
			}
			continue
		}
		if err != nil {
			t.Fatal(v.id, err)
		}
		checkAEAD(t, v, aead)
	}
}

func TestWycheproofGCMSIV(t *testing.T) {
	for _, v := range vectors(t, "aes_gcm_siv.txt") {
		for name, aead := range gcmSIVs(t, v.key) {
			t.Run(name, func(t *testing.T) { checkAEAD(t, v, aead) })
		}
	}
}

func TestWycheproofXTS(t *testing.T) {
	for _, v := range vectors(t, "aes_xts.txt") {
		var tweak [16]byte
		copy(tweak[:], v.iv)
		if len(v.key) == 48 || binary.LittleEndian.Uint64(tweak[8:]) != 0 || !v.valid {
			continue // AES-192 and longer numbers of sectors are not in the interface
		}
		for name, x := range xtss(t, v.key) {
			out := make([]byte, len(v.message))
			x.Encrypt(out, v.message, binary.LittleEndian.Uint64(tweak[:]))
			if !bytes.Equal(out, v.ct) {
				t.Errorf("%s, %s: Encrypt returns %x", v.id, name, out)
			}
			x.Decrypt(out, out, binary.LittleEndian.Uint64(tweak[:]))
			if !bytes.Equal(out, v.message) {
				t.Errorf("%s, %s: Decrypt returns %x", v.id, name, out)
			}
		}
	}
}

func TestWycheproofCBC(t *testing.T) {
	for _, v := range vectors(t, "aes_cbc_pkcs5.txt") {
		if !v.valid {
			continue // wrong padding, which is not part of the mode
		}
		block, err := NewCipher(v.key)
		if err != nil {
			t.Fatal(v.id, err)
		}
		n := 16 - len(v.message)%16
		padded := append(bytes.Clone(v.message), bytes.Repeat([]byte{byte(n)}, n)...)
		out := make([]byte, len(padded))
		cipher.NewCBCEncrypter(block, v.iv).CryptBlocks(out, padded)
		if !bytes.Equal(out, v.ct) {
			t.Errorf("%s: encryption returns %x", v.id, out)
		}
		cipher.NewCBCDecrypter(block, v.iv).CryptBlocks(out, out)
		if !bytes.Equal(out, padded) {
			t.Errorf("%s: decryption returns %x", v.id, out)
		}
	}
}
