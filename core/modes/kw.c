/* SPDX-License-Identifier: BSD-2-Clause */
/* KW and KWP, SP 800-38F section 6 (RFC 3394, RFC 5649). A semiblock is 8 bytes. Each call first
 * moves the input to its place in the output, so the buffers may overlap in any way. */
#include "modes/modes.h"

#define SEMI  8u
/* A plaintext must have fewer bytes than this. */
#define LIMIT 0x80000000u

/* The standard's integrity check values (SP 800-38F sections 6.2 and 6.3). */
static const uint8_t kw_iv[SEMI] = {0xa6, 0xa6, 0xa6, 0xa6, 0xa6, 0xa6, 0xa6, 0xa6};
static const uint8_t kwp_icv[4] = {0xa6, 0x59, 0x59, 0xa6};

/* The cipher direction for wrapping or unwrapping (section 5.1). */
static enum tr_op kw_cipher(int unwrap, int inverse)
{
    return (unwrap != 0) != (inverse != 0) ? TR_OP_ECB_DECRYPT : TR_OP_ECB_ENCRYPT;
}

/* Computes the function W (section 6.1) in place on n semiblocks, at least three. */
static void kw_w(const struct tr_aes_key *key, enum tr_op op, uint8_t *s, size_t n)
{
    uint8_t block[TR_BLOCK];
    uint64_t t = 0;
    __builtin_memcpy(block, s, SEMI);
    for (unsigned round = 0; round < 6; round++) {
        for (uint8_t *r = s + SEMI; r != s + n * SEMI; r += SEMI) {
            __builtin_memcpy(block + SEMI, r, SEMI);
            tr_bulk(key, op, block, block, 1, NULL);
            tr_store64_be(block, tr_load64_be(block) ^ ++t);
            __builtin_memcpy(r, block + SEMI, SEMI);
        }
    }
    __builtin_memcpy(s, block, SEMI);
    tr_cleanse(block, sizeof(block));
}

/* The inverse of W. The first semiblock is in `a`, the other n are in `r`. */
static void kw_w_inverse(const struct tr_aes_key *key, enum tr_op op, uint8_t a[SEMI], uint8_t *r,
                         size_t n)
{
    uint8_t block[TR_BLOCK];
    uint64_t t = 6 * (uint64_t)n;
    __builtin_memcpy(block, a, SEMI);
    while (t != 0) {
        for (uint8_t *last = r + n * SEMI; last != r; t--) {
            last -= SEMI;
            tr_store64_be(block, tr_load64_be(block) ^ t);
            __builtin_memcpy(block + SEMI, last, SEMI);
            tr_bulk(key, op, block, block, 1, NULL);
            __builtin_memcpy(last, block + SEMI, SEMI);
        }
    }
    __builtin_memcpy(a, block, SEMI);
    tr_cleanse(block, sizeof(block));
}

enum tr_status tr_kw_wrap(const struct tr_aes_key *key, int inverse, const uint8_t *iv,
                          uint8_t *out, const uint8_t *in, size_t len)
{
    if (!tr_is_set(key))
        return TR_ERR_STATE;
    if (len % SEMI != 0 || len < 2 * SEMI || len >= LIMIT)
        return TR_ERR_LENGTH;
    __builtin_memmove(out + SEMI, in, len);
    __builtin_memcpy(out, iv != NULL ? iv : kw_iv, SEMI);
    kw_w(key, kw_cipher(0, inverse), out, len / SEMI + 1);
    return TR_OK;
}

enum tr_status tr_kw_unwrap(const struct tr_aes_key *key, int inverse, const uint8_t *iv,
                            uint8_t *out, const uint8_t *in, size_t len)
{
    uint8_t a[SEMI];
    if (!tr_is_set(key))
        return TR_ERR_STATE;
    if (len % SEMI != 0 || len < 3 * SEMI || len - SEMI >= LIMIT)
        return TR_ERR_LENGTH;
    __builtin_memcpy(a, in, SEMI);
    __builtin_memmove(out, in + SEMI, len - SEMI);
    kw_w_inverse(key, kw_cipher(1, inverse), a, out, len / SEMI - 1);
    int good = TR_PUBLIC(tr_equal(a, iv != NULL ? iv : kw_iv, SEMI));
    tr_cleanse(a, sizeof(a));
    if (!good)
        tr_cleanse(out, len - SEMI);
    return good ? TR_OK : TR_ERR_TAG;
}

enum tr_status tr_kwp_wrap(const struct tr_aes_key *key, int inverse, const uint8_t *icv,
                           uint8_t *out, const uint8_t *in, size_t len)
{
    if (!tr_is_set(key))
        return TR_ERR_STATE;
    if (len == 0 || len >= LIMIT)
        return TR_ERR_LENGTH;
    size_t padded = (len + SEMI - 1) / SEMI * SEMI;
    __builtin_memmove(out + SEMI, in, len);
    __builtin_memset(out + SEMI + len, 0, padded - len);
    tr_store64_be(out, len);
    __builtin_memcpy(out, icv != NULL ? icv : kwp_icv, sizeof(kwp_icv));
    if (padded == SEMI)
        tr_bulk(key, kw_cipher(0, inverse), out, out, 1, NULL);
    else
        kw_w(key, kw_cipher(0, inverse), out, padded / SEMI + 1);
    return TR_OK;
}

/* Whether the integrity check value in `a` and the padding are right (section 6.3). The padding
 * must be zero. It is the last 0 to 7 of the `room` bytes at `out`. Stores the length of the
 * plaintext, which is valid only if the result is 1. Constant-time. */
static int kwp_is_right(const uint8_t a[SEMI], const uint8_t *icv, const uint8_t *out, size_t room,
                        size_t *plaintext)
{
    uint64_t len = tr_load64_be(a) & 0xffffffff, padding = room - len, bad = padding & ~7ull;
    for (unsigned i = 0; i < 7; i++) {
        uint64_t inside = 0 - ((i - padding) >> 63); /* all ones where i < padding */
        bad |= inside & out[room - 1 - i];
    }
    bad |= !tr_equal(a, icv != NULL ? icv : kwp_icv, sizeof(kwp_icv));
    *plaintext = (size_t)len;
    return bad == 0;
}

enum tr_status tr_kwp_unwrap(const struct tr_aes_key *key, int inverse, const uint8_t *icv,
                             uint8_t *out, size_t *out_len, const uint8_t *in, size_t len)
{
    uint8_t block[TR_BLOCK];
    size_t room = len - SEMI, plaintext;
    *out_len = 0;
    if (!tr_is_set(key))
        return TR_ERR_STATE;
    /* The padded plaintext may be as long as LIMIT. */
    if (len % SEMI != 0 || len < 2 * SEMI || room > LIMIT)
        return TR_ERR_LENGTH;
    __builtin_memcpy(block, in, TR_BLOCK);
    if (room == SEMI) {
        tr_bulk(key, kw_cipher(1, inverse), block, block, 1, NULL);
        __builtin_memcpy(out, block + SEMI, SEMI);
    } else {
        __builtin_memmove(out, in + SEMI, room);
        kw_w_inverse(key, kw_cipher(1, inverse), block, out, room / SEMI);
    }
    int good = TR_PUBLIC(kwp_is_right(block, icv, out, room, &plaintext));
    tr_cleanse(block, sizeof(block));
    if (good) {
        TR_PUBLISH(&plaintext, sizeof(plaintext)); /* the caller learns the length */
        *out_len = plaintext;
    } else {
        tr_cleanse(out, room);
    }
    return good ? TR_OK : TR_ERR_TAG;
}
