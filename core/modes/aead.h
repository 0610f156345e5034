/* SPDX-License-Identifier: BSD-2-Clause */
/* One-shot calls of the authenticated modes, composed of their streaming calls. */
#ifndef TR_AEAD_H
#define TR_AEAD_H

#include "modes/modes.h"
#include "partial_block.h"

/* The steps of a one-shot call: the start, the AAD, and the call that encrypts or decrypts. A step
 * runs only if all earlier steps succeeded. The macro first checks that the caller's variables
 * `out`, `in` and `len` are no bad overlap. The value of the macro is the status. */
#define TR_STEPS(start, aad, crypt)                                                                \
    ({                                                                                             \
        enum tr_status steps = tr_bad_overlap(out, in, len) ? TR_ERR_OVERLAP : (start);            \
        if (steps == TR_OK)                                                                        \
            steps = (aad);                                                                         \
        if (steps == TR_OK)                                                                        \
            steps = (crypt);                                                                       \
        steps;                                                                                     \
    })

/* As TR_STEPS, for modes in which a separate last call, `end`, computes or checks the tag. The
 * argument `mode` is the mode's name in function names, as gcm in tr_gcm_aad(). The argument `m`
 * points to the message object. The macros also use the caller's variables `aad` and `aad_len`. On
 * tag mismatch, opening cleanses the plaintext. */
#define TR_SEAL_STEPS(mode, m, start, end)                                                         \
    ({                                                                                             \
        enum tr_status sealed = TR_STEPS(start, tr_##mode##_aad(m, aad, aad_len),                  \
                                         tr_##mode##_encrypt(m, out, in, len));                    \
        if (sealed == TR_OK)                                                                       \
            sealed = (end);                                                                        \
        sealed;                                                                                    \
    })
#define TR_OPEN_STEPS(mode, m, start, end)                                                         \
    ({                                                                                             \
        enum tr_status opened = TR_STEPS(start, tr_##mode##_aad(m, aad, aad_len),                  \
                                         tr_##mode##_decrypt(m, out, in, len));                    \
        if (opened == TR_OK && (opened = (end)) == TR_ERR_TAG)                                     \
            tr_cleanse(out, len);                                                                  \
        opened;                                                                                    \
    })

/* Copies `len` bytes and pads their last block with zeros. Returns the end of the padded copy.
 * Stores each block with one wide store, because a vector load after narrower stores would cause a
 * store-forwarding stall. */
TR_INLINE uint8_t *tr_append_padded(uint8_t *to, const uint8_t *from, size_t len)
{
    for (; len >= TR_BLOCK; len -= TR_BLOCK, from += TR_BLOCK, to += TR_BLOCK)
        partial_store_vector(to, partial_load_block(from));
    if (len == 0)
        return to;
    partial_store_vector(to, partial_load(from, len));
    return to + TR_BLOCK;
}

/* Hashes whole blocks of AAD in a mode's message object. */
typedef void tr_hash_blocks_fn(void *message, const uint8_t *aad, size_t blocks);

/* Hashes AAD of any length after the *used bytes in `buffer`. Keeps a partial block there, and
 * updates *used. */
TR_INLINE void tr_hash_aad(tr_hash_blocks_fn *hash_blocks, void *message, uint8_t buffer[TR_BLOCK],
                           unsigned *used, const uint8_t *aad, size_t len)
{
    if (*used != 0 && len != 0) {
        const size_t n = TR_BLOCK - *used < len ? TR_BLOCK - *used : len;
        __builtin_memcpy(buffer + *used, aad, n);
        *used += (unsigned)n;
        aad += n;
        len -= n;
        if (*used != TR_BLOCK)
            return;
        hash_blocks(message, buffer, 1);
        *used = 0;
    }
    if (len >= TR_BLOCK) {
        hash_blocks(message, aad, len / TR_BLOCK);
        aad += len - len % TR_BLOCK;
        len %= TR_BLOCK;
    }
    if (len != 0) {
        partial_store_vector(buffer, partial_load(aad, len));
        *used = (unsigned)len;
    }
}

/* Writes the first `len` bytes of a tag. A whole tag takes one store, for a later 16-byte load. A
 * memcpy() of variable length may be REP MOVS, which is slow for so few bytes. */
TR_INLINE void tr_put_tag(uint8_t *to, const uint8_t tag[TR_BLOCK], size_t len)
{
    if (__builtin_expect(len == TR_BLOCK, 1))
        __builtin_memcpy(to, tag, TR_BLOCK);
    else
        partial_store(to, partial_load_block(tag), len);
}

/* Whether the first `len` bytes of two tags are equal, in constant time. Unlike tr_equal(),
 * compares 64-bit words. All 16 bytes of `a` must be readable. */
TR_INLINE int tr_same_tag(const uint8_t a[TR_BLOCK], const uint8_t *b, size_t len)
{
    struct partial_block difference =
        partial_first(partial_xor(partial_load_block(a), partial_load(b, len)), len);
    uint64_t any = difference.low | difference.high;
    __asm__("" : "+r"(any)); /* makes the compiler combine both words before it branches */
    return any == 0;
}

#endif
