// SPDX-License-Identifier: BSD-2-Clause

package tenrounds

import "errors"

var errOpen = errors.New("cipher: message authentication failed")

// checkOverlap panics as the AEADs of crypto/cipher do.
func checkOverlap(out, in, aad []byte) {
	if shifted(out, in) {
		panic("crypto/cipher: invalid buffer overlap of output and input")
	}
	if overlap(out, aad) {
		panic("crypto/cipher: invalid buffer overlap of output and additional data")
	}
}
