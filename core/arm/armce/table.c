/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * AES with the Cryptographic Extension of Armv8-A: AESE, AESMC, AESD, AESIMC and PMULL. The code
 * uses the same bodies as the x86 backends. The file simd/rounds.h explains why the steps of a
 * round have another order here. As on x86, decryption uses the round keys of the equivalent
 * inverse cipher (FIPS-197 section 5.3.5), which AESD and AESIMC need.
 *
 * Neoverse N1 starts one fused pair of AESE and AESMC a cycle. In the parallel modes, the bound is
 * therefore 10 cycles a block of AES-128. A block takes 20 cycles in serial modes, and at least
 * 14.25 in GCM (docs/tuning/arm.md). The figures come from documents, because no Arm processor was
 * available to measure.
 */
#include "dispatch/backend.h"
#include "portable/ghash.h"
#if TR_ARM64
#    define TR_VECTOR "arm/vec_neon.h"
#    include "simd/table.h"

#    define FEATURES (TR_FEATURE_NEON | TR_FEATURE_AES)

const struct tr_backend tr_armce = {
    .name = "armce",
    .features = FEATURES | TR_FEATURE_CLMUL,
    .weaker = &tr_bitslice,
    .expand_key = V_NAME(expand_key),
    .expand_encryption_key = V_NAME(expand_encryption_key),
    .ghash_key = V_NAME(ghash_key),
    .ghash_key_refused = tr_portable_ghash_powers,
    .whole = {TR_GCM_WHOLE},
    .bulk = {TR_PARALLEL_OPS, TR_SERIAL_OPS, TR_CCM_OPS, TR_GCM_OPS, TR_XTS_OPS, TR_OCB_OPS,
             TR_GCM_SIV_OPS},
};

const struct tr_backend tr_armce_noclmul = {
    .name = "armce-noclmul",
    .features = FEATURES,
    .weaker = &tr_vperm, /* for GHASH */
    .expand_key = V_NAME(expand_key),
    .expand_encryption_key = V_NAME(expand_encryption_key),
    .bulk = {TR_PARALLEL_OPS, TR_SERIAL_OPS, TR_CCM_OPS, TR_OCB_OPS, TR_CTR_LE_OPS},
};
#endif
