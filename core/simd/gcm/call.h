/* SPDX-License-Identifier: BSD-2-Clause */
/* Whole calls of GCM (tr_gcm_fn in dispatch/backend.h). In those for short messages, arguments stay
 * in registers: no message object is stored and loaded again. Each number of vectors has a
 * function, so that none needs space on the stack. Together, this saves a third of the instructions
 * of a bulk operation (gcm/short.h says why they count). */
#ifndef TR_SIMD_GCM_CALL_H
#define TR_SIMD_GCM_CALL_H

#include "simd/gcm/message.h"

#ifdef TR_ENV_ALWAYS_VECTOR
#    define CALL_PARAMETERS                                                                        \
        const struct tr_gcm_key *key, const uint8_t *iv, size_t iv_len, const uint8_t *aad,        \
            size_t aad_len, uint8_t *out, const uint8_t *in, size_t len, uint8_t *tag,             \
            size_t tag_len
#    define CALL_ARGUMENTS key, iv, iv_len, aad, aad_len, out, in, len, tag, tag_len
#    define CALL_CHECKED   key, iv, TR_GCM_IV, aad, aad_len, out, in, len, tag, TR_BLOCK
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

/* Checks what tr_gcm_seal() and tr_gcm_open() have not: passes all messages to `any` whose IV, tag
 * or overlap is not that of a short message. Separate statements keep gcc 12 from combining
 * conditions in registers, and known arguments from staying in registers. The length of data was
 * compared with short_len without order; the second load orders the powers of H after it. */
#    define CHECK_CALL(any)                                                                        \
        do {                                                                                       \
            if (iv_len != TR_GCM_IV)                                                               \
                return any(CALL_ARGUMENTS);                                                        \
            if (tag_len != TR_BLOCK)                                                               \
                return any(CALL_ARGUMENTS);                                                        \
            if (tr_bad_overlap(out, in, len))                                                      \
                return any(CALL_CHECKED);                                                          \
            (void)__atomic_load_n(&key->hash.short_len, __ATOMIC_ACQUIRE);                         \
        } while (0)

#    define DEFINE_CALL(name, PROCESS, ...)                                                        \
        TR_AT_LINE TR_TARGET enum tr_status V_NAME(name)(CALL_PARAMETERS)                          \
        {                                                                                          \
            return PROCESS(CALL_ARGUMENTS, __VA_ARGS__);                                           \
        }

#    if !MASKED_GROUP
/* Processes short messages of all lengths. */
TR_INLINE TR_TARGET enum tr_status call_short(CALL_PARAMETERS, tr_gcm_fn *any, int decrypt)
{
    CHECK_CALL(any);
    if (aad_len > TR_BLOCK)
        return any(CALL_CHECKED);
    const struct tr_gcm_message m = CALL_MESSAGE;
    if (!stays_in_page(out, in, &m)) /* 32-bit code with masks */
        return any(CALL_CHECKED);
    call_begin(key, len, decrypt);
    B computed;
#        if VBLOCKS == 1 /* through the other function, 16 bytes take 6 % longer */
    TR_ASSUME(len - 1 < SHORT_BYTES);
    computed =
        short_message(&key->aes, out, in, &m, b_byteswap(b_load_bytes(aad, aad_len)), decrypt);
#        else
    computed = (decrypt ? V_NAME(short_open) : V_NAME(short_seal))(
        &key->aes, &key->hash, iv, b_byteswap(b_load_bytes(aad, aad_len)), out, in,
        short_lengths(len, aad_len));
#        endif
    return call_end(computed, out, len, tag, decrypt);
}

DEFINE_CALL(seal_short, call_short, tr_gcm_seal_any, 0)
DEFINE_CALL(open_short, call_short, tr_gcm_open_any, 1)
#    else

/* Whether the registers of a message of u vectors stay within a page. */
TR_INLINE int is_within_page(const uint8_t *out, const uint8_t *in, unsigned u)
{
    const size_t last = (size_t)(u - 1) * VBYTES;
    if (leaves_page(in + last, VBYTES))
        return 0;
    return !leaves_page(out + last, VBYTES);
}

/* Processes a message of u vectors (`spare` as in short_rounds()). AAD of more than a block needs a
 * power of H for each block. Without AAD, its address may be NULL. */
TR_INLINE TR_TARGET enum tr_status call_vectors(CALL_PARAMETERS, tr_gcm_fn *any, unsigned u,
                                                int spare, int decrypt)
{
    CHECK_CALL(any);
    if (!is_within_page(out, in, u))
        return any(CALL_CHECKED);
    if (aad_len > SHORT_AAD)
        return any(CALL_CHECKED);
    TR_ASSUME(len != 0);
    const struct tr_gcm_message m = CALL_MESSAGE;
    const uint8_t *power = short_powers(&m);
    struct short_state s;
    struct product p;
    const int hash_first = decrypt && u > 3; /* short_vectors() says why */
    if (!hash_first)
        short_rounds(&s, &key->aes, iv, u, spare, decrypt);
    if (__builtin_expect(aad_len <= TR_BLOCK, 1)) {
        if (__builtin_expect(aad_len == 0, 0)) {
            p = no_aad(&m, spare);
        } else {
            if (leaves_page(aad, TR_BLOCK))
                return any(CALL_CHECKED);
            p = aad_block(&m, power, swap_block(b_load_masked(aad, aad_len)), spare);
        }
    } else {
        if (leaves_page(aad, SHORT_AAD) ||
            len + SHORT_AAD - TR_BLOCK > __atomic_load_n(&key->hash.short_len, __ATOMIC_ACQUIRE))
            return any(CALL_CHECKED);
        p = aad_blocks(&m, power, v_load_masked(aad, aad_len), spare);
    }
    if (hash_first)
        short_rounds(&s, &key->aes, iv, u, spare, decrypt);
    call_begin(key, len, decrypt);
    const B computed = short_end(&s, &m, out, in, power, p, u, spare, decrypt);
    return call_end(computed, out, len, tag, decrypt);
}

/* Processes a message of at most one block. The power of H for the last block of AAD is H^3. */
TR_INLINE TR_TARGET enum tr_status call_block(CALL_PARAMETERS, tr_gcm_fn *any, int decrypt)
{
    CHECK_CALL(any);
    if (aad_len > SHORT_AAD)
        return any(CALL_CHECKED);
    if (len != TR_BLOCK && (leaves_page(in, TR_BLOCK) || leaves_page(out, TR_BLOCK)))
        return any(CALL_CHECKED);
    TR_ASSUME(len != 0);
    const struct tr_gcm_message m = CALL_MESSAGE;
    const uint8_t *power = key->hash.power[TR_GHASH_POWERS - 3];
    B last_key;
    const W x = block_rounds(&key->aes, iv, &last_key, decrypt);
    struct two_products p = w_no_product();
    if (aad_len > TR_BLOCK) {
        if (leaves_page(aad, SHORT_AAD) ||
            len + SHORT_AAD - TR_BLOCK > __atomic_load_n(&key->hash.short_len, __ATOMIC_ACQUIRE))
            return any(CALL_CHECKED);
        const struct product a = aad_blocks(&m, power, v_load_masked(aad, aad_len), 1);
        p = (struct two_products){w_fold_to_two(a.low), w_fold_to_two(a.middle),
                                  w_fold_to_two(a.high)};
    } else if (aad_len != 0) {
        if (leaves_page(aad, TR_BLOCK))
            return any(CALL_CHECKED);
        w_multiply_add(&p, w_zero_extend(b_byteswap(b_load_masked(aad, aad_len))),
                       w_zero_extend(b_load(power)));
    }
    call_begin(key, len, decrypt);
    const B computed = block_end(x, last_key, &m, out, in, p, decrypt);
    return call_end(computed, out, len, tag, decrypt);
}

/* Processes a message of more than a block, and at most TINY bytes. */
TR_INLINE TR_TARGET enum tr_status call_tiny(CALL_PARAMETERS, tr_gcm_fn *any, int decrypt)
{
    CHECK_CALL(any);
    if (aad_len > TR_BLOCK)
        return call_vectors(CALL_CHECKED, any, 1, 1, decrypt);
    if (!is_within_page(out, in, 1))
        return any(CALL_CHECKED);
    B a = b_zero();
    if (aad_len != 0) {
        if (leaves_page(aad, TR_BLOCK))
            return any(CALL_CHECKED);
        a = b_load_masked(aad, aad_len);
    }
    const struct tr_gcm_message m = CALL_MESSAGE;
    call_begin(key, len, decrypt);
    TR_ASSUME(len > TR_BLOCK);
    V text;
    const B computed = tiny_message(&key->aes, &m, a, v_load_masked(in, len), len, &text, decrypt);
    v_store_masked(out, text, len);
    return call_end(computed, out, len, tag, decrypt);
}

#        define DEFINE_CALLS(seal, decrypt)                                                        \
            DEFINE_CALL(seal##_16, call_block, tr_gcm_##seal##_any, decrypt)                       \
            DEFINE_CALL(seal##_32, call_tiny, tr_gcm_##seal##_any, decrypt)                        \
            DEFINE_CALL(seal##_48, call_vectors, tr_gcm_##seal##_any, 1, 1, decrypt)               \
            DEFINE_CALL(seal##_64, call_vectors, tr_gcm_##seal##_any, 1, 0, decrypt)               \
            DEFINE_CALL(seal##_112, call_vectors, tr_gcm_##seal##_any, 2, 1, decrypt)              \
            DEFINE_CALL(seal##_128, call_vectors, tr_gcm_##seal##_any, 2, 0, decrypt)              \
            DEFINE_CALL(seal##_176, call_vectors, tr_gcm_##seal##_any, 3, 1, decrypt)              \
            DEFINE_CALL(seal##_192, call_vectors, tr_gcm_##seal##_any, 3, 0, decrypt)              \
            DEFINE_CALL(seal##_240, call_vectors, tr_gcm_##seal##_any, 4, 1, decrypt)              \
            DEFINE_CALL(seal##_256, call_vectors, tr_gcm_##seal##_any, 4, 0, decrypt)
DEFINE_CALLS(seal, 0)
DEFINE_CALLS(open, 1)
#        undef DEFINE_CALLS
#    endif
#    undef DEFINE_CALL
#    undef CHECK_CALL
#endif

#endif
