/* SPDX-License-Identifier: BSD-2-Clause */
/* The file that fuzzing the readers of ELF files begins with, for 64-bit Arm. */

	.arch armv8.2-a+crypto
	.text
	.globl cipher
	.type cipher, %function
cipher:
	.cfi_startproc
	aese v0.16b, v1.16b
	aesmc v0.16b, v0.16b
	aese v0.16b, v2.16b
	eor v0.16b, v0.16b, v3.16b
	pmull v0.1q, v1.1d, v2.1d
	sha256h q0, q1, v2.4s
	ret
	.cfi_endproc
	.size cipher, .-cipher
