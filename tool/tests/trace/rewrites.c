/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes a function into memory and calls it until it is killed. On SIGUSR1, writes another one to
 * the same addresses, whose instructions have the same lengths: additions, then AES. For tests of
 * `tenrounds trace`. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Few, so that samples hit each of them soon. */
enum { INSTRUCTIONS = 20, TURNS = 100000 };
static volatile sig_atomic_t asked;

static void handle(int signal)
{
    (void)signal;
    asked = 1;
}

/* A loop of instructions of five bytes, which counts down its argument. */
static void write_code(unsigned char *at, const unsigned char *instruction,
                       const unsigned char *last)
{
    static const unsigned char end[] = {0xff, 0xcf,                       /* dec %edi */
                                        0x75, 256 - 5 * INSTRUCTIONS - 4, /* jne */
                                        0xc3};                            /* ret */
    for (int i = 0; i < INSTRUCTIONS; i++, at += 5)
        memcpy(at, i % 10 == 9 ? last : instruction, 5);
    memcpy(at, end, sizeof(end));
}

int main(void)
{
    static const unsigned char add[5] = {0x05, 1, 0, 0, 0};
    static const unsigned char aesenc[5] = {0x66, 0x0f, 0x38, 0xdc, 0xc1};
    static const unsigned char aesenclast[5] = {0x66, 0x0f, 0x38, 0xdd, 0xc1};
    unsigned char *code =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code == MAP_FAILED)
        return 2;
    alarm(600);
    signal(SIGUSR1, handle);
    write_code(code, add, add);
    puts("ready");
    fflush(stdout);
    for (int is_aes = 0;;) {
        ((void (*)(int))(void *)code)(TURNS);
        if (asked && !is_aes) {
            is_aes = 1;
            write_code(code, aesenc, aesenclast);
        }
    }
}
