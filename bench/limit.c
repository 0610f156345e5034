/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each loop is one asm statement, so that the compiler can neither remove, reorder nor spill
 * anything.
 *
 * Registers 0 to 11 are the states, register 15 the round key. The known processors start two
 * rounds a cycle at most and finish them three (Intel) or four (AMD) cycles later: eight states
 * would do, twelve leave the scheduler room. A loop of 48 rounds makes the counter's two
 * instructions invisible; they run on other ports. The chain has 48 rounds on one state, hence the
 * same counting.
 *
 * The round key is written by PXOR/VPXOR, an integer operation, and the states are too: where the
 * register was last written by a floating-point operation, some processors take a cycle more for
 * every dependent round.
 */
#include "limit.h"

#define ROUNDS_PER_TURN 48u /* four lines of twelve */

#define TARGET(features) __attribute__((target(features), noinline))

/* X(register number) for the twelve states. */
#define TWELVE(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define TURN(X)   TWELVE(X) TWELVE(X) TWELVE(X) TWELVE(X)

#define CLEAR_XMM(n) "pxor %%xmm" #n ", %%xmm" #n "\n\t"
#define CLEAR_VEX(n) "vpxor %%xmm" #n ", %%xmm" #n ", %%xmm" #n "\n\t"
#define ROUND_XMM(n) "aesenc %%xmm15, %%xmm" #n "\n\t"
#define ROUND_YMM(n) "vaesenc %%ymm15, %%ymm" #n ", %%ymm" #n "\n\t"
#define ROUND_ZMM(n) "vaesenc %%zmm15, %%zmm" #n ", %%zmm" #n "\n\t"
#define ROUND_ONE(n) "aesenc %%xmm15, %%xmm0\n\t"

/* Clears the registers, turns round, and leaves no upper halves behind (SSE code of the caller
 * would pay for them). */
#define LOOP(clear_key, CLEAR, ROUND, leave)                                                       \
    __asm__ volatile(clear_key TWELVE(CLEAR) ".p2align 5\n1:\n\t" /* turn */                       \
                     TURN(ROUND) "sub $1, %0\n\tjnz 1b\n\t" leave                                  \
                     : "+r"(turns)                                                                 \
                     :                                                                             \
                     : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",     \
                       "xmm9", "xmm10", "xmm11", "xmm15", "cc")

#if defined(__x86_64__)

TARGET("aes") static void run_xmm(uint64_t turns)
{
    LOOP("pxor %%xmm15, %%xmm15\n\t", CLEAR_XMM, ROUND_XMM, "");
}

TARGET("aes") static void run_chain(uint64_t turns)
{
    LOOP("pxor %%xmm15, %%xmm15\n\t", CLEAR_XMM, ROUND_ONE, "");
}

TARGET("vaes,avx2") static void run_ymm(uint64_t turns)
{
    LOOP("vpxor %%xmm15, %%xmm15, %%xmm15\n\t", CLEAR_VEX, ROUND_YMM, "vzeroupper\n\t");
}

TARGET("vaes,avx512f") static void run_zmm(uint64_t turns)
{
    LOOP("vpxor %%xmm15, %%xmm15, %%xmm15\n\t", CLEAR_VEX, ROUND_ZMM, "vzeroupper\n\t");
}

static const struct probe {
    void (*run)(uint64_t turns);
    tr_features features;
    unsigned width; /* bytes per register */
} probes[TR_LIMIT_COUNT] = {
    [TR_LIMIT_XMM] = {run_xmm, TR_FEATURE_AES, 16},
    [TR_LIMIT_YMM] = {run_ymm, TR_FEATURE_AES | TR_FEATURE_VAES | TR_FEATURE_AVX2, 32},
    [TR_LIMIT_ZMM] = {run_zmm, TR_FEATURE_AES | TR_FEATURE_VAES | TR_FEATURE_AVX512, 64},
    [TR_LIMIT_CHAIN] = {run_chain, TR_FEATURE_AES, 16},
};

tr_features tr_limit_features(enum tr_limit limit)
{
    return limit < TR_LIMIT_COUNT ? probes[limit].features : 0;
}

uint64_t tr_limit_run(enum tr_limit limit, uint64_t rounds)
{
    if (limit >= TR_LIMIT_COUNT || rounds == 0)
        return 0;
    uint64_t turns = (rounds - 1) / ROUNDS_PER_TURN + 1;
    probes[limit].run(turns);
    return turns * ROUNDS_PER_TURN * probes[limit].width;
}

#else /* no probe for this architecture: the bound is reported as none */

tr_features tr_limit_features(enum tr_limit limit)
{
    (void)limit;
    return 0;
}

uint64_t tr_limit_run(enum tr_limit limit, uint64_t rounds)
{
    (void)limit, (void)rounds;
    return 0;
}

#endif
