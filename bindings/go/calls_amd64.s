// SPDX-License-Identifier: BSD-2-Clause

// Calls from Go into the core, on the goroutine's stack. Go's assembler makes the stack large
// enough for the frame before it enters a function, and the core uses the frame as its stack.

//go:build !purego

#include "textflag.h"
#include "core_amd64.h" // If this file is missing, run "make go" in the repository of tenrounds.

// tenrounds.h: calls need up to 12 KiB of stack, selection up to 16 KiB. Besides: up to 6 arguments
// on the stack, and alignment.
#define FRAME 12416

// C expects SP to be a multiple of 16 and keeps BX. Arguments must be loaded before.
#define TO_CORE_STACK(frame) \
	MOVQ SP, BX             \
	ADDQ $(frame-64), SP    \
	ANDQ $~15, SP

#define CALL_CORE(function) \
	CALL function \
	MOVQ BX, SP

// func stackRoom() int
TEXT ·stackRoom(SB), NOSPLIT, $0-8
	MOVQ TLS, CX
	MOVQ 0(CX)(TLS*1), CX // the goroutine's g, which begins with the stack's lowest address
	MOVQ SP, AX
	SUBQ (CX), AX
	MOVQ AX, ret+0(FP)
	RET

// func coreSelect(mask *byte, name **byte) unsafe.Pointer
TEXT ·coreSelect(SB), 0, $16512-24
	MOVQ mask+0(FP), DI
	MOVQ name+8(FP), SI
	TO_CORE_STACK(16512)
	CALL_CORE(tr_go_select)
	MOVQ AX, ret+16(FP)
	RET

// Sets a key of type T: func(key, backend unsafe.Pointer, raw *byte, n int) int32
#define SET_KEY(name, function)            \
TEXT name(SB), 0, $FRAME-36                \
	MOVQ key+0(FP), DI                 \
	MOVQ backend+8(FP), SI             \
	MOVQ raw+16(FP), DX                \
	MOVQ n+24(FP), CX                  \
	TO_CORE_STACK(FRAME)               \
	CALL_CORE(function)                \
	MOVL AX, ret+32(FP)                \
	RET

SET_KEY(·aesSetKey, tr_aes_set_key)
SET_KEY(·gcmSetKey, tr_gcm_set_key)
SET_KEY(·xtsSetKey, tr_xts_set_key)
SET_KEY(·gcmSIVSetKey, tr_gcm_siv_set_key)

// func(key unsafe.Pointer, out, in *byte, n int) int32
#define ECB(name, function)                \
TEXT name(SB), 0, $FRAME-36                \
	MOVQ key+0(FP), DI                 \
	MOVQ out+8(FP), SI                 \
	MOVQ in+16(FP), DX                 \
	MOVQ n+24(FP), CX                  \
	TO_CORE_STACK(FRAME)               \
	CALL_CORE(function)                \
	MOVL AX, ret+32(FP)                \
	RET

ECB(·ecbEncrypt, tr_ecb_encrypt)
ECB(·ecbDecrypt, tr_ecb_decrypt)

// func(key unsafe.Pointer, iv *[16]byte, out, in *byte, n int) int32
#define WITH_IV(name, function)            \
TEXT name(SB), 0, $FRAME-44                \
	MOVQ key+0(FP), DI                 \
	MOVQ iv+8(FP), SI                  \
	MOVQ out+16(FP), DX                \
	MOVQ in+24(FP), CX                 \
	MOVQ n+32(FP), R8                  \
	TO_CORE_STACK(FRAME)               \
	CALL_CORE(function)                \
	MOVL AX, ret+40(FP)                \
	RET

WITH_IV(·cbcEncrypt, tr_cbc_encrypt)
WITH_IV(·cbcDecrypt, tr_cbc_decrypt)
WITH_IV(·xtsEncryptPiece, tr_xts_encrypt)
WITH_IV(·xtsDecryptPiece, tr_xts_decrypt)

// func(key unsafe.Pointer, sector uint64, out, in *byte, n int) int32
//
// One 16-byte store writes the tweak, into this function's frame, above the core's stack. Two 8-byte
// stores in Go, and a copy of both, would be a store-forwarding stall.
#define XTS(name, function)                \
TEXT name(SB), 0, $FRAME-44                \
	MOVQ key+0(FP), DI                 \
	MOVQ sector+8(FP), X0              \
	MOVQ out+16(FP), DX                \
	MOVQ in+24(FP), CX                 \
	MOVQ n+32(FP), R8                  \
	TO_CORE_STACK(FRAME)               \
	MOVOU X0, 0(SP)                    \
	MOVQ SP, SI                        \
	CALL_CORE(function)                \
	MOVL AX, ret+40(FP)                \
	RET

XTS(·xtsEncrypt, tr_xts_encrypt)
XTS(·xtsDecrypt, tr_xts_decrypt)

// func ctrCrypt(key unsafe.Pointer, counter, keystream *[16]byte, used *uint32,
//	out, in *byte, n int) int32
TEXT ·ctrCrypt(SB), 0, $12416-60
	MOVQ key+0(FP), DI
	MOVQ counter+8(FP), SI
	MOVQ keystream+16(FP), DX
	MOVQ used+24(FP), CX
	MOVQ out+32(FP), R8
	MOVQ in+40(FP), R9
	MOVQ n+48(FP), R10
	TO_CORE_STACK(FRAME)
	MOVQ R10, 0(SP)
	CALL_CORE(tr_ctr)
	MOVL AX, ret+56(FP)
	RET

// func(call *gcmCall) int32
#define GCM(name, function)                \
TEXT name(SB), 0, $FRAME-12                \
	MOVQ call+0(FP), AX                \
	MOVQ 0(AX), DI                     \
	MOVQ 8(AX), SI                     \
	MOVQ 16(AX), DX                    \
	MOVQ 24(AX), CX                    \
	MOVQ 32(AX), R8                    \
	MOVQ 40(AX), R9                    \
	MOVQ 48(AX), R10                   \
	MOVQ 56(AX), R11                   \
	MOVQ 64(AX), R12                   \
	MOVQ 72(AX), R13                   \
	TO_CORE_STACK(FRAME)               \
	MOVQ R10, 0(SP)                    \
	MOVQ R11, 8(SP)                    \
	MOVQ R12, 16(SP)                   \
	MOVQ R13, 24(SP)                   \
	CALL_CORE(function)                \
	MOVL AX, ret+8(FP)                 \
	RET

GCM(·gcmSeal, tr_gcm_seal)
GCM(·gcmOpen, tr_gcm_open)

// tenrounds.h: calls for many messages need up to 64 KiB of stack. Besides: the 5632 bytes of the
// jobs in tr_go_many, what it saves, and alignment.
#define MANY_FRAME 71552

// func gcmMany(key unsafe.Pointer, messages *Message, n, tagLen, cut int, failed *uint64) int32
TEXT ·gcmMany(SB), 0, $71552-52
	MOVQ key+0(FP), DI
	MOVQ messages+8(FP), SI
	MOVQ n+16(FP), DX
	MOVQ tagLen+24(FP), CX
	MOVQ cut+32(FP), R8
	MOVQ failed+40(FP), R9
	TO_CORE_STACK(MANY_FRAME)
	CALL_CORE(tr_go_many)
	MOVL AX, ret+48(FP)
	RET

// func(key unsafe.Pointer, nonce, aad *byte, aadLen int, out, in *byte, n int, tag *byte) int32
#define GCM_SIV(name, function)            \
TEXT name(SB), 0, $FRAME-68                \
	MOVQ key+0(FP), DI                 \
	MOVQ nonce+8(FP), SI               \
	MOVQ aad+16(FP), DX                \
	MOVQ aadLen+24(FP), CX             \
	MOVQ out+32(FP), R8                \
	MOVQ in+40(FP), R9                 \
	MOVQ n+48(FP), R10                 \
	MOVQ tag+56(FP), R11               \
	TO_CORE_STACK(FRAME)               \
	MOVQ R10, 0(SP)                    \
	MOVQ R11, 8(SP)                    \
	CALL_CORE(function)                \
	MOVL AX, ret+64(FP)                \
	RET

GCM_SIV(·gcmSIVSeal, tr_gcm_siv_seal)
GCM_SIV(·gcmSIVOpen, tr_gcm_siv_open)
