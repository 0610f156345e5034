/* SPDX-License-Identifier: BSD-2-Clause */
/* AES-NI on 128-bit registers, and the key expansion of all x86 backends. */
#include "../backend.h"
#include "../util.h"
#if TR_X86
#    include "vec128.h"

#    include "parallel.h"

#    include "ghash.h"

#    if TR_ENV_LARGE_STACK
#        include "gcm_long.h"
#    endif

#    include "x86.h"

#    include "gcm.h"

#    include "gcm_siv.h"
#    include "serial.h"

#    include "ccm.h"
#    include "expand.h"

#    include "lanes.h"

#    include "ocb.h"

#    include "xts.h"

TR_TARGET void tr_aesni_expand_key(struct tr_aes_key *key, const uint8_t *raw)
{
    expand_key(key, raw);
}

TR_TARGET void tr_aesni_hash_key(struct tr_aes_key *key, const uint8_t *raw, uint8_t h[TR_BLOCK])
{
    expand_and_encrypt(key, raw, h);
}

const struct tr_backend tr_aesni = {
    .name = "aesni",
    .features = TR_AESNI_FEATURES | TR_FEATURE_CLMUL,
    .weaker = &tr_bitslice,
    .expand_key = tr_aesni_expand_key,
    .lanes = TR_LANES,
    .ghash_key = ghash_key,
    .gcm_key = gcm_key,
    .few = TR_FEW_OF(aesni),
    .bulk = {TR_PARALLEL_OPS, TR_SERIAL_OPS, TR_CCM_OPS, TR_GCM_OPS, TR_XTS_OPS, TR_OCB_OPS,
             TR_GCM_SIV_OPS},
};

const struct tr_backend tr_aesni_noclmul = {
    .name = "aesni-noclmul",
    .features = TR_AESNI_FEATURES,
    .weaker = &tr_vperm, /* for GHASH */
    .expand_key = tr_aesni_expand_key,
    .lanes = TR_LANES,
    .few = TR_FEW_OF(aesni),
    .bulk = {TR_PARALLEL_OPS, TR_SERIAL_OPS, TR_CCM_OPS, TR_OCB_OPS, TR_CTR_LE_OPS},
};
#endif
