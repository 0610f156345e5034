/* SPDX-License-Identifier: BSD-2-Clause */
/* VAES on 512-bit registers. Key expansion and the serial modes gain nothing from wider registers,
 * so they use aesni's functions. */
#include "dispatch/backend.h"
#include "portable/ghash.h"
#if TR_X86
#    define TR_VECTOR "x86/vec512.h"
#    include "simd/cfb_any.h"
#    include "simd/cleanse.h"
#    include "simd/ctr.h"
#    include "simd/gcm/gcm.h"
#    include "simd/gcm/siv.h"
#    include "simd/multibuffer/multibuffer.h"
#    include "simd/ocb.h"
#    include "simd/xts/unit.h"
#    include "simd/xts/xts.h"
#    include "x86/gcm_key.h"
#    include "x86/x86.h"

const struct tr_backend tr_vaes512 = {
    .name = "vaes512",
    .features = TR_VAES512_FEATURES | TR_FEATURE_CLMUL | TR_FEATURE_VCLMUL,
    .weaker = &tr_vaes256,
    .expand_key = tr_aesni_expand_key,
    .expand_encryption_key = tr_aesni_expand_encryption_key,
    .multibuffer = TR_MULTIBUFFER,
    .cleanse = wide_cleanse,
    .ghash_key = ghash_key,
    .ghash_key_refused = tr_portable_ghash_powers,
    .gcm_key = gcm_key,
    .few = TR_FEW_OF(vaes256),
    .cts_decrypt = tr_vaes256_few_cts_decrypt,
    .cfb_decrypt = TR_CFB_DECRYPT_ANY,
    .xts_unit = TR_XTS_UNIT,
    .bulk = {TR_PARALLEL_OPS, TR_GCM_OPS, TR_XTS_OPS, TR_OCB_OPS, TR_GCM_SIV_OPS},
};

const struct tr_backend tr_vaes512_noclmul = {
    .name = "vaes512-noclmul",
    .features = TR_VAES512_FEATURES,
    .weaker = &tr_vaes256_noclmul,
    .expand_key = tr_aesni_expand_key,
    .expand_encryption_key = tr_aesni_expand_encryption_key,
    .multibuffer = TR_MULTIBUFFER,
    .cleanse = wide_cleanse,
    .few = TR_FEW_OF(vaes256),
    .cts_decrypt = tr_vaes256_few_cts_decrypt,
    .cfb_decrypt = TR_CFB_DECRYPT_ANY,
    .bulk = {TR_PARALLEL_OPS, TR_OCB_OPS, TR_CTR_LE_OPS},
};
#endif
