/* SPDX-License-Identifier: BSD-2-Clause */
/* What streaming (gcm.c) and one-shot calls (gcm_message.c) of GCM share: whole messages. */
#ifndef TR_GCM_H
#define TR_GCM_H

#include "dispatch/ghash.h"
#include "modes/modes.h"
#include "partial_block.h"

/* The length of an IV that needs no hashing, in bytes (SP 800-38D section 7.1 step 2). */
#define TR_GCM_IV 12u

/* The longest message in bytes (SP 800-38D section 5.2.1.1). */
#define TR_GCM_MAX_DATA 0xfffffffe0u

/* The longest AAD and IV in bytes (SP 800-38D section 5.2.1.1). */
#define TR_GCM_MAX_AAD 0x1fffffffffffffffu

/* The counter block of a 96-bit IV with the counter `number`, at most 255. The counter of J0 is 1,
 * that of the first block of data is 2. */
TR_INLINE struct partial_block tr_gcm_counter_block(const uint8_t iv[TR_GCM_IV], unsigned number)
{
    struct partial_block block = partial_load_nonce(iv);
    block.high |= (uint64_t)number << 56;
    return block;
}

/*
 * Seals or opens a whole message with one bulk operation (GCM_SEAL, GCM_OPEN), and returns 1.
 * Returns 0 if no backend has this operation, if the message is too long for one call, or if the
 * environment refuses the vector registers. The caller does not use tr_bulk(), because tr_bulk()
 * may split the message.
 */
TR_INLINE int tr_gcm_whole(const struct tr_gcm_key *key, enum tr_op op, uint8_t *out,
                           const uint8_t *in, struct tr_gcm_message *m)
{
    if ((m->aad_len | m->len) > TR_GCM_MAX_DATA / 2)
        return 0;
    const size_t blocks = (size_t)(m->len + TR_BLOCK - 1) / TR_BLOCK;
    const struct tr_backend *b = tr_backend_doing(key->aes.backend, op);
    if (b == NULL || blocks > tr_env_most_blocks(b->features) || !tr_env_vector_begin(b->features))
        return 0;
    m->hash = &key->hash;
    TR_PROBE_BULK(op, b->name, blocks * TR_BLOCK);
    b->bulk[op](&key->aes, out, in, blocks, m);
    tr_env_vector_end();
    return 1;
}

/*
 * As tr_gcm_whole(), but with two bulk operations. The first encrypts J0 and the counter blocks,
 * the second hashes AAD, ciphertext and lengths. Streaming needs more, one after the other. Returns
 * 0 if the message is longer than 16 blocks or its AAD longer than TR_GCM_HELD bytes.
 */
int tr_gcm_short(const struct tr_gcm_key *key, enum tr_op op, uint8_t *out, const uint8_t *in,
                 const struct tr_gcm_message *m);

/* Whether the n bytes at p reach another page of memory. */
TR_INLINE int tr_leaves_page(const uint8_t *p, size_t n)
{
    return __builtin_expect((uintptr_t)p % 4096 > 4096 - n, 0);
}

/* The length `len`, which gcc does not compare with others: it would pass on the constant to a
 * function that the caller jumps to, instead of leaving the argument where it is. */
TR_INLINE size_t tr_unknown(size_t len)
{
    __asm__("" : "+r"(len));
    return len;
}

/* Whether the message is short (tr_gcm_fn). Separate statements keep gcc 12 from combining
 * conditions in registers. */
TR_INLINE int tr_gcm_is_short(const struct tr_gcm_key *key, size_t iv_len, const uint8_t *aad,
                              size_t aad_len, const uint8_t *out, const uint8_t *in, size_t len,
                              size_t tag_len)
{
    const size_t last = (len - 1) / 64 * 64;
    /* short_len is 0 if the key is not set */
    if (len - 1 >= __atomic_load_n(&key->hash.short_len, __ATOMIC_ACQUIRE))
        return 0;
    if (tr_unknown(iv_len) != TR_GCM_IV)
        return 0;
    if (tr_unknown(tag_len) != TR_BLOCK)
        return 0;
    if (aad_len > TR_GCM_SHORT_AAD)
        return 0;
    if ((uintptr_t)out - (uintptr_t)in - 1 < len - 1)
        return 0;
    return !tr_leaves_page(in + last, 64) && !tr_leaves_page(out + last, 64) &&
           !tr_leaves_page(aad, TR_BLOCK);
}

/* The function for a short message. More than a block of AAD needs a power of H for each block.
 * With tr_unknown(), gcc keeps no result of tr_gcm_is_short() in a register that it must save. */
TR_INLINE tr_gcm_fn *tr_gcm_short_call(const struct tr_gcm_key *key, const uint8_t *aad,
                                       size_t aad_len, size_t len, int open)
{
    size_t i = (len - 1) / 32;
    if (__builtin_expect(aad_len > TR_BLOCK, 0)) {
        const size_t needed = len + TR_GCM_SHORT_AAD - TR_BLOCK;
        const int fits = needed <= __atomic_load_n(&key->hash.short_len, __ATOMIC_ACQUIRE) &&
                         tr_unknown((uintptr_t)aad) % 4096 <= 4096 - TR_GCM_SHORT_AAD;
        i = fits ? TR_GCM_LONG_AAD + i / 2 : TR_GCM_ANY;
    }
    return tr_whole_calls(&key->aes)->gcm[open][i];
}

/* Encryption of the first data of many messages, by the code for many messages. The caller sets the
 * fields `out`, `in` and `len` of each job, and the outputs overlap no other job. Gives the results
 * of tr_gcm_encrypt() for each message, and stores them in the field `status`. */
void tr_gcm_encrypt_many(struct tr_gcm *const *messages, struct tr_gcm_job *jobs, size_t count);

/* What tr_gcm_encrypt_many() needs of a message. tr_gcm_offer() returns 0 if the message cannot end
 * with its first data, and otherwise makes a job of it. tr_gcm_taken() says that this was done. */
int tr_gcm_offer(struct tr_gcm *g, struct tr_gcm_job *job);
void tr_gcm_taken(struct tr_gcm *g, size_t len);

#endif
