/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The modes of SP 800-38A over a software cipher that takes several blocks at once, for the backends
 * without AES instructions. Included after these are defined:
 *
 *   BLOCKS                 how many blocks at most
 *   struct schedule        the round keys in the cipher's form
 *   prepare(sk, key, inverse)  makes them, for the inverse cipher or the cipher
 *   TR_OWN_SERIAL          if there is a serial() already
 *   encrypt(sk, b, n)      n blocks in place, 1 to BLOCKS; b has room for BLOCKS, and decrypt alike
 */
#ifndef TR_PORTABLE_LOOPS_H
#define TR_PORTABLE_LOOPS_H

/* What the parallel modes put through the cipher for block i, and what they add to the result. */
enum source { THE_INPUT, THE_INPUT_BEFORE, THE_COUNTER };
enum addend { NOTHING, INPUT, INPUT_BEFORE };

/* One loop for the parallel modes. before holds the input blocks shifted by one, iv in front. */
TR_INLINE void parallel(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                        size_t blocks, uint8_t *iv, int inverse, enum source source,
                        enum addend addend)
{
    struct schedule sk;
    uint8_t b[TR_BLOCK * BLOCKS] = {0}, before[TR_BLOCK * (BLOCKS + 1)];
    prepare(&sk, key, inverse);
    while (blocks != 0) {
        unsigned n = blocks < BLOCKS ? (unsigned)blocks : BLOCKS;
        size_t len = (size_t)n * TR_BLOCK;
        if (source == THE_INPUT_BEFORE || addend == INPUT_BEFORE) {
            __builtin_memcpy(before, iv, TR_BLOCK);
            __builtin_memcpy(before + TR_BLOCK, in, len);
            __builtin_memcpy(iv, before + len, TR_BLOCK);
        }
        if (source == THE_COUNTER) {
            for (size_t i = 0; i < len; i += TR_BLOCK) {
                __builtin_memcpy(b + i, iv, TR_BLOCK);
                tr_counter_add(iv, 1);
            }
        } else {
            __builtin_memcpy(b, source == THE_INPUT ? in : before, len);
        }
        if (inverse)
            decrypt(&sk, b, n);
        else
            encrypt(&sk, b, n);
        for (size_t i = 0; i < len; i += TR_BLOCK) {
            if (addend == NOTHING)
                __builtin_memcpy(out + i, b + i, TR_BLOCK);
            else
                tr_xor_block(out + i, b + i, addend == INPUT ? in + i : before + i);
        }
        in += len;
        out += len;
        blocks -= n;
    }
    tr_cleanse(&sk, sizeof(sk));
    tr_cleanse(b, sizeof(b));
}

#ifndef TR_OWN_SERIAL
/* One loop for the serial modes: the cipher's input is the chaining value, to which CBC adds the
 * plaintext first and CFB and OFB afterwards. */
static void serial(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in, size_t blocks,
                   uint8_t *iv, enum tr_op op)
{
    struct schedule sk;
    uint8_t b[TR_BLOCK * BLOCKS] = {0};
    prepare(&sk, key, 0);
    __builtin_memcpy(b, iv, TR_BLOCK);
    for (; blocks != 0; blocks--, in += TR_BLOCK, out += TR_BLOCK) {
        if (op == TR_OP_CBC_ENCRYPT)
            tr_xor_block(b, b, in);
        encrypt(&sk, b, 1);
        if (op == TR_OP_CFB_ENCRYPT)
            tr_xor_block(b, b, in);
        if (op == TR_OP_OFB)
            tr_xor_block(out, b, in);
        else
            __builtin_memcpy(out, b, TR_BLOCK);
    }
    __builtin_memcpy(iv, b, TR_BLOCK);
    tr_cleanse(&sk, sizeof(sk));
    tr_cleanse(b, sizeof(b));
}

#endif

#define PARALLEL(name, inverse, source, addend)                                                    \
    static void name(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in, size_t blocks, \
                     void *iv)                                                                     \
    {                                                                                              \
        parallel(key, out, in, blocks, iv, inverse, source, addend);                               \
    }
PARALLEL(ecb_encrypt, 0, THE_INPUT, NOTHING)
PARALLEL(ecb_decrypt, 1, THE_INPUT, NOTHING)
PARALLEL(cbc_decrypt, 1, THE_INPUT, INPUT_BEFORE)
PARALLEL(cfb_decrypt, 0, THE_INPUT_BEFORE, INPUT)
PARALLEL(ctr, 0, THE_COUNTER, INPUT)

#define SERIAL(name, op)                                                                           \
    static void name(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in, size_t blocks, \
                     void *iv)                                                                     \
    {                                                                                              \
        serial(key, out, in, blocks, iv, op);                                                      \
    }
SERIAL(cbc_encrypt, TR_OP_CBC_ENCRYPT)
SERIAL(cfb_encrypt, TR_OP_CFB_ENCRYPT)
SERIAL(ofb, TR_OP_OFB)

#define TR_PORTABLE_OPS                                                                            \
    [TR_OP_ECB_ENCRYPT] = ecb_encrypt, [TR_OP_ECB_DECRYPT] = ecb_decrypt,                          \
    [TR_OP_CBC_ENCRYPT] = cbc_encrypt, [TR_OP_CBC_DECRYPT] = cbc_decrypt,                          \
    [TR_OP_CFB_ENCRYPT] = cfb_encrypt, [TR_OP_CFB_DECRYPT] = cfb_decrypt, [TR_OP_OFB] = ofb,       \
    [TR_OP_CTR] = ctr

#endif
