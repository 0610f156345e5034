/* SPDX-License-Identifier: BSD-2-Clause */
/* The backend armce with EOR3, an instruction of the SHA-3 extension (Armv8.2) that XORs three
 * vectors. The compiler fuses two XORs into an EOR3 if nothing else needs the intermediate result.
 * This happens where a mode XORs the last round key and the data, and where GHASH XORs its
 * products. Key expansion, the serial modes and CCM use armce's functions. In a serial mode, the
 * dependency chain has no XORs to fuse (simd/serial.h). */
#include "dispatch/backend.h"
#include "portable/ghash.h"
#if TR_ARM64
#    define TR_VECTOR "arm/vec_neon_eor3.h"
#    include "arm/arm.h"
#    include "simd/table.h"

const struct tr_backend tr_armce_eor3 = {
    .name = "armce-eor3",
    .features = TR_ARMCE_FEATURES | TR_FEATURE_CLMUL | TR_FEATURE_SHA3,
    .weaker = &tr_armce,
    .expand_key = tr_armce_expand_key,
    .expand_encryption_key = tr_armce_expand_encryption_key,
    .ghash_key = V_NAME(ghash_key),
    .ghash_key_refused = tr_portable_ghash_powers,
    .whole = {TR_GCM_WHOLE},
    .bulk = {TR_PARALLEL_OPS, TR_GCM_OPS, TR_XTS_OPS, TR_OCB_OPS, TR_GCM_SIV_OPS},
};
#endif
