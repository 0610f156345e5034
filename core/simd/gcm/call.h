/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whole calls of GCM (tr_gcm_fn in dispatch/backend.h). In those for short messages, arguments stay
 * in registers: no message object is stored and loaded again. Each number of vectors has a
 * function, so that none needs a stack frame. Together, this saves a third of the instructions of a
 * bulk operation (gcm/short.h says why they count).
 */
#ifndef TR_SIMD_GCM_CALL_H
#define TR_SIMD_GCM_CALL_H

#include "simd/gcm/message.h"

#ifdef TR_ENV_ALWAYS_VECTOR
#    define CALL_PARAMETERS                                                                        \
        const struct tr_gcm_key *key, const uint8_t *iv, size_t iv_len, const uint8_t *aad,        \
            size_t aad_len, uint8_t *out, const uint8_t *in, size_t len, uint8_t *tag,             \
            size_t tag_len
#    define CALL_ARGUMENTS key, iv, iv_len, aad, aad_len, out, in, len, tag, tag_len
#    define CALL_MESSAGE                                                                           \
        {                                                                                          \
            .hash = &key->hash, .iv = iv, .aad = aad, .len = len, .aad_len = aad_len               \
        }

static NOT_INLINE enum tr_status V_NAME(forged)(uint8_t *out, size_t len)
{
    tr_cleanse(out, len);
    return TR_ERR_TAG;
}

/* Begins a call: fires the tracing probe. */
TR_INLINE void call_begin(const struct tr_gcm_key *key, size_t len, int decrypt)
{
    (void)decrypt;
    TR_PROBE_BULK(decrypt ? TR_OP_GCM_OPEN : TR_OP_GCM_SEAL, key->aes.backend->name, len);
}

/* Ends a call: stores the tag, or compares it. */
TR_INLINE TR_TARGET enum tr_status call_end(B computed, uint8_t *out, size_t len, uint8_t *tag,
                                            int decrypt)
{
    if (!decrypt)
        b_store(tag, computed);
    else if (!TR_PUBLIC(b_equal(computed, b_load(tag))))
        return V_NAME(forged)(out, len);
    return TR_OK;
}

TR_TARGET enum tr_status V_NAME(seal_any)(CALL_PARAMETERS)
{
    struct tr_gcm_message m = CALL_MESSAGE;
    (void)iv_len, (void)tag_len;
    m.tag = tag;
    call_begin(key, len, 0);
    by_length(&key->aes, out, in, (len + TR_BLOCK - 1) / TR_BLOCK, &m, 0);
    return TR_OK;
}

TR_TARGET enum tr_status V_NAME(open_any)(CALL_PARAMETERS)
{
    uint8_t expected[TR_BLOCK];
    struct tr_gcm_message m = CALL_MESSAGE;
    (void)iv_len, (void)tag_len;
    m.tag = expected;
    call_begin(key, len, 1);
    by_length(&key->aes, out, in, (len + TR_BLOCK - 1) / TR_BLOCK, &m, 1);
    const struct partial_block a = partial_load_block(expected), b = partial_load_block(tag);
    uint64_t difference = (a.low ^ b.low) | (a.high ^ b.high);
    tr_cleanse_inline(expected, sizeof(expected));
    __asm__("" : "+r"(difference));
    return TR_PUBLIC(difference == 0) ? TR_OK : V_NAME(forged)(out, len);
}

/* Processes short messages of all lengths. */
TR_INLINE TR_TARGET enum tr_status call_short(CALL_PARAMETERS, int decrypt)
{
    const struct tr_gcm_message m = CALL_MESSAGE;
    call_begin(key, len, decrypt);
    (void)iv_len, (void)tag_len;
    TR_ASSUME(len - 1 < TR_GCM_SHORT_MAX);
    return call_end(short_message(&key->aes, out, in, &m, decrypt), out, len, tag, decrypt);
}

#    define DEFINE_CALLS(bytes, CALL, ...)                                                         \
        TR_TARGET enum tr_status V_NAME(seal_##bytes)(CALL_PARAMETERS)                             \
        {                                                                                          \
            return CALL(CALL_ARGUMENTS, __VA_ARGS__ 0);                                            \
        }                                                                                          \
        TR_TARGET enum tr_status V_NAME(open_##bytes)(CALL_PARAMETERS)                             \
        {                                                                                          \
            return CALL(CALL_ARGUMENTS, __VA_ARGS__ 1);                                            \
        }
#    if !MASKED_GROUP
DEFINE_CALLS(short, call_short)
#    else

/* Processes a message of u vectors, or of at most TINY bytes if u is 0. Without AAD, its address
 * may be NULL, so the code then loads from the key instead. */
TR_INLINE TR_TARGET enum tr_status call_vectors(CALL_PARAMETERS, unsigned u, int decrypt)
{
    const struct tr_gcm_message m = CALL_MESSAGE;
    (void)iv_len, (void)tag_len;
    call_begin(key, len, decrypt);
    TR_ASSUME(len != 0);
    const B a = b_load_masked(aad_len != 0 ? aad : key->hash.h, aad_len);
    B computed;
    if (u != 0) {
        computed = short_vectors(&key->aes, out, in, &m, v_zero_extend(a), 0, u, decrypt);
    } else if (len == TR_BLOCK) {
        V text;
        computed = tiny_message(&key->aes, &m, a, v_load_part(in, 1), TR_BLOCK, &text, decrypt);
        v_store_part(out, text, 1);
    } else {
        V text;
        computed = tiny_message(&key->aes, &m, a, v_load_masked(in, len), len, &text, decrypt);
        v_store_masked(out, text, len);
    }
    return call_end(computed, out, len, tag, decrypt);
}

/* Processes a message of u vectors with 17 to SHORT_AAD bytes of AAD. */
TR_INLINE TR_TARGET enum tr_status call_with_aad(CALL_PARAMETERS, unsigned u, int decrypt)
{
    const struct tr_gcm_message m = CALL_MESSAGE;
    (void)iv_len, (void)tag_len;
    call_begin(key, len, decrypt);
    TR_ASSUME(len != 0);
    const V all = v_load_masked(aad, aad_len);
    return call_end(short_vectors(&key->aes, out, in, &m, all, 1, u, decrypt), out, len, tag,
                    decrypt);
}

DEFINE_CALLS(32, call_vectors, 0, )
DEFINE_CALLS(64, call_vectors, 1, )
DEFINE_CALLS(128, call_vectors, 2, )
DEFINE_CALLS(192, call_vectors, 3, )
DEFINE_CALLS(256, call_vectors, 4, )
DEFINE_CALLS(aad_64, call_with_aad, 1, )
DEFINE_CALLS(aad_128, call_with_aad, 2, )
DEFINE_CALLS(aad_192, call_with_aad, 3, )
DEFINE_CALLS(aad_256, call_with_aad, 4, )
#    endif
#    undef DEFINE_CALLS
#endif

#endif
