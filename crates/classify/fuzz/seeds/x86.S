/* SPDX-License-Identifier: BSD-2-Clause */
/* The file that fuzzing the readers of ELF files begins with, for x86-64 and i386: instructions of
   all kinds, the beginning of the S-box, and unwind tables in the forms that compilers write. */

#ifdef __x86_64__
#define BP 6
#define SP 7
#define WORD 8
#define PUSH push %rbp
#define POP pop %rbp
#else
#define BP 5
#define SP 4
#define WORD 4
#define PUSH push %ebp
#define POP pop %ebp
#endif
/* DW_OP_breg of the stack's pointer. */
#define AT_SP 0x70 + SP

	.text
	.globl narrow
	.type narrow, @function
narrow:
	.cfi_startproc
	PUSH
	.cfi_adjust_cfa_offset WORD
	.cfi_rel_offset BP, 0
	aesenc %xmm1, %xmm0
	aesenclast %xmm2, %xmm0
	aeskeygenassist $1, %xmm0, %xmm1
	pclmulqdq $17, %xmm0, %xmm1
	sha256rnds2 %xmm1, %xmm2
	POP
	.cfi_adjust_cfa_offset -WORD
	.cfi_restore BP
	ret
	.cfi_endproc
	.size narrow, .-narrow

	.globl wide
	.type wide, @function
wide:
	.cfi_startproc
	.cfi_remember_state
	.cfi_undefined BP
	vaesenc %ymm1, %ymm0, %ymm0
	vaesenclast %zmm1, %zmm0, %zmm0
	vpclmulqdq $0, %zmm0, %zmm1, %zmm2
	.cfi_restore_state
	/* DW_CFA_def_cfa_expression */
	.cfi_escape 0x0f, 0x02, AT_SP, WORD
	ret
	.cfi_endproc
	.size wide, .-wide

/* A function without a symbol, and the frame of a signal. */
	.cfi_startproc
	.cfi_signal_frame
	.cfi_lsda 0x1b, table
	/* DW_CFA_expression, DW_CFA_val_expression */
	.cfi_escape 0x10, BP, 0x02, AT_SP, 0x10
	.cfi_escape 0x16, 0x03, 0x02, AT_SP, 0x10
	nop
	aesdec %xmm1, %xmm0
	aesdeclast %xmm1, %xmm0
	ret
	.cfi_endproc

	.section .rodata
	.type table, @object
table:
	.byte 0x63, 0x7c, 0x77, 0x7b, 0xf2, 0x6b, 0x6f, 0xc5, 0x30, 0x01, 0x67, 0x2b, 0xfe, 0xd7, 0xab, 0x76
	.byte 0xca, 0x82, 0xc9, 0x7d, 0xfa, 0x59, 0x47, 0xf0, 0xad, 0xd4, 0xa2, 0xaf, 0x9c, 0xa4, 0x72, 0xc0
	.size table, .-table
	.asciz "AES for Intel AES-NI, CRYPTOGAMS by"
	.asciz "OpenSSL 3.0.13 30 Jan 2024"
