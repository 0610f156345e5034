/* SPDX-License-Identifier: BSD-2-Clause */
/* VAES on 256-bit registers. Key expansion and the serial modes gain nothing from wider registers,
 * so they use aesni's functions. */
#include "dispatch/backend.h"
#include "portable/ghash.h"
#if TR_X86
#    define TR_VECTOR "x86/vec256.h"
#    include "simd/cleanse.h"
#    include "simd/table.h"
#    include "x86/x86.h"

TR_TARGET void V_NAME(cleanse)(uint8_t *memory, size_t len)
{
    cleanse_vectors(memory, len);
}

const struct tr_backend tr_vaes256 = {
    .name = "vaes256",
    .features = TR_VAES256_FEATURES | TR_FEATURE_CLMUL | TR_FEATURE_VCLMUL,
    .weaker = &tr_aesni,
    TR_X86_KEYS,
    .cleanse = V_NAME(cleanse),
    TR_X86_HASH_KEYS,
    .whole = {TR_BLOCKS_CALLS, TR_GCM_WHOLE},
    .bulk = {TR_PARALLEL_OPS, TR_GCM_OPS, TR_XTS_OPS, TR_OCB_OPS, TR_GCM_SIV_OPS},
};

const struct tr_backend tr_vaes256_noclmul = {
    .name = "vaes256-noclmul",
    .features = TR_VAES256_FEATURES,
    .weaker = &tr_aesni_noclmul,
    TR_X86_KEYS,
    .cleanse = V_NAME(cleanse),
    .whole = {TR_BLOCKS_CALLS},
    .bulk = {TR_PARALLEL_OPS, TR_OCB_OPS, TR_CTR_LE_OPS},
};
#endif
