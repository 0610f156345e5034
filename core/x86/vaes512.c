/* SPDX-License-Identifier: BSD-2-Clause */
/* VAES on 512-bit registers. Keys and the serial modes, which gain nothing from width, are aesni's.
 */
#include "../backend.h"
#include "../util.h"
#if TR_X86
#    include "vec512.h"

#    include "parallel.h"

#    include "ghash.h"

#    if TR_ENV_LARGE_STACK
#        include "gcm_long.h"
#    endif

#    include "x86.h"

#    include "gcm.h"

#    include "gcm_siv.h"

#    include "lanes.h"

#    include "ocb.h"

#    include "xts.h"

const struct tr_backend tr_vaes512 = {
    .name = "vaes512",
    .features = TR_VAES512_FEATURES | TR_FEATURE_CLMUL | TR_FEATURE_VCLMUL,
    .weaker = &tr_vaes256,
    .expand_key = tr_aesni_expand_key,
    .lanes = TR_LANES,
    .ghash_key = ghash_key,
    .gcm_key = gcm_key,
    .few = TR_FEW_OF(vaes256),
    .bulk = {TR_PARALLEL_OPS, TR_GCM_OPS, TR_XTS_OPS, TR_OCB_OPS, TR_GCM_SIV_OPS},
};

const struct tr_backend tr_vaes512_noclmul = {
    .name = "vaes512-noclmul",
    .features = TR_VAES512_FEATURES,
    .weaker = &tr_vaes256_noclmul,
    .expand_key = tr_aesni_expand_key,
    .lanes = TR_LANES,
    .few = TR_FEW_OF(vaes256),
    .bulk = {TR_PARALLEL_OPS, TR_OCB_OPS, TR_CTR_LE_OPS},
};
#endif
