/* SPDX-License-Identifier: BSD-2-Clause */
/* One-shot calls of the authenticated modes, composed of their streaming calls. */
#ifndef TR_AEAD_H
#define TR_AEAD_H

#include "modes/modes.h"
#include "part.h"

/*
 * Seals or opens a message with the streaming calls: start, AAD, data, tag. The argument `mode` is
 * part of the functions' names, and `m` is the message object. The arguments `start` and `end` are
 * the first and the last call. The macros also use the caller's variables `aad`, `out`, `in` and
 * their lengths. The value of a macro is the status. On tag mismatch, opening cleanses the
 * plaintext.
 */
#define TR_SEAL_STEPS(mode, m, start, end)                                                         \
    ({                                                                                             \
        enum tr_status steps = tr_partial_overlap(out, in, len) ? TR_ERR_OVERLAP : (start);        \
        if (steps == TR_OK)                                                                        \
            steps = tr_##mode##_aad(m, aad, aad_len);                                              \
        if (steps == TR_OK)                                                                        \
            steps = tr_##mode##_encrypt(m, out, in, len);                                          \
        if (steps == TR_OK)                                                                        \
            steps = (end);                                                                         \
        steps;                                                                                     \
    })
#define TR_OPEN_STEPS(mode, m, start, end)                                                         \
    ({                                                                                             \
        enum tr_status steps = tr_partial_overlap(out, in, len) ? TR_ERR_OVERLAP : (start);        \
        if (steps == TR_OK)                                                                        \
            steps = tr_##mode##_aad(m, aad, aad_len);                                              \
        if (steps == TR_OK)                                                                        \
            steps = tr_##mode##_decrypt(m, out, in, len);                                          \
        if (steps == TR_OK && (steps = (end)) == TR_ERR_TAG)                                       \
            tr_cleanse(out, len);                                                                  \
        steps;                                                                                     \
    })

/* Copies AAD into the block buffer of a mode, until the buffer is full or the AAD ends. *used is
 * the number of bytes in the buffer. Returns the number of bytes copied. */
TR_INLINE size_t tr_fill_buffer(uint8_t buffer[TR_BLOCK], unsigned *used, const uint8_t *aad,
                                size_t len)
{
    size_t n = TR_BLOCK - *used < len ? TR_BLOCK - *used : len;
    if (n != 0)
        __builtin_memcpy(buffer + *used, aad, n);
    *used += (unsigned)n;
    return n;
}

/* As tr_equal(a, b, len), but compares 64-bit words. The tag `a` must have 16 bytes. */
TR_INLINE int tr_same_tag(const uint8_t a[TR_BLOCK], const uint8_t *b, size_t len)
{
    struct part difference = part_first(part_xor(part_load_block(a), part_load(b, len)), len);
    uint64_t any = difference.low | difference.high;
    __asm__("" : "+r"(any)); /* combines both words, so that there is no early exit */
    return any == 0;
}

#endif
