/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The limit probe's loops. Each loop is one asm statement, so that the compiler can neither remove,
 * reorder nor spill anything.
 *
 * Registers 0 to 11 hold the states, register 15 the round key. Processors of today start at most
 * two rounds a cycle and finish them 3 cycles (Intel) or 4 cycles (AMD) later. Eight states would
 * suffice; twelve leave the scheduler room. One turn of a loop has 48 rounds. The two instructions
 * of the loop counter add no time, because they run on other ports. The latency chain also has 48
 * rounds a turn, all on one state.
 *
 * A turn of a hash loop processes twelve registers full of blocks. It has a line of twelve AES
 * instructions for each round, and three lines of multiplications spread between them. The
 * multiplications have constant inputs, and no instruction depends on their results in registers 12
 * and 13. The scheduler holds several lines, so lines of both kinds overlap.
 *
 * PXOR or VPXOR, an integer operation, writes the round key and the states. If a floating-point
 * operation had last written such a register or its source, some processors would add a cycle to
 * every dependent round. PXOR and the loop are in one asm statement, so nothing else writes the
 * registers between them. The chain thus has its true latency whatever the caller did before.
 *
 * On 64-bit Arm a round is a pair of AESE and AESMC, which processors fuse when AESMC follows AESE
 * on the same register. AESE adds the round key before the substitution, so a round takes the same
 * work as on x86 (core/simd/rounds.h). The last round of a block has no AESMC; a loop counts it as
 * a full round, because a fused pair takes the time of AESE alone.
 */
#include "limit.h"

#define ROUNDS_PER_TURN 48u /* four lines of twelve */

#define TARGET(features) __attribute__((target(features), noinline))

/* The loops for one value of enum tr_limit. If an entry's features are 0, this architecture lacks
 * its loop. */
struct probe {
    void (*run)(uint64_t turns);
    tr_features features;
    unsigned width; /* bytes per register */
    tr_features hash_features;
    void (*hash[4])(uint64_t turns); /* with 0, 10, 12 and 14 rounds */
};

/* Applies X(register number) to each of the twelve states. */
#define TWELVE(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define TURN(X)   TWELVE(X) TWELVE(X) TWELVE(X) TWELVE(X)

#if defined(__x86_64__)

#    define CLEAR_XMM(n) "pxor %%xmm" #    n ", %%xmm" #    n "\n\t"
#    define CLEAR_VEX(n) "vpxor %%xmm" #    n ", %%xmm" #    n ", %%xmm" #    n "\n\t"
#    define ROUND_XMM(n) "aesenc %%xmm15, %%xmm" #    n "\n\t"
#    define ROUND_YMM(n) "vaesenc %%ymm15, %%ymm" #    n ", %%ymm" #    n "\n\t"
#    define ROUND_ZMM(n) "vaesenc %%zmm15, %%zmm" #    n ", %%zmm" #    n "\n\t"
#    define ROUND_ONE(n) "aesenc %%xmm15, %%xmm0\n\t"

/* A whole loop: clears the registers and repeats the rounds. At the end it clears the registers'
 * upper halves, which would otherwise slow down the caller's SSE code. */
#    define LOOP(clear_key, CLEAR, ROUND, leave)                                                   \
        __asm__ volatile(clear_key TWELVE(CLEAR) ".p2align 5\n1:\n\t" /* one turn */               \
                         TURN(ROUND) "sub $1, %0\n\tjnz 1b\n\t" leave                              \
                         : "+r"(turns)                                                             \
                         :                                                                         \
                         : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", \
                           "xmm9", "xmm10", "xmm11", "xmm15", "cc")

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

/* Twelve multiplications of register 15, which is all zeros, by itself, alternating between two
 * result registers. */
#    define MUL(r)     "vpclmulqdq $0, %%" r "15, %%" r "15, %%" r "12\n\t"
#    define MUL2(r)    "vpclmulqdq $0, %%" r "15, %%" r "15, %%" r "13\n\t"
#    define MUL4(r)    MUL(r) MUL2(r) MUL(r) MUL2(r)
#    define MUL_12(r)  MUL4(r) MUL4(r) MUL4(r)
#    define AES_X(n)   "vaesenc %%xmm15, %%xmm" #    n ", %%xmm" #    n "\n\t"
#    define LINES_0(R) ""
#    define LINES_2(R) TWELVE(R) TWELVE(R)
#    define LINES_3(R) LINES_2(R) TWELVE(R)
#    define LINES_4(R) LINES_2(R) LINES_2(R)
#    define LINES_5(R) LINES_3(R) LINES_2(R)

/* One hash loop; first, second and third are the numbers of round lines before each of the three
 * lines of multiplications. */
#    define HASH_LOOP(name, features, first, second, third, R, r)                                  \
        TARGET(features) static void name(uint64_t turns)                                          \
        {                                                                                          \
            __asm__ volatile("vpxor %%xmm15, %%xmm15, %%xmm15\n\t" TWELVE(                         \
                                 CLEAR_VEX) ".p2align 5\n1:\n\t" LINES_##first(R) MUL_12(r)        \
                                 LINES_##second(R) MUL_12(r) LINES_##third(R)                      \
                                     MUL_12(r) "sub $1, %0\n\tjnz 1b\n\tvzeroupper\n\t"            \
                             : "+r"(turns)                                                         \
                             :                                                                     \
                             : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",     \
                               "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm15", "cc"); \
        }
#    define HASH_LOOPS(width, features, R, r)                                                      \
        HASH_LOOP(hash_0_##width, features, 0, 0, 0, R, r)                                         \
        HASH_LOOP(hash_10_##width, features, 3, 3, 4, R, r)                                        \
        HASH_LOOP(hash_12_##width, features, 4, 4, 4, R, r)                                        \
        HASH_LOOP(hash_14_##width, features, 5, 5, 4, R, r)

HASH_LOOPS(xmm, "aes,pclmul,avx", AES_X, "xmm")
HASH_LOOPS(ymm, "vaes,vpclmulqdq,avx2", ROUND_YMM, "ymm")
HASH_LOOPS(zmm, "vaes,vpclmulqdq,avx512f", ROUND_ZMM, "zmm")

#    define AES_CLMUL (TR_FEATURE_AES | TR_FEATURE_CLMUL | TR_FEATURE_AVX)
#    define WIDE      (TR_FEATURE_VAES | TR_FEATURE_VCLMUL)

static const struct probe probes[TR_LIMIT_COUNT] = {
    [TR_LIMIT_XMM] = {run_xmm,
                      TR_FEATURE_AES,
                      16,
                      AES_CLMUL,
                      {hash_0_xmm, hash_10_xmm, hash_12_xmm, hash_14_xmm}},
    [TR_LIMIT_YMM] = {run_ymm,
                      TR_FEATURE_AES | TR_FEATURE_VAES | TR_FEATURE_AVX2,
                      32,
                      AES_CLMUL | WIDE | TR_FEATURE_AVX2,
                      {hash_0_ymm, hash_10_ymm, hash_12_ymm, hash_14_ymm}},
    [TR_LIMIT_ZMM] = {run_zmm,
                      TR_FEATURE_AES | TR_FEATURE_VAES | TR_FEATURE_AVX512,
                      64,
                      AES_CLMUL | WIDE | TR_FEATURE_AVX512,
                      {hash_0_zmm, hash_10_zmm, hash_12_zmm, hash_14_zmm}},
    [TR_LIMIT_CHAIN] = {run_chain, TR_FEATURE_AES, 16, 0, {0}},
};

#elif defined(__aarch64__)

/* gcc and clang spell the attribute differently; gcc up to 13 has AESE only within "crypto". */
#    if defined(__clang__)
#        define TARGET_AES TARGET("aes")
#    else
#        define TARGET_AES TARGET("+crypto")
#    endif

#    define CLEAR_Q(n)     "movi v" #    n ".2d, #0\n\t"
#    define ROUND_Q(n)     "aese v" #    n ".16b, v15.16b\n\taesmc v" #    n ".16b, v" #    n ".16b\n\t"
#    define ROUND_ONE_Q(n) "aese v0.16b, v15.16b\n\taesmc v0.16b, v0.16b\n\t"

#    define LOOP_Q(ROUND)                                                                          \
        __asm__ volatile("movi v15.2d, #0\n\t" TWELVE(CLEAR_Q) ".p2align 5\n1:\n\t" TURN(          \
                             ROUND) "subs %0, %0, #1\n\tb.ne 1b\n\t"                               \
                         : "+r"(turns)                                                             \
                         :                                                                         \
                         : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10",      \
                           "v11", "v15", "cc")

TARGET_AES static void run_q(uint64_t turns)
{
    LOOP_Q(ROUND_Q);
}

TARGET_AES static void run_chain(uint64_t turns)
{
    LOOP_Q(ROUND_ONE_Q);
}

/* Twelve multiplications, alternating between two result registers and between PMULL and PMULL2. */
#    define MUL4_Q                                                                                 \
        "pmull v12.1q, v15.1d, v15.1d\n\tpmull2 v13.1q, v15.2d, v15.2d\n\t"                        \
        "pmull v12.1q, v15.1d, v15.1d\n\tpmull2 v13.1q, v15.2d, v15.2d\n\t"
#    define MUL_12_Q  MUL4_Q MUL4_Q MUL4_Q
#    define LINES_Q_0 ""
#    define LINES_Q_2 TWELVE(ROUND_Q) TWELVE(ROUND_Q)
#    define LINES_Q_3 LINES_Q_2 TWELVE(ROUND_Q)
#    define LINES_Q_4 LINES_Q_2 LINES_Q_2
#    define LINES_Q_5 LINES_Q_3 LINES_Q_2

/* One hash loop; first, second and third as in HASH_LOOP above. */
#    define HASH_LOOP_Q(name, first, second, third)                                                \
        TARGET_AES static void name(uint64_t turns)                                                \
        {                                                                                          \
            __asm__ volatile("movi v15.2d, #0\n\t" TWELVE(                                         \
                                 CLEAR_Q) ".p2align 5\n1:\n\t" LINES_Q_##first MUL_12_Q            \
                                 LINES_Q_##second MUL_12_Q LINES_Q_##third MUL_12_Q                \
                             "subs %0, %0, #1\n\tb.ne 1b\n\t"                                      \
                             : "+r"(turns)                                                         \
                             :                                                                     \
                             : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10",  \
                               "v11", "v12", "v13", "v15", "cc");                                  \
        }
HASH_LOOP_Q(hash_0_q, 0, 0, 0)
HASH_LOOP_Q(hash_10_q, 3, 3, 4)
HASH_LOOP_Q(hash_12_q, 4, 4, 4)
HASH_LOOP_Q(hash_14_q, 5, 5, 4)

#    define ARM_AES (TR_FEATURE_NEON | TR_FEATURE_AES)

/* Arm's registers have 128 bits, so the wider loops do not exist. */
static const struct probe probes[TR_LIMIT_COUNT] = {
    [TR_LIMIT_XMM] = {run_q,
                      ARM_AES,
                      16,
                      ARM_AES | TR_FEATURE_CLMUL,
                      {hash_0_q, hash_10_q, hash_12_q, hash_14_q}},
    [TR_LIMIT_CHAIN] = {run_chain, ARM_AES, 16, 0, {0}},
};

#endif

#if defined(__x86_64__) || defined(__aarch64__)

tr_features tr_limit_features(enum tr_limit limit)
{
    return limit < TR_LIMIT_COUNT ? probes[limit].features : 0;
}

uint64_t tr_limit_run(enum tr_limit limit, uint64_t rounds)
{
    if (limit >= TR_LIMIT_COUNT || probes[limit].run == 0 || rounds == 0)
        return 0;
    uint64_t turns = (rounds - 1) / ROUNDS_PER_TURN + 1;
    probes[limit].run(turns);
    return turns * ROUNDS_PER_TURN * probes[limit].width;
}

#    define TURN_REGISTERS 12u

tr_features tr_limit_hash_features(enum tr_limit width)
{
    return width < TR_LIMIT_COUNT ? probes[width].hash_features : 0;
}

uint64_t tr_limit_hash(enum tr_limit width, unsigned rounds, uint64_t blocks)
{
    unsigned which = rounds == 0 ? 0 : rounds / 2 - 4;
    if (width >= TR_LIMIT_COUNT || blocks == 0 || rounds % 2 != 0 || (rounds != 0 && rounds < 10) ||
        which > 3 || probes[width].hash[which] == 0)
        return 0;
    uint64_t turn = (uint64_t)TURN_REGISTERS * probes[width].width;
    uint64_t turns = (blocks * TR_BLOCK - 1) / turn + 1;
    probes[width].hash[which](turns);
    return turns * turn;
}

#else /* no probe for this architecture: the limit is reported as none */

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

tr_features tr_limit_hash_features(enum tr_limit width)
{
    (void)width;
    return 0;
}

uint64_t tr_limit_hash(enum tr_limit width, unsigned rounds, uint64_t blocks)
{
    (void)width, (void)rounds, (void)blocks;
    return 0;
}

#endif
