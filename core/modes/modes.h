/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions that the modes share. Each mode is one file that calls bulk operations. */
#ifndef TR_MODES_H
#define TR_MODES_H

#include "dispatch/backend.h"
#include "util.h"

/* Whether the key is set: in a cleansed key, `backend` is NULL. Every call checks this before it
 * uses the key. */
TR_INLINE int tr_is_set(const struct tr_aes_key *key)
{
    return __builtin_expect(key->backend != NULL, 1);
}

/* The functions that a mode tries before tr_bulk(). All are NULL in an environment that may refuse
 * the vector registers. */
TR_INLINE const struct tr_whole_calls *tr_whole_calls(const struct tr_aes_key *key)
{
#ifdef TR_ENV_ALWAYS_VECTOR
    return &key->backend->whole;
#else
    static const struct tr_whole_calls none;
    return (void)key, &none;
#endif
}

/* The function for a call of `blocks` blocks that replaces tr_bulk(), or NULL. */
TR_INLINE tr_blocks_fn *tr_whole_call(const struct tr_aes_key *key, enum tr_op op, size_t blocks)
{
    return blocks <= TR_FEW ? tr_whole_calls(key)->few[op] : tr_whole_calls(key)->more[op];
}

/* As tr_bulk(), for the parallel modes. */
TR_INLINE void tr_short_bulk(const struct tr_aes_key *key, enum tr_op op, uint8_t *out,
                             const uint8_t *in, size_t blocks, void *state)
{
    tr_blocks_fn *whole = tr_whole_call(key, op, blocks);
    if (whole != NULL) {
        TR_PROBE_BULK(op, key->backend->name, blocks * TR_BLOCK);
        (void)whole(key, out, in, blocks, state);
        return;
    }
    tr_bulk(key, op, out, in, blocks, state);
}

/* Whether the n bytes at p reach another page of memory. */
TR_INLINE int tr_leaves_page(const uint8_t *p, size_t n)
{
    return __builtin_expect((uintptr_t)p % 4096 > 4096 - n, 0);
}

/* Runs a mode that takes only whole blocks. */
TR_INLINE enum tr_status tr_whole_blocks(const struct tr_aes_key *key, enum tr_op op, uint8_t *out,
                                         const uint8_t *in, size_t len, uint8_t *iv)
{
    if (!tr_is_set(key))
        return TR_ERR_STATE;
    if (__builtin_expect(len % TR_BLOCK != 0, 0))
        return TR_ERR_LENGTH;
    if (__builtin_expect(len == 0, 0))
        return TR_OK;
    if (__builtin_expect(tr_bad_overlap(out, in, len), 0))
        return TR_ERR_OVERLAP;
    tr_blocks_fn *whole = tr_whole_call(key, op, len / TR_BLOCK);
    if (whole != NULL) {
        TR_PROBE_BULK(op, key->backend->name, len);
        return whole(key, out, in, len / TR_BLOCK, iv);
    }
    tr_bulk(key, op, out, in, len / TR_BLOCK, iv);
    return TR_OK;
}

/* For modes that take any length: whether tr_whole_blocks() can process the whole call. Most calls
 * have only whole blocks. Other calls go to a separate function (TR_ANY_LENGTH), so that they do
 * not slow down the common calls. */
TR_INLINE int tr_is_whole(size_t len, unsigned used)
{
    return __builtin_expect((len % TR_BLOCK | used) == 0, 1);
}
#define TR_ANY_LENGTH static __attribute__((__noinline__)) enum tr_status

/* For modes that take any length: checks a call's arguments. */
TR_INLINE enum tr_status tr_stream_check(const struct tr_aes_key *key, const uint8_t *out,
                                         const uint8_t *in, size_t len, unsigned used)
{
    if (!tr_is_set(key))
        return TR_ERR_STATE;
    if (used >= TR_BLOCK)
        return TR_ERR_LENGTH;
    return tr_bad_overlap(out, in, len) ? TR_ERR_OVERLAP : TR_OK;
}

/* Blocks per chunk in a mode composed of several operations. A chunk stays in the L1 cache, and is
 * long enough for the widest backend. */
#define TR_CHUNK 64u

/* Returns `first` if both keys are equal, otherwise `key`. Multi-buffer code is faster if equal
 * keys have one address. The keys' bytes are secret, but not their equality. */
static inline const struct tr_aes_key *tr_shared_key(const struct tr_aes_key *first,
                                                     const struct tr_aes_key *key)
{
    return key != first && key->backend == first->backend && key->rounds == first->rounds &&
                   TR_PUBLIC(tr_equal(key->enc[0], first->enc[0], 2 * TR_BLOCK))
               ? first
               : key;
}

/* Whether backend i passes a test. Runs the test before the first use, and stores the result in
 * *verdicts, two bits per backend. Racing threads compute the same result. */
TR_INLINE int tr_passes_once(uint32_t *verdicts, unsigned i,
                             enum tr_status test(const struct tr_backend *))
{
    const uint32_t right = (uint32_t)1 << 2 * i, wrong = (uint32_t)2 << 2 * i;
    uint32_t known = __atomic_load_n(verdicts, __ATOMIC_RELAXED) & (right | wrong);
    if (known == 0) {
        known = test(tr_backend_at(i)) == TR_OK ? right : wrong;
        __atomic_fetch_or(verdicts, known, __ATOMIC_RELAXED);
    }
    return known == right;
}

/* Whether multi-message code can process messages of both keys together. */
TR_INLINE int tr_are_like(const struct tr_aes_key *a, const struct tr_aes_key *b)
{
    return a->backend == b->backend && a->rounds == b->rounds;
}

#endif
