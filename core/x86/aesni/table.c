/* SPDX-License-Identifier: BSD-2-Clause */
/* AES-NI on 128-bit registers, and the key expansion of all x86 backends with AES instructions. */
#include "dispatch/backend.h"
#include "portable/ghash.h"
#if TR_X86
#    define TR_VECTOR "x86/vec128.h"
#    include "simd/table.h"
#    include "x86/x86.h"

const struct tr_backend tr_aesni = {
    .name = "aesni",
    .features = TR_AESNI_FEATURES | TR_FEATURE_CLMUL,
    .weaker = &tr_bitslice,
    TR_X86_KEYS,
    TR_X86_HASH_KEYS,
    .whole = {TR_BLOCKS_CALLS, TR_GCM_WHOLE},
    .bulk = {TR_PARALLEL_OPS, TR_SERIAL_OPS, TR_CCM_OPS, TR_GCM_OPS, TR_XTS_OPS, TR_OCB_OPS,
             TR_GCM_SIV_OPS},
};

const struct tr_backend tr_aesni_noclmul = {
    .name = "aesni-noclmul",
    .features = TR_AESNI_FEATURES,
    .weaker = &tr_vperm, /* for GHASH */
    TR_X86_KEYS,
    .whole = {TR_BLOCKS_CALLS},
    .bulk = {TR_PARALLEL_OPS, TR_SERIAL_OPS, TR_CCM_OPS, TR_OCB_OPS, TR_CTR_LE_OPS},
};
#endif
