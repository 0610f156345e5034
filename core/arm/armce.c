/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The Cryptographic Extension of Armv8-A: AESE and AESMC, PMULL. The body is that of the x86 backends.
 *
 * AESE(x, k) is SubBytes and ShiftRows of x + k; AESENC of x86 is MixColumns of these two, and then its key. The body
 * counts keys from the one side or the other (KEY_FIRST in parallel.h), so that nothing is added: ten rounds are ten
 * AESE, nine AESMC and the one xor of the last key, which takes with it what the mode adds. Keys of decryption are
 * those of the equivalent inverse cipher (FIPS-197 5.3.5) here as there, for AESD and AESIMC.
 *
 * Bound, from documents: no Arm processor was at hand, so nothing of this is measured. On Neoverse N1 AESE and AESMC have a latency of 2 cycles, one can start in each cycle, on the one pipe V0, and
 * where AESMC follows AESE on the same register, the pair is fused (Arm, Neoverse N1 Software Optimization Guide,
 * "Cryptography extensions" and "AES encryption/decryption"; LLVM's AArch64SchedNeoverseN1.td has the same figures).
 * If a pair takes one turn, AES-128 takes 10 cycles for 16 bytes, and the serial modes 20, with nothing else
 * on their chain. PMULL shares V0: four for a block of GCM and two for each eight make that 14.25 cycles. All other
 * vector operations have V1 for themselves, and the round keys the load pipes. Arm's guides for later cores have
 * two or four AES instructions a cycle.
 * What can be seen without one: gcc 12 puts all but one of 4095 AESMC directly behind its AESE, and the loops of
 * ECB, CTR, CBC and CFB have nothing between the pairs but loads of keys.
 */
#include "../backend.h"
#include "../util.h"
#if TR_ARM64
#    include "arm.h"

#    define TR_TARGET TR_TARGET_AES
#    include "vec_neon.h"

#    include "../x86/parallel.h"

#    include "../x86/ghash.h"

#    include "../x86/gcm.h"

#    include "../x86/gcm_siv.h"
#    include "../x86/serial.h"

#    include "../x86/ccm.h"
#    include "../x86/expand.h"

#    include "../x86/ocb.h"

#    include "../x86/xts.h"

TR_TARGET void tr_armce_expand_key(struct tr_aes_key *key, const uint8_t *raw)
{
    expand_key(key, raw);
}

const struct tr_backend tr_armce = {
    .name = "armce",
    .features = TR_ARMCE_FEATURES | TR_FEATURE_CLMUL,
    .weaker = &tr_bitslice,
    .expand_key = tr_armce_expand_key,
    .ghash_key = ghash_key,
    .bulk = {TR_PARALLEL_OPS, TR_SERIAL_OPS, TR_CCM_OPS, TR_GCM_OPS, TR_XTS_OPS, TR_OCB_OPS,
             TR_GCM_SIV_OPS},
};

const struct tr_backend tr_armce_noclmul = {
    .name = "armce-noclmul",
    .features = TR_ARMCE_FEATURES,
    .weaker = &tr_vperm, /* for GHASH */
    .expand_key = tr_armce_expand_key,
    .bulk = {TR_PARALLEL_OPS, TR_SERIAL_OPS, TR_CCM_OPS, TR_OCB_OPS, TR_CTR_LE_OPS},
};
#endif
