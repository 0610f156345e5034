// SPDX-License-Identifier: BSD-2-Clause

package tenrounds

import "errors"

var errOpen = errors.New("cipher: message authentication failed")

// checkInput panics as the AEADs of crypto/cipher do. The compiler must inline it, and checkAAD.
func checkInput(out, in []byte) {
	if shifted(out, in) {
		panic("crypto/cipher: invalid buffer overlap of output and input")
	}
}

func checkAAD(out, aad []byte) {
	if overlap(out, aad) {
		panic("crypto/cipher: invalid buffer overlap of output and additional data")
	}
}
