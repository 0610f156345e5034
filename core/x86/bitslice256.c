/* SPDX-License-Identifier: BSD-2-Clause */
/* Bitsliced AES on 256-bit registers: 16 blocks at once. */
#include "../backend.h"
#if TR_WIDE_BITSLICE
#    include <immintrin.h>
#    define TR_TARGET __attribute__((target("avx2")))
#    define VBLOCKS   2
#    define FEWEST    16
#    define FOR_FEWER tr_vperm256
typedef uint64_t V __attribute__((vector_size(32)));
#    define v_lanes(p)          ((V)_mm256_broadcastsi128_si256(_mm_load_si128((const __m128i *)(p))))
#    define v_shuffle(x, index) ((V)_mm256_shuffle_epi8((__m256i)(x), (__m256i)(index)))

#    define v_lanes_unaligned(p)                                                                   \
        ((V)_mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(p))))
typedef V x64;
#    define GHASH_LANES 2u

#    include "bitslice.h"
#    include "vperm_ghash.h"

/* Fewer blocks are done before the powers of groups would be. */
#    define GHASH_LONG 64u

TR_TARGET void tr_bitslice256_ghash(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                                    size_t blocks, void *state)
{
    if (blocks >= GHASH_LONG) {
        size_t done = ghash_groups(state, in, blocks);
        in += done * TR_BLOCK;
        blocks -= done;
    }
    if (blocks != 0)
        tr_vperm.bulk[TR_OP_GHASH](key, out, in, blocks, state);
}

const struct tr_backend tr_bitslice256 = {
    .name = "bitslice256",
    .features = TR_FEATURE_SSSE3 | TR_FEATURE_AVX | TR_FEATURE_AVX2,
    .weaker = &tr_vperm256,
    .expand_key = tr_vperm_expand_key,
    .bulk = {TR_BITSLICE_OPS, TR_WIDE_GHASH_OPS},
};
#endif
