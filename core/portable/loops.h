/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The modes of SP 800-38A over a software cipher that processes several blocks per call. This is a
 * template. A file defines these names before it includes the template:
 *
 *   NAME(name)                 the name with the prefix of the cipher
 *   BLOCKS                     the largest number of blocks per call of the cipher
 *   struct schedule            the round keys in the cipher's form: `round`, of which the first
 *                              `used` bytes (a size_t) are set
 *   NAME(prepare)(sk, key, inverse, blocks)  computes the schedule of the cipher or of the inverse
 *                              cipher, for a call of this many blocks
 *   OWN_SERIAL                 1 if the file defines NAME(serial)() itself, and NAME(single)(key,
 *                              out, in, inverse) for one block, which needs no schedule; else 0
 *   NAME(part)(blocks)         how many of this many blocks share a schedule, 1 or more
 *   NAME(encrypt)(sk, b, n)    encrypts n = 1 to BLOCKS blocks in place; b has room for BLOCKS
 *   NAME(decrypt)(sk, b, n)    decrypts n blocks in the same way
 */
#ifndef TR_PORTABLE_LOOPS_H
#define TR_PORTABLE_LOOPS_H

#include "dispatch/shape.h"
#include "partial_block.h"
#include "util.h"

/* The parallel modes. The array `before` holds the input shifted by one block, with the IV in
 * front. */
TR_INLINE void parallel(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                        size_t blocks, uint8_t *iv, struct tr_shape shape)
{
    struct schedule sk;
    uint8_t b[TR_BLOCK * BLOCKS], before[TR_BLOCK * (BLOCKS + 1)];
    const int single = OWN_SERIAL && blocks == 1;
    uint64_t high = 0, low = 0; /* the halves of the counter */
#if OWN_SERIAL
    if (single && shape.source == FROM_INPUT && shape.addend == ADD_NOTHING) {
        NAME(single)(key, out, in, shape.inverse);
        return;
    }
#endif
    if (!single && blocks % BLOCKS != 0)
        tr_cleanse_inline(b, sizeof(b)); /* gcc makes REP STOS of memset(), which is slow */
    if (!single)
        NAME(prepare)(&sk, key, shape.inverse, blocks);
    if (shape.source == FROM_COUNTER) {
        high = tr_load64_be(iv);
        low = tr_load64_be(iv + 8);
    }
    while (blocks != 0) {
        unsigned n = blocks < BLOCKS ? (unsigned)blocks : BLOCKS;
        size_t len = (size_t)n * TR_BLOCK;
        if (tr_shape_shifts(shape)) {
            __builtin_memcpy(before, iv, TR_BLOCK);
            __builtin_memcpy(before + TR_BLOCK, in, len);
            __builtin_memcpy(iv, before + len, TR_BLOCK);
        }
        if (shape.source == FROM_COUNTER) {
            for (size_t i = 0; i < len; i += TR_BLOCK) {
                partial_store_vector(
                    b + i, (struct partial_block){__builtin_bswap64(high), __builtin_bswap64(low)});
                high += ++low == 0;
            }
        } else {
            __builtin_memcpy(b, shape.source == FROM_INPUT ? in : before, len);
        }
#if OWN_SERIAL
        if (single)
            NAME(single)(key, b, b, shape.inverse);
        else
#endif
            if (shape.inverse)
            NAME(decrypt)(&sk, b, n);
        else
            NAME(encrypt)(&sk, b, n);
        for (size_t i = 0; i < len; i += TR_BLOCK) {
            if (shape.addend == ADD_NOTHING)
                __builtin_memcpy(out + i, b + i, TR_BLOCK);
            else
                tr_xor_block(out + i, b + i, shape.addend == ADD_INPUT ? in + i : before + i);
        }
        in += len;
        out += len;
        blocks -= n;
    }
    if (shape.source == FROM_COUNTER) {
        tr_store64_be(iv, high);
        tr_store64_be(iv + 8, low);
    }
    if (!single)
        tr_cleanse(&sk.round, sk.used);
    tr_cleanse(b, single ? TR_BLOCK : sizeof(b));
}

#if !OWN_SERIAL
/* The serial modes. The cipher encrypts the chaining value. CBC XORs the plaintext before this
 * encryption, CFB and OFB after it. */
static void NAME(serial)(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                         size_t blocks, uint8_t *iv, enum tr_op op)
{
    struct schedule sk;
    uint8_t b[TR_BLOCK * BLOCKS] = {0};
    NAME(prepare)(&sk, key, 0, blocks);
    __builtin_memcpy(b, iv, TR_BLOCK);
    for (; blocks != 0; blocks--, in += TR_BLOCK, out += TR_BLOCK) {
        if (op == TR_OP_CBC_ENCRYPT)
            tr_xor_block(b, b, in);
        NAME(encrypt)(&sk, b, 1);
        if (op == TR_OP_CFB_ENCRYPT)
            tr_xor_block(b, b, in);
        if (op == TR_OP_OFB)
            tr_xor_block(out, b, in);
        else
            __builtin_memcpy(out, b, TR_BLOCK);
    }
    __builtin_memcpy(iv, b, TR_BLOCK);
    tr_cleanse(&sk.round, sk.used);
    tr_cleanse(b, sizeof(b));
}

#endif

#define PARALLEL(name, shape)                                                                      \
    static void NAME(name)(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,          \
                           size_t blocks, void *iv)                                                \
    {                                                                                              \
        for (size_t n; blocks != 0; blocks -= n, out += n * TR_BLOCK, in += n * TR_BLOCK) {        \
            n = NAME(part)(blocks);                                                                \
            parallel(key, out, in, n, iv, shape);                                                  \
        }                                                                                          \
    }
TR_SHAPES(PARALLEL)

#define SERIAL(name, op)                                                                           \
    static void NAME(name)(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,          \
                           size_t blocks, void *iv)                                                \
    {                                                                                              \
        NAME(serial)(key, out, in, blocks, iv, op);                                                \
    }
SERIAL(cbc_encrypt, TR_OP_CBC_ENCRYPT)
SERIAL(cfb_encrypt, TR_OP_CFB_ENCRYPT)
SERIAL(ofb, TR_OP_OFB)

#define TR_PORTABLE_OPS                                                                            \
    TR_SHAPE_ENTRIES(NAME), [TR_OP_CBC_ENCRYPT] = NAME(cbc_encrypt),                               \
                            [TR_OP_CFB_ENCRYPT] = NAME(cfb_encrypt), [TR_OP_OFB] = NAME(ofb)

#endif
