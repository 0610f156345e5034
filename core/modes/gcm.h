/* SPDX-License-Identifier: BSD-2-Clause */
/* What streaming (gcm.c) and one-shot calls (gcm_message.c) of GCM share: whole messages. */
#ifndef TR_GCM_H
#define TR_GCM_H

#include "dispatch/ghash.h"
#include "modes/modes.h"
#include "partial_block.h"

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

/* Seals or opens a whole message with one bulk operation (GCM_SEAL, GCM_OPEN), and returns 1.
 * Returns 0 if no backend has this operation, if the message is too long for one call, or if the
 * environment refuses the vector registers. The caller does not use tr_bulk(), because tr_bulk()
 * may split the message. */
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

/* As tr_gcm_whole(), but with two bulk operations. The first encrypts J0 and the counter blocks,
 * the second hashes AAD, ciphertext and lengths. Streaming needs more, one after the other. Returns
 * 0 if the message is longer than 16 blocks or its AAD longer than TR_GCM_HELD bytes. */
int tr_gcm_short(const struct tr_gcm_key *key, enum tr_op op, uint8_t *out, const uint8_t *in,
                 const struct tr_gcm_message *m);

/* tr_gcm_seal_any() and tr_gcm_open_any(). */
extern tr_gcm_fn *const tr_gcm_any[2];

/* The function for a message with `len` bytes of data: that of its length if it is short, else
 * tr_gcm_seal_any() or tr_gcm_open_any(). The choice has no branch, and its atomic load is relaxed.
 * Otherwise, gcc 12 would load all arguments on the stack, and store them again before the jump. */
TR_INLINE tr_gcm_fn *tr_gcm_call(const struct tr_gcm_key *key, size_t len, int open)
{
    uintptr_t any = (uintptr_t)&tr_gcm_any[open];
    /* If the message is not short, the backend may be NULL, and the index too large. */
    uintptr_t at = (uintptr_t)key->aes.backend + offsetof(struct tr_backend, whole.gcm);
    at += ((size_t)open * TR_GCM_CALLS + (len - 1) / TR_BLOCK) * sizeof(tr_gcm_fn *);
    __asm__("" : "+r"(at), "+r"(any));
    at = len - 1 < __atomic_load_n(&key->hash.short_len, __ATOMIC_RELAXED) ? at : any;
    __asm__("" : "+r"(at));
    return *(tr_gcm_fn *const *)at;
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
