/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernels' loops (kernels.h): a table of operations, and one loop, which the assembler unrolls
 * according to the table.
 *
 * A turn of a loop processes a group of vectors. Registers 14 and 15 are the sources of all
 * operations, and the others only receive results, so that no operation waits. Loads cycle through
 * 16 cache lines, and stores through 16 others, 2048 bytes away. This excludes 4K aliasing.
 */
#include "kernels.h"

#if defined(__x86_64__)

#    define TARGET(features) __attribute__((target(features), noinline))

/*
 * The numbers of operations in a group, counted in the core's source code (kernels.h names the
 * files). B is the number of blocks in a vector, and L is LONG_GROUP (parallel.h). W is 1 if a
 * vector has 512 bits, N is 1 if it has 128. The columns:
 *
 *   vectors   vectors in the group
 *   skip      rounds that a table replaces
 *   keys      how a round key is loaded: BROADCAST, or PLAIN for a whole vector
 *   xor       XORs of two registers
 *   xorl      XORs of a register and memory
 *   xor3      XORs of three registers; below 512 bits, each takes two instructions
 *   xor3l     the same with one operand in memory
 *   add, shuffle (of bytes or halves), shift, clmul, load, store
 *   store8    stores of 8 bytes
 *   int4      groups of four operations on general registers
 *
 * Each round of a group loads its key once. The key before the first round is among the loads.
 */
// clang-format off
#    define KERNELS(X, w, B, L, W, N) \
/* kernel, vectors, skip, keys, xor, xorl, xor3, xor3l, add, */ \
/*     shuffle, shift, clmul, load, store, store8, int4 */ \
/* first_state(), last_key() without an addend */ \
X(w, ECB, L, 0, BROADCAST, 0, L, 0, 0, 0, 0, 0, 0, 1, L, 0, 0) \
/* as ECB, but loads the input twice, once a block lower; v_shift_in() for the first vector */ \
X(w, SHIFTED, L, 0, BROADCAST, 0, 2 * L, 0, 0, 0, 1, 0, 0, 3, L, 0, 0) \
/* v_add_last_byte() and an XOR with the first key; an XOR of data and last key */ \
X(w, CTR_BYTES, 8, 0, BROADCAST, 8, 8, 0, 0, 8, 0, 0, 0, 1, 8, 0, 0) \
/* up to 256 bits: aligned groups. Only vector 0 counts; the others XOR constants in memory */ \
X(w, CTR, 8, 0, BROADCAST, W ? 8 : 1, W ? 8 : 15, 0, 0, W ? 8 : 1, W ? 8 : 1, 0, 0, 1, 8, 0, 0) \
/* ctr_first_time(): an aligned group, and an XOR and a store for the table */ \
X(w, CTR_FILL, 8, 0, BROADCAST, 9, 15, 0, 0, 1, 1, 0, 0, 1, 16, 0, 0) \
/* ctr_next_time(): an XOR with the table instead of two rounds and the counter */ \
X(w, CTR_TABLE, 8, 2, BROADCAST, 0, 16, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0) \
/* gcm_group() with steady_counters() for vectors 1 to 5; gcm_hash(); gcm_reduce() */ \
X(w, GCM, 8, 0, BROADCAST, 20 + B / 2, 13, 10, 0, 3, 13 + B / 2, 0, 34, 17, 8, 0, 0) \
/* count() with delta for vectors 1 to 6 (N: 5); hash_step() for 4 pairs; long_reduce() */ \
X(w, GCM_PREPARED, 8, 0, PLAIN, 10 + N, 14 - N, 12, 0, 2 + N, 20 + N, 0, 26, 21, 8, 0, 0) \
/* as GCM_PREPARED, and a store for the table */ \
X(w, GCM_FILL, 8, 0, PLAIN, 10 + N, 14 - N, 12, 0, 2 + N, 20 + N, 0, 26, 21, 16, 0, 0) \
/* state_from_table() instead of count() and two rounds */ \
X(w, GCM_TABLE, 8, 2, PLAIN, 8, 16, 12, 0, 1, 18, 0, 26, 20, 8, 0, 0) \
/* times_x() per vector, TIMES_X() per group; XORs of the tweak with both keys */ \
X(w, XTS, 8, 0, BROADCAST, 8, 0, 9, 8, 0, 1, 18, 9, 1, 8, 0, 0) \
/* xts_steps() for two blocks: 12 operations, two stores. W: tweaks stay in registers */ \
X(w, XTS_CHAIN, 8, 0, BROADCAST, W ? 8 : 0, W ? 0 : 24, 0, W ? 8 : 0, 0, 0, 0, 0, W ? 9 : 1, 8, \
    8 * B, 12 * B) \
/* times_x64() per vector, and a store of the next tweak */ \
X(w, XTS_RING, 8, 0, BROADCAST, 16, 0, 0, 8, 0, 8, 0, 8, 9, 16, 0, 0) \
/* ocb_group(): the offset twice, the checksum; ocb_groups(): the group's first offset */ \
X(w, OCB, 8, 0, BROADCAST, 21, 16, 8, 0, 0, 2, 0, 0, 11, 8, 0, 0)
// clang-format on

/* This slot's share of `count` operations, which a turn spreads over its slots, at most 10. */
#    define DUE(count, operation)                                                                  \
        ".rept (" count ") * (tr_slot + 1) / %c[slots] - (" count ") * tr_slot / "                 \
        "%c[slots]\n\t" operation "\n\t.set tr_line, tr_line + 64\n\t.endr\n\t"

/* The current cache line: to read, one of 16 at `in`; to write, one of 16 at `in` + 2048. */
#    define FROM "(tr_line & 0x3c0)(%[in])"
#    define TO   "2048 + (tr_line & 0x3c0)(%[in])"

/* Loads a round key and does one round of all vectors. */
#    define ROUND(R, key)                                                                          \
        key "\n\t.rept %c[vectors]\n\tvaesenc %%" R "15, %%" R "14, %%" R "0\n\t.endr\n\t"

/* In this slot, does two more rounds if the key has at least `least` rounds. */
#    define TWO_MORE(R, key, slot, least)                                                          \
        ".if tr_slot == " slot "\n\tcmpl $" least ", %[rounds]\n\tjb 2f\n\t" ROUND(R, key)         \
            ROUND(R, key) "2:\n\t.endif\n\t"

#    define OPERATION(R, op) op " %%" R "15, %%" R "14, %%" R "1"

#    define LOOP(R, MOVE, XOR, XOR3, XOR3L, KEY)                                                   \
        ".set tr_line, 0\n\t.p2align 5\n1:\n\t.set tr_slot, 0\n\t.rept %c[slots]\n\t" ROUND(       \
            R, KEY) DUE("%c[xor]", OPERATION(R, XOR)) DUE("%c[xorl]",                              \
                                                          XOR " " FROM ", %%" R "14, %%" R "2")    \
            DUE("%c[xor3]", XOR3) DUE("%c[xor3l]", XOR3L) DUE("%c[add]", OPERATION(R, "vpaddq"))   \
                DUE("%c[shuffle]", OPERATION(R, "vpshufb")) DUE("%c[shift]",                       \
                                                                "vpsllq $3, %%" R "14, %%" R "3")  \
                    DUE("%c[clmul]", "vpclmulqdq $0, %%" R "15, %%" R "14, %%" R                   \
                                     "4") DUE("%c[load]", MOVE " " FROM ", %%" R "5")              \
                        DUE("%c[store]", MOVE " %%" R "14, " TO) DUE("%c[store8]",                 \
                                                                     "mov %[a], " TO)              \
                            DUE("%c[int4]",                                                        \
                                "add $1, %[a]\n\tadd $1, %[b]\n\tadd $1, %[c]\n\tadd $1, %[d]")    \
                                TWO_MORE(R, KEY, "2", "12")                                        \
                                    TWO_MORE(R, KEY, "5",                                          \
                                             "14") ".set tr_slot, tr_slot + 1\n\t.endr\n\tsub "    \
                                                   "$1, %[turns]\n\tjnz 1b\n\tvzeroupper\n\t"

#    define TWO_XORS(R)        OPERATION(R, "vpxor") "\n\t" OPERATION(R, "vpxor")
#    define TWO_XORSL(R)       OPERATION(R, "vpxor") "\n\tvpxor " FROM ", %%" R "14, %%" R "2"
#    define PLAIN_KEY(R, move) move " (%[in]), %%" R "6"

#    define LOOP_xmm(key)                                                                          \
        LOOP("xmm", "vmovdqu", "vpxor", TWO_XORS("xmm"), TWO_XORSL("xmm"),                         \
             PLAIN_KEY("xmm", "vmovdqu"))
#    define LOOP_ymm(key)                                                                          \
        LOOP("ymm", "vmovdqu", "vpxor", TWO_XORS("ymm"), TWO_XORSL("ymm"), key##_ymm)
#    define LOOP_zmm(key)                                                                          \
        LOOP("zmm", "vmovdqu64", "vpxorq", "vpternlogq $0x96, %%zmm15, %%zmm14, %%zmm7",           \
             "vpternlogq $0x96, " FROM ", %%zmm14, %%zmm8", key##_zmm)
#    define BROADCAST_ymm PLAIN_KEY("ymm", "vbroadcasti128")
#    define BROADCAST_zmm PLAIN_KEY("zmm", "vbroadcasti32x4")
#    define PLAIN_ymm     PLAIN_KEY("ymm", "vmovdqu")
#    define PLAIN_zmm     PLAIN_KEY("zmm", "vmovdqu64")

#    define FEATURES_xmm "aes,pclmul,avx"
#    define FEATURES_ymm "vaes,vpclmulqdq,avx2"
#    define FEATURES_zmm "vaes,vpclmulqdq,avx512f,avx512bw"

/* The function of a kernel at a width. PXOR writes the sources, as in limit.c. */
#    define KERNEL(w, kernel, n_vectors, n_skip, keys, n_xor, n_xorl, n_xor3, n_xor3l, n_add,      \
                   n_shuffle, n_shift, n_clmul, n_load, n_store, n_store8, n_int4)                 \
        TARGET(FEATURES_##w)                                                                       \
        static void kernel_##kernel##_##w(uint8_t *memory, unsigned rounds, uint64_t turns)        \
        {                                                                                          \
            uint64_t a = 0, b = 0, c = 0, d = 0;                                                   \
            __asm__ volatile(                                                                      \
                "vpxor %%xmm14, %%xmm14, %%xmm14\n\t"                                              \
                "vpxor %%xmm15, %%xmm15, %%xmm15\n\t" LOOP_##w(keys)                               \
                : [turns] "+r"(turns), [a] "+r"(a), [b] "+r"(b), [c] "+r"(c), [d] "+r"(d)          \
                : [in] "r"(memory), [rounds] "r"(rounds), [slots] "i"(10 - (n_skip)),              \
                  [vectors] "i"(n_vectors), [xor] "i"(n_xor), [xorl] "i"(n_xorl),                  \
                  [xor3] "i"(n_xor3), [xor3l] "i"(n_xor3l), [add] "i"(n_add),                      \
                  [shuffle] "i"(n_shuffle), [shift] "i"(n_shift), [clmul] "i"(n_clmul),            \
                  [load] "i"(n_load), [store] "i"(n_store), [store8] "i"(n_store8),                \
                  [int4] "i"(n_int4)                                                               \
                : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm14", \
                  "xmm15", "cc", "memory");                                                        \
        }
KERNELS(KERNEL, xmm, 1, 14, 0, 1)
KERNELS(KERNEL, ymm, 2, 14, 0, 0)
KERNELS(KERNEL, zmm, 4, 16, 1, 0)

struct loop {
    void (*run)(uint8_t *memory, unsigned rounds, uint64_t turns);
    unsigned vectors; /* of a turn */
};
#    define ENTRY(w, kernel, vectors, ...) [TR_KERNEL_##kernel] = {kernel_##kernel##_##w, vectors},

static const struct {
    tr_features features;
    unsigned blocks; /* of a vector */
    struct loop loops[TR_KERNEL_COUNT];
} widths[TR_LIMIT_COUNT] = {
    [TR_LIMIT_XMM] = {TR_FEATURE_AES | TR_FEATURE_CLMUL | TR_FEATURE_AVX,
                      1,
                      {KERNELS(ENTRY, xmm, 1, 14, 0, 1)}},
    [TR_LIMIT_YMM] = {TR_FEATURE_AES | TR_FEATURE_VAES | TR_FEATURE_VCLMUL | TR_FEATURE_AVX2,
                      2,
                      {KERNELS(ENTRY, ymm, 2, 14, 0, 0)}},
    [TR_LIMIT_ZMM] = {TR_FEATURE_AES | TR_FEATURE_VAES | TR_FEATURE_VCLMUL | TR_FEATURE_AVX512,
                      4,
                      {KERNELS(ENTRY, zmm, 4, 16, 1, 0)}},
};

tr_features tr_kernel_features(enum tr_limit width)
{
    return width < TR_LIMIT_COUNT ? widths[width].features : 0;
}

uint64_t tr_kernel_run(enum tr_limit width, enum tr_kernel kernel, unsigned rounds, uint64_t blocks)
{
    /* Not initialized: no operation uses a loaded value, and setting it would take time. */
    uint8_t memory[4096] __attribute__((aligned(64)));
    if (width >= TR_LIMIT_COUNT || kernel >= TR_KERNEL_COUNT || widths[width].features == 0 ||
        blocks == 0 || (rounds != 10 && rounds != 12 && rounds != 14))
        return 0;
    const struct loop *loop = &widths[width].loops[kernel];
    uint64_t turn = (uint64_t)loop->vectors * widths[width].blocks;
    uint64_t turns = (blocks - 1) / turn + 1;
    loop->run(memory, rounds, turns);
    return turns * turn * TR_BLOCK;
}

#else /* no loops for this architecture */

tr_features tr_kernel_features(enum tr_limit width)
{
    (void)width;
    return 0;
}

uint64_t tr_kernel_run(enum tr_limit width, enum tr_kernel kernel, unsigned rounds, uint64_t blocks)
{
    (void)width, (void)kernel, (void)rounds, (void)blocks;
    return 0;
}

#endif
