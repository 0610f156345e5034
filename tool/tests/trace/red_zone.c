// SPDX-License-Identifier: BSD-2-Clause
// Functions with the names of libcrypto's, and a caller that keeps data below its stack pointer
// while it jumps to them (System V ABI, AMD64 supplement, 3.2.2).
#ifdef LIBRARY

// Both leave all registers but AX alone, and return to the caller of their caller.
__asm__(".text\n"
        ".globl EVP_EncryptUpdate\n"
        ".type EVP_EncryptUpdate, @function\n"
        "EVP_EncryptUpdate:\n"
        "    .byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n" // a NOP
        "    movq -8(%rsp), %rax\n"
        "    ret\n"
        ".size EVP_EncryptUpdate, . - EVP_EncryptUpdate\n"
        ".globl EVP_DecryptUpdate\n"
        ".type EVP_DecryptUpdate, @function\n"
        "EVP_DecryptUpdate:\n"
        "    nop\n"
        "    movq -8(%rsp), %rax\n"
        "    ret\n"
        ".size EVP_DecryptUpdate, . - EVP_DecryptUpdate\n");

#else
#    include <stdio.h>

long through_encrypt(void *ctx, void *out, int *written, const void *in, int len, long data);
long through_decrypt(void *ctx, void *out, int *written, const void *in, int len, long data);

__asm__(".text\n"
        "through_encrypt:\n"
        "    movq %r9, -8(%rsp)\n"
        "    jmp EVP_EncryptUpdate@PLT\n"
        "through_decrypt:\n"
        "    movq %r9, -8(%rsp)\n"
        "    jmp EVP_DecryptUpdate@PLT\n");

int main(void)
{
    enum { CALLS = 100000 };
    static char data[16];
    void *ctx[2] = {data, data};
    int lost = 0, written = 0;
    for (long i = 0; i < CALLS; i++) {
        lost += through_encrypt(ctx, data, &written, data, 16, i) != i;
        lost += through_decrypt(ctx, data, &written, data, 16, ~i) != ~i;
    }
    printf("%d of %d calls lost their data\n", lost, 2 * CALLS);
    return 0;
}
#endif
