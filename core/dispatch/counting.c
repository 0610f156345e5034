/* SPDX-License-Identifier: BSD-2-Clause */
#include "dispatch/counting.h"

static const struct tr_counting_table *front_of(const struct tr_backend *table)
{
    return (const struct tr_counting_table *)table;
}

static void count(const struct tr_backend *table, enum tr_op op, size_t blocks)
{
    const struct tr_counting_table *front = front_of(table);
    __atomic_fetch_add(&front->bulk[op].calls, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&front->bulk[op].bytes, blocks * TR_BLOCK, __ATOMIC_RELAXED);
}

static void count_and_do(enum tr_op op, const struct tr_aes_key *key, uint8_t *out,
                         const uint8_t *in, size_t blocks, void *iv)
{
    const struct tr_backend *table = tr_backend_doing(key->backend, op);
    count(table, op, blocks);
    front_of(table)->wrapped->bulk[op](key, out, in, blocks, iv);
}

#define COUNTED(constant, name)                                                                    \
    static void count_##name(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,        \
                             size_t blocks, void *iv)                                              \
    {                                                                                              \
        count_and_do(TR_OP_##constant, key, out, in, blocks, iv);                                  \
    }
TR_BULK_OPS(COUNTED)
#undef COUNTED

static tr_bulk_fn *const counted[TR_OPS] = {
#define ENTRY(constant, name) count_##name,
    TR_BULK_OPS(ENTRY)
#undef ENTRY
};

/* Counts a key expansion, and returns the backend that does it. */
static const struct tr_backend *counted_key(const struct tr_aes_key *key)
{
    const struct tr_counting_table *front = front_of(key->backend);
    __atomic_fetch_add(front->keys, 1, __ATOMIC_RELAXED);
    return front->wrapped;
}

static void count_expand_key(struct tr_aes_key *key, const uint8_t *raw)
{
    counted_key(key)->expand_key(key, raw);
}

static void count_expand_encryption_key(struct tr_aes_key *key, const uint8_t *raw)
{
    counted_key(key)->expand_encryption_key(key, raw);
}

static void count_gcm_key(struct tr_aes_key *key, struct tr_ghash_key *hash, const uint8_t *raw)
{
    counted_key(key)->gcm_key(key, hash, raw);
}

const struct tr_backend *tr_counting_init(struct tr_counting *counting,
                                          const struct tr_backend *backend,
                                          struct tr_counters *counters)
{
    struct tr_counting_table *front = counting->front;
    for (const struct tr_backend *b = backend; b != NULL; b = b->weaker, front++) {
        unsigned index = tr_backend_index(b);
        *front = (struct tr_counting_table){
            .wrapped = b,
            .bulk = counters->bulk[index],
            .keys = &counters->keys[index],
            .table = {.name = b->name,
                      .features = b->features,
                      .weaker = b->weaker ? &front[1].table : NULL,
                      .expand_key = count_expand_key,
                      .expand_encryption_key =
                          b->expand_encryption_key != NULL ? count_expand_encryption_key : NULL,
                      .ghash_key = b->ghash_key,
                      .ghash_key_refused = b->ghash_key_refused,
                      .gcm_key = b->gcm_key != NULL ? count_gcm_key : NULL,
                      .multibuffer = b->multibuffer,
                      .count_blocks = count}};
        for (unsigned op = 0; op < TR_OPS; op++)
            front->table.bulk[op] = b->bulk[op] != NULL ? counted[op] : NULL;
    }
    return &counting->front[0].table;
}
