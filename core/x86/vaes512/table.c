/* SPDX-License-Identifier: BSD-2-Clause */
/* VAES on 512-bit registers. Key expansion and the serial modes gain nothing from wider registers,
 * so they use aesni's functions. */
#include "dispatch/backend.h"
#include "portable/ghash.h"
#if TR_X86
#    define TR_VECTOR "x86/vec512.h"
#    include "simd/cleanse.h"
#    include "simd/table.h"
#    include "x86/x86.h"

TR_TARGET void V_NAME(cleanse)(uint8_t *memory, size_t len)
{
    cleanse_vectors(memory, len);
}

const struct tr_backend tr_vaes512 = {
    .name = "vaes512",
    .features = TR_VAES512_FEATURES | TR_FEATURE_CLMUL | TR_FEATURE_VCLMUL,
    .weaker = &tr_vaes256,
    TR_X86_KEYS,
    .cleanse = V_NAME(cleanse),
    TR_X86_HASH_KEYS,
    .whole = {TR_BLOCKS_CALLS, TR_CFB_CALLS, TR_XTS_CALLS, TR_GCM_WHOLE, TR_MANY_CALLS},
    .bulk = {TR_PARALLEL_OPS, TR_GCM_OPS, TR_XTS_OPS, TR_OCB_OPS, TR_GCM_SIV_OPS},
};

const struct tr_backend tr_vaes512_noclmul = {
    .name = "vaes512-noclmul",
    .features = TR_VAES512_FEATURES,
    .weaker = &tr_vaes256_noclmul,
    TR_X86_KEYS,
    .cleanse = V_NAME(cleanse),
    .whole = {TR_BLOCKS_CALLS, TR_CFB_CALLS},
    .bulk = {TR_PARALLEL_OPS, TR_OCB_OPS, TR_CTR_LE_OPS},
};
#endif
