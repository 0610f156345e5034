/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * armce with EOR3, which xors three vectors and is part of the SHA-3 extension (Armv8.2). The compiler makes it
 * of two xors wherever nothing else needs the first: the last round key with what a mode adds to it, the
 * products of GHASH. Keys and the serial modes, where no xor is on the chain, are armce's.
 */
#include "../backend.h"
#include "../util.h"
#if TR_ARM64
#    include "arm.h"

#    define TR_TARGET TR_TARGET_EOR3
#    include "vec_neon.h"

#    include "../x86/parallel.h"

#    include "../x86/ghash.h"

#    include "../x86/gcm.h"

#    include "../x86/gcm_siv.h"

#    include "../x86/ocb.h"

#    include "../x86/xts.h"

const struct tr_backend tr_armce_eor3 = {
    .name = "armce-eor3",
    .features = TR_ARMCE_FEATURES | TR_FEATURE_CLMUL | TR_FEATURE_SHA3,
    .weaker = &tr_armce,
    .expand_key = tr_armce_expand_key,
    .ghash_key = ghash_key,
    .bulk = {TR_PARALLEL_OPS, TR_GCM_OPS, TR_XTS_OPS, TR_OCB_OPS, TR_GCM_SIV_OPS},
};
#endif
