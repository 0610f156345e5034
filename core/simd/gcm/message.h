/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One-shot GCM messages with a 96-bit IV: the bulk operations GCM_SEAL and GCM_OPEN. Short messages
 * take gcm/short.h, where there are masks, those of some hundred bytes gcm/chunks.h, and long ones
 * message() below. The tag's mask is encrypted in parallel with the data. Whole blocks never pass
 * through a buffer on the stack. A partial block does so only on output, for vector types without
 * masks.
 *
 * This code avoids three hidden costs:
 *
 * - store-forwarding stalls: after narrow stores, a wide load of the same bytes waits until these
 *   stores retire
 * - structures passed by value, which cause the same stalls
 * - operations that wait for AES results, placed before independent operations: the waiting ones
 *   fill the schedulers (128 entries) and keep the independent ones out
 */
#ifndef TR_SIMD_GCM_MESSAGE_H
#define TR_SIMD_GCM_MESSAGE_H

#include "partial_block.h"
#include "simd/gcm/chunks.h"
#include "simd/gcm/short.h"
#include "simd/gcm/stream.h"

/* Processes a message of any length, and returns its tag. The compile-time constant `is_long` may
 * be 0 if the data has at most HALF_BYTES bytes, and the AAD (`aad`) at most one block. */
TR_INLINE TR_TARGET B message(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                              const struct tr_gcm_message *m, B aad, int is_long, int decrypt)
{
    const struct partial_block iv = partial_load_nonce(m->iv);
    const uint64_t high = __builtin_bswap64(iv.low), low = __builtin_bswap64(iv.high);
    /* Only a long message needs words. The counters of a short one stay in vector registers. */
    const B nonce = b_load_12(m->iv);
    struct gcm_tail end = {.whole = 1, .begun = 1, .lengths = gcm_lengths(m)};
    /* Keeps the length block in a register. Otherwise gcc stores its halves and loads both at once,
     * which causes a store-forwarding stall. */
    __asm__("" : "+" V_REGISTER(end.lengths));
    B mask = is_long ? gcm_keystream(key, low | 1, high)
                     : encrypt_block(key, b_xor(nonce, b_of(0, 1ull << 56)));
#if V_REGISTERS == 8
    /* Otherwise gcc keeps nine round keys for the data on the stack. */
    __asm__ volatile("" : "+" V_REGISTER(mask) : : "memory");
#endif
    B y;
    if (is_long) {
        y = gcm_bytes(key, out, in, (size_t)m->len, m->hash, low | 2, high, gcm_aad(m), end,
                      decrypt, 0);
    } else {
        const V counters =
            v_byteswap(v_add_lane_number(v_broadcast(b_xor(nonce, b_of(0, 2ull << 56)))));
        y = gcm_rest(gcm_start(bulk_start(key, key->enc, out, in), m->hash, aad, counters),
                     (size_t)m->len, end, decrypt, 1);
    }
    return b_xor(mask, b_byteswap(y));
}

/* A function of one direction, with its own registers and stack frame. */
#define DEFINE_MESSAGE(name, process, decrypt)                                                     \
    static NOT_INLINE TR_TARGET void V_NAME(name)(const struct tr_aes_key *key, uint8_t *out,      \
                                                  const uint8_t *in, struct tr_gcm_message *m)     \
    {                                                                                              \
        process(key, out, in, m, decrypt);                                                         \
    }

#if V_MASKED
TR_INLINE TR_TARGET void tiny(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                              const struct tr_gcm_message *m, size_t len, int decrypt)
{
    const B aad = b_load_bytes(m->aad, (size_t)m->aad_len);
    V text;
    const B tag =
        tiny_message(key, m, aad, len == 0 ? v_zero() : v_load_bytes(in, len), len, &text, decrypt);
    if (len != 0)
        v_store_bytes(out, text, len);
    b_store(m->tag, tag);
}

TR_INLINE TR_TARGET void any_tiny(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                                  struct tr_gcm_message *m, int decrypt)
{
    if (m->len == TR_BLOCK)
        tiny(key, out, in, m, TR_BLOCK, decrypt);
    else
        tiny(key, out, in, m, (size_t)m->len, decrypt);
}
DEFINE_MESSAGE(tiny_seal, any_tiny, 0)
DEFINE_MESSAGE(tiny_open, any_tiny, 1)
#else
#    define SHORT_BYTES HALF_BYTES
TR_INLINE TR_TARGET B short_message(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                                    const struct tr_gcm_message *m, B aad, int decrypt)
{
    return message(key, out, in, m, aad, 0, decrypt);
}
#endif

/* Processes a short message with the AAD block `aad`, and returns its tag. Bulk operations share
 * this function with whole calls. Arguments fit in registers: `lengths` is len + 65536 aad_len. */
#define DEFINE_SHORT(name, decrypt)                                                                \
    static NOT_INLINE TR_TARGET B V_NAME(name)(                                                    \
        const struct tr_aes_key *key, const struct tr_ghash_key *hash, const uint8_t *iv, B aad,   \
        uint8_t *out, const uint8_t *in, size_t lengths)                                           \
    {                                                                                              \
        const struct tr_gcm_message m = {                                                          \
            .hash = hash, .iv = iv, .len = lengths % 65536, .aad_len = lengths / 65536};           \
        TR_ASSUME(m.len <= SHORT_BYTES);                                                           \
        return short_message(key, out, in, &m, aad, decrypt);                                      \
    }
DEFINE_SHORT(short_seal, 0)
DEFINE_SHORT(short_open, 1)
#undef DEFINE_SHORT

/* The argument `lengths`. */
TR_INLINE size_t short_lengths(size_t len, size_t aad_len)
{
    return len | aad_len << 16;
}

TR_INLINE TR_TARGET void long_message(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                                      struct tr_gcm_message *m, int decrypt)
{
    b_store(m->tag, message(key, out, in, m, b_zero(), 1, decrypt));
}
DEFINE_MESSAGE(long_seal, long_message, 0)
DEFINE_MESSAGE(long_open, long_message, 1)
#undef DEFINE_MESSAGE

/* The number of powers of H that a message needs. Each block of data needs one, the AAD block one,
 * and the length block one. Long AAD is hashed separately, with one power for each block. With
 * masks, AAD of more than a block, but at most SHORT_AAD bytes, count as SHORT_AAD bytes, as in
 * call_vectors(). */
TR_INLINE size_t message_powers(const struct tr_gcm_message *m)
{
    const size_t data = (size_t)((m->len + TR_BLOCK - 1) / TR_BLOCK) + 2,
                 aad = (size_t)(m->aad_len / TR_BLOCK);
    if (V_MASKED && m->aad_len > TR_BLOCK && m->aad_len <= SHORT_AAD)
        return data + SHORT_AAD / TR_BLOCK - 1;
    return data > aad ? data : aad;
}

/* Whether masked accesses to the last vector stay within its page. */
TR_INLINE int stays_in_page(const uint8_t *out, const uint8_t *in, const struct tr_gcm_message *m)
{
#if V_MASKED
    const size_t last = (size_t)(m->len - 1) / VBYTES * VBYTES;
    return !leaves_page(in + last, VBYTES) && !leaves_page(out + last, VBYTES);
#else
    return (void)out, (void)in, (void)m, 1;
#endif
}

/* Whether short_message() takes this message, if it stays within its page. */
TR_INLINE int is_short(const struct tr_gcm_message *m)
{
#if V_MASKED
    return m->len - 1 < SHORT_BYTES && m->aad_len <= SHORT_AAD;
#else
    return m->len <= SHORT_BYTES && m->aad_len <= TR_BLOCK;
#endif
}

/* The code for a message. The choice of function is a constant of the caller. */
TR_INLINE TR_TARGET void by_length(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                                   size_t blocks, struct tr_gcm_message *m, int decrypt)
{
#if V_MASKED
    if (m->len <= TINY && m->aad_len <= TR_BLOCK) {
        (decrypt ? V_NAME(tiny_open) : V_NAME(tiny_seal))(key, out, in, m);
        return;
    }
#endif
    const size_t powers = message_powers(m);
    if (__builtin_expect(!have_powers(m->hash, powers), 0)) {
        V_NAME(with_powers)
        (decrypt ? V_NAME(gcm_open) : V_NAME(gcm_seal), key, out, in, blocks, m, &m->hash,
         stage_for(powers));
        return;
    }
#if GCM_CHUNKS
    if (takes_chunks(m, blocks, decrypt) && stays_in_page(out, in, m)) {
        if (decrypt)
            V_NAME(chunks_open)(key, out, in, m);
        else if (m->len <= TWO_BYTES)
            V_NAME(seal_two)(key, out, in, m);
        else
            V_NAME(chunks_seal)(key, out, in, m);
        return;
    }
#endif
    if (is_short(m) && stays_in_page(out, in, m))
        b_store(m->tag, (decrypt ? V_NAME(short_open) : V_NAME(short_seal))(
                            key, m->hash, m->iv, gcm_aad(m), out, in,
                            short_lengths((size_t)m->len, (size_t)m->aad_len)));
    else
        (decrypt ? V_NAME(long_open) : V_NAME(long_seal))(key, out, in, m);
}

BULK_OPERATION(gcm_seal, by_length, 0)
BULK_OPERATION(gcm_open, by_length, 1)

#endif
