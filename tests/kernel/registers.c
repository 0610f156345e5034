/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Tests that a program's vector registers survive while the kernel uses them to encrypt:
 *
 *   registers DRIVER REQUESTS
 *
 * In one assembler statement, the parent fills all 16 registers of 256 bits, makes a request
 * through AF_ALG and stores the registers. It then compares them. Meanwhile a child repeatedly
 * fills its registers, waits and compares them.
 */
#include "afalg.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define DATA  65536
#define LOOKS 10

static uint8_t pattern[16 * 32] __attribute__((aligned(32)));
static uint8_t found[16 * 32] __attribute__((aligned(32)));

/* Expands Y(n), a line of assembler, for each register. */
#define ALL(Y)   Y(0) Y(1) Y(2) Y(3) Y(4) Y(5) Y(6) Y(7) Y(8) Y(9) Y(10) Y(11) Y(12) Y(13) Y(14) Y(15)
#define FILL(n)  "vmovdqa 32*" #n "(%[from]), %%ymm" #n "\n\t"
#define STORE(n) "vmovdqa %%ymm" #n ", 32*" #n "(%[to])\n\t"

#define VECTORS                                                                                    \
    "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",       \
        "xmm11", "xmm12", "xmm13", "xmm14", "xmm15"

/* Fills the registers, calls sendmsg(2) and read(2), and stores the registers. Returns the result
 * of read(2). */
static long request(int op, const struct msghdr *message, void *out, size_t len)
{
    long result = SYS_sendmsg;

    __asm__ volatile(ALL(FILL) "xor %%edx, %%edx\n\t"
                               "syscall\n\t"
                               "mov %[out], %%rsi\n\t"
                               "mov %[len], %%rdx\n\t"
                               "mov %[read], %%eax\n\t"
                               "syscall\n\t" ALL(STORE) "vzeroupper"
                     : "+a"(result), "+S"(message)
                     : "D"((long)op), [from] "r"(pattern), [to] "r"(found), [out] "r"(out),
                       [len] "r"(len), [read] "i"(SYS_read)
                     : "rcx", "rdx", "r11", "memory", VECTORS);
    return result;
}

static void spin(void)
{
    __asm__ volatile(ALL(FILL) "mov $100000, %%ecx\n"
                               "1:\tdec %%ecx\n\t"
                               "jnz 1b\n\t" ALL(STORE) "vzeroupper"
                     :
                     : [from] "r"(pattern), [to] "r"(found)
                     : "rcx", "memory", VECTORS);
}

static int same(void)
{
    return memcmp(pattern, found, sizeof(pattern)) == 0;
}

int main(int argc, char **argv)
{
    static uint8_t in[DATA], out[DATA], key[32] = {1}, iv[16];
    /* Shared with the child, which counts its comparisons of registers in child[1], and the wrong
     * results in child[0]. */
    volatile unsigned *child =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    char control[CMSG_SPACE(4) + CMSG_SPACE(sizeof(struct af_alg_iv) + 16)] = {0};
    struct iovec data = {.iov_base = in, .iov_len = DATA};
    struct msghdr message = {.msg_control = control,
                             .msg_controllen = sizeof(control),
                             .msg_iov = &data,
                             .msg_iovlen = 1};
    struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    int alg, op, requests = argc == 3 ? atoi(argv[2]) : 0, wrong = 0, done = 0;
    pid_t pid;

    if (requests <= 0 || child == (void *)MAP_FAILED)
        return 2;
    for (size_t i = 0; i < sizeof(pattern); i++)
        pattern[i] = (uint8_t)(167 * i + 13);
    alg = alg_open("skcipher", argv[1]);
    if (alg < 0 || alg_set_key(alg, key, sizeof(key)) != 0 || (op = accept(alg, NULL, NULL)) < 0) {
        fprintf(stderr, "registers: cannot open %s\n", argv[1]);
        return 2;
    }
    c->cmsg_level = SOL_ALG;
    c->cmsg_type = ALG_SET_OP;
    c->cmsg_len = CMSG_LEN(4);
    *(uint32_t *)CMSG_DATA(c) = ALG_OP_ENCRYPT;
    c = (struct cmsghdr *)(control + CMSG_SPACE(4));
    c->cmsg_level = SOL_ALG;
    c->cmsg_type = ALG_SET_IV;
    c->cmsg_len = CMSG_LEN(sizeof(struct af_alg_iv) + 16);
    ((struct af_alg_iv *)CMSG_DATA(c))->ivlen = 16;
    memcpy(((struct af_alg_iv *)CMSG_DATA(c))->iv, iv, 16);
    pid = fork();
    if (pid == 0) {
        for (;;) {
            spin();
            child[0] += !same();
            child[1]++;
        }
    }
    /* Makes `requests` requests. Then makes more, up to 100 times as many in all, until the child
     * has compared its registers more than LOOKS times. */
    for (; done < requests || (child[1] <= LOOKS && done < 100 * requests); done++) {
        if (request(op, &message, out, DATA) != DATA) {
            fprintf(stderr, "registers: request %d was not answered\n", done);
            kill(pid, SIGKILL);
            return 2;
        }
        wrong += !same();
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    printf("%d requests, %d of them changed registers; the child %s, %u times with changed "
           "registers\n",
           done, wrong, child[1] > LOOKS ? "compared" : "did not compare often enough", child[0]);
    return wrong != 0 || child[0] != 0 || child[1] <= LOOKS;
}
