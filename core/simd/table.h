/* SPDX-License-Identifier: BSD-2-Clause */
/* The functions that the bodies define for a backend's table, and the entries of the table. They
 * have external linkage, because each family of modes is a translation unit of its own. V_NAME()
 * puts the backend into the name of each. */
#ifndef TR_SIMD_TABLE_H
#define TR_SIMD_TABLE_H

#include "dispatch/backend.h"
#include "dispatch/shape.h"
#include "simd/vector.h"

/* Whether xts/units.h is compiled. The tweaks of two groups and the blocks of one take 24 of 32
 * registers. gcc 12 keeps three of the tweaks on the stack. */
#define XTS_UNITS   (VBLOCKS == 4 && V_REGISTERS == 32 && TR_ENV_ALL_MODES)
/* Whether multi-buffer code is compiled: its state needs up to 16 KiB of stack, and the lists of
 * jobs (modes/multibuffer.c) more. ZMM needs 32 registers; with 8, YMM is as fast. */
#define MULTIBUFFER (V_MULTIBUFFER && TR_ENV_STACK >= 65536 && (VBLOCKS < 4 || V_REGISTERS == 32))
/* Whether functions for whole calls are compiled (xts/unit.h, cfb_any.h, gcm/call.h). */
#if MASKED_GROUP && defined(TR_ENV_ALWAYS_VECTOR)
#    define WHOLE_CALLS 1
#else
#    define WHOLE_CALLS 0
#endif

/* Whether gcm/many.h is compiled. It keeps up to 25 vectors; its state needs 9 KiB of stack. */
#define MANY_MESSAGES (WHOLE_CALLS && VBLOCKS == 4 && V_REGISTERS == 32 && TR_ENV_STACK >= 65536)

/* The function for any number of blocks of a parallel mode. */
#define V_ANY_NAME(mode)           V_NAME(mode##_any)
#define TR_DECLARE(constant, name) tr_bulk_fn V_NAME(name);
TR_BULK_OPS(TR_DECLARE)
#undef TR_DECLARE
void V_NAME(expand_key)(struct tr_aes_key *key, const uint8_t *raw);
void V_NAME(expand_encryption_key)(struct tr_aes_key *key, const uint8_t *raw);
/* Sets `enc`, and h to the encryption of a block of zeros. */
void V_NAME(hash_key)(struct tr_aes_key *key, const uint8_t *raw, uint8_t h[TR_BLOCK]);
void V_NAME(ghash_key)(struct tr_ghash_key *key);
void V_NAME(gcm_key)(struct tr_aes_key *key, struct tr_ghash_key *hash, const uint8_t *raw);
void V_NAME(cleanse)(uint8_t *memory, size_t len);
tr_xts_unit_fn V_NAME(xts_unit_encrypt), V_NAME(xts_unit_decrypt);
tr_blocks_fn TR_SHAPE_FUNCTIONS(V_ANY_NAME);
tr_cfb_fn V_NAME(cfb_decrypt_any_length);
tr_gcm_fn V_NAME(seal_16), V_NAME(open_16), V_NAME(seal_32), V_NAME(seal_48), V_NAME(seal_64),
    V_NAME(seal_112), V_NAME(seal_128), V_NAME(seal_176), V_NAME(seal_192), V_NAME(seal_240),
    V_NAME(seal_256), V_NAME(open_32), V_NAME(open_48), V_NAME(open_64), V_NAME(open_112),
    V_NAME(open_128), V_NAME(open_176), V_NAME(open_192), V_NAME(open_240), V_NAME(open_256),
    V_NAME(seal_any), V_NAME(open_any), V_NAME(seal_short), V_NAME(open_short);
tr_multibuffer_fn V_NAME(multibuffer);
tr_gcm_many_fn V_NAME(gcm_many);
tr_gcm_alike_fn V_NAME(gcm_alike);
tr_masks_fn V_NAME(masks);

/* The arguments of a bulk operation, of which the last is its state. */
#define BULK_ARGUMENTS                                                                             \
    const struct tr_aes_key *key, uint8_t *out, const uint8_t *in, size_t blocks, void *iv

/* Defines a bulk operation as a call of function(key, out, in, blocks, iv, argument). */
#define BULK_OPERATION(name, function, argument)                                                   \
    TR_TARGET void V_NAME(name)(BULK_ARGUMENTS)                                                    \
    {                                                                                              \
        function(key, out, in, blocks, iv, argument);                                              \
    }

#define TR_ENTRY(constant, name) [TR_OP_##constant] = V_NAME(name)
#define TR_PARALLEL_OPS          TR_SHAPE_ENTRIES(V_NAME)
#define TR_SERIAL_OPS                                                                              \
    TR_ENTRY(CBC_ENCRYPT, cbc_encrypt), TR_ENTRY(CFB_ENCRYPT, cfb_encrypt), TR_ENTRY(OFB, ofb)
#define TR_CCM_OPS TR_ENTRY(CCM_ENCRYPT, ccm_encrypt), TR_ENTRY(CCM_DECRYPT, ccm_decrypt)
#define TR_GCM_OPS                                                                                 \
    TR_ENTRY(GHASH, ghash), TR_ENTRY(GCM_ENCRYPT, gcm_encrypt),                                    \
        TR_ENTRY(GCM_DECRYPT, gcm_decrypt), TR_ENTRY(GCM_SEAL, gcm_seal),                          \
        TR_ENTRY(GCM_OPEN, gcm_open), TR_ENTRY(GCM_TAG, gcm_tag)

/* A narrower backend is as fast for ciphertext stealing. */
#if VBLOCKS == 1
#    define TR_XTS_CTS_OPS                                                                         \
        , TR_ENTRY(XTS_ENCRYPT_CTS, xts_encrypt_cts), TR_ENTRY(XTS_DECRYPT_CTS, xts_decrypt_cts)
#else
#    define TR_XTS_CTS_OPS
#endif
#if XTS_UNITS
#    define TR_XTS_UNITS_OPS                                                                       \
        , TR_ENTRY(XTS_ENC_UNITS, xts_enc_units), TR_ENTRY(XTS_DEC_UNITS, xts_dec_units)
#else
#    define TR_XTS_UNITS_OPS
#endif
#define TR_XTS_OPS                                                                                 \
    TR_ENTRY(XTS_ENCRYPT, xts_encrypt),                                                            \
        TR_ENTRY(XTS_DECRYPT, xts_decrypt) TR_XTS_CTS_OPS TR_XTS_UNITS_OPS

/* Entries of struct tr_whole_calls. */
#define TR_BLOCKS_CALLS                                                                            \
    .few = {TR_SHAPE_ENTRIES(V_FEW_NAME)}, .more = {TR_SHAPE_ENTRIES(V_ANY_NAME)},                 \
    .cts_decrypt = V_FEW_NAME(cts_decrypt)
#if WHOLE_CALLS
#    define TR_CFB_CALLS .cfb_decrypt = V_NAME(cfb_decrypt_any_length)
#    define TR_XTS_CALLS .xts_unit = {V_NAME(xts_unit_encrypt), V_NAME(xts_unit_decrypt)}
#else
#    define TR_CFB_CALLS .cfb_decrypt = NULL
#    define TR_XTS_CALLS .xts_unit = {NULL}
#endif
#if MANY_MESSAGES
#    define TR_MANY_CALLS                                                                          \
        .gcm_many = V_NAME(gcm_many), .gcm_alike = V_NAME(gcm_alike), .masks = V_NAME(masks)
#else
#    define TR_MANY_CALLS .gcm_many = NULL
#endif
/* The table of each direction. With masks, messages whose last vector has at most three blocks have
 * functions of their own. Without, messages of more than half a group are not short. */
#if !defined(TR_ENV_ALWAYS_VECTOR)
#    define TR_GCM_WHOLE .gcm = {{NULL}}
#else
#    if MASKED_GROUP
#        define TR_GCM_OF(direction)                                                               \
            {                                                                                      \
                V_NAME(direction##_16), V_NAME(direction##_32), V_NAME(direction##_48),            \
                    [3] = V_NAME(direction##_64),                                                  \
                    [4 ... 6] = V_NAME(direction##_112), [7] = V_NAME(direction##_128),            \
                    [8 ... 10] = V_NAME(direction##_176), [11] = V_NAME(direction##_192),          \
                    [12 ... 14] = V_NAME(direction##_240), [15] = V_NAME(direction##_256),         \
                    [16 ... TR_GCM_ANY - 1] = tr_gcm_##direction##_any,                            \
                    [TR_GCM_ANY] = V_NAME(direction##_any)                                         \
            }
#    else
#        define SHORT_CALLS (IN_FLIGHT / 2 * VBYTES / TR_BLOCK)
#        define TR_GCM_OF(direction)                                                               \
            {                                                                                      \
                [0 ... SHORT_CALLS - 1] = V_NAME(direction##_short),                               \
                                     [SHORT_CALLS... TR_GCM_ANY - 1] = tr_gcm_##direction##_any,   \
                                     [TR_GCM_ANY] = V_NAME(direction##_any)                        \
            }
#    endif
#    define TR_GCM_WHOLE .gcm = {TR_GCM_OF(seal), TR_GCM_OF(open)}
#endif
#if MULTIBUFFER
#    define TR_MULTIBUFFER V_NAME(multibuffer)
#else
#    define TR_MULTIBUFFER NULL
#endif

#if TR_ENV_ALL_MODES
#    define TR_CTR_LE_OPS  TR_ENTRY(CTR_LE, ctr_le)
#    define TR_GCM_SIV_OPS TR_ENTRY(POLYVAL, polyval), TR_CTR_LE_OPS
#    define TR_OCB_OPS     TR_ENTRY(OCB_ENCRYPT, ocb_encrypt), TR_ENTRY(OCB_DECRYPT, ocb_decrypt)
#else
#    define TR_CTR_LE_OPS  [TR_OP_CTR_LE] = NULL
#    define TR_GCM_SIV_OPS [TR_OP_POLYVAL] = NULL
#    define TR_OCB_OPS     [TR_OP_OCB_ENCRYPT] = NULL
#endif

#endif
