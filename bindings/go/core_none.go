// SPDX-License-Identifier: BSD-2-Clause

//go:build !amd64 || purego

package tenrounds

import (
	"crypto/cipher"
	"unsafe"
)

// Without the core, nothing calls the other functions.
func selected() (unsafe.Pointer, string) { return nil, "" }

func newBlock([]byte) cipher.Block { panic("tenrounds: no core") }

func newCoreXTS([]byte) dataUnit { panic("tenrounds: no core") }

func newCoreGCMSIV([]byte) sealer { panic("tenrounds: no core") }
