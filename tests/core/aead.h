/* SPDX-License-Identifier: BSD-2-Clause */
/* The authenticated modes behind one set of functions, for tests that are the same for all. */
#ifndef TENROUNDS_TESTS_AEAD_H
#define TENROUNDS_TESTS_AEAD_H

#include "common.h"

union aead_state {
    struct tr_gcm gcm;
};

/* What is announced of a message. */
struct aead_lengths {
    size_t key, iv, aad, text, tag;
};

/*
 * A message is start, aad, crypt and end; or, in one call, whole. The tag is an output of encryption and an
 * input of decryption: of crypt where data come in one call, else of end.
 */
struct aead {
    const char *name;
    size_t key_min, key_max, key_step;
    size_t iv_min, iv_max, iv_usual;
    size_t tag_min, tag_step; /* to 16 */
    size_t unit;              /* pieces of data are a multiple of this; 0: one call */
    bool aad_in_one_call;
    enum tr_status (*set_key)(union aead_state *s, const struct tr_backend *b, const uint8_t *raw,
                              size_t len);
    enum tr_status (*start)(union aead_state *s, const uint8_t *iv, const struct aead_lengths *n);
    enum tr_status (*aad)(union aead_state *s, const uint8_t *aad, size_t len);
    enum tr_status (*crypt)(union aead_state *s, bool decrypt, uint8_t *out, const uint8_t *in,
                            size_t len, uint8_t *tag);
    enum tr_status (*end)(union aead_state *s, bool decrypt, uint8_t *tag, size_t len);
    enum tr_status (*whole)(union aead_state *s, bool decrypt, const struct aead_lengths *n,
                            const uint8_t *iv, const uint8_t *aad, uint8_t *out, const uint8_t *in,
                            uint8_t *tag);
};

/* ---- GCM ------------------------------------------------------------------------------------ */

static inline enum tr_status aead_gcm_set_key(union aead_state *s, const struct tr_backend *b,
                                              const uint8_t *raw, size_t len)
{
    return tr_gcm_set_key(&s->gcm, b, raw, len);
}

static inline enum tr_status aead_gcm_start(union aead_state *s, const uint8_t *iv,
                                            const struct aead_lengths *n)
{
    return tr_gcm_start(&s->gcm, iv, n->iv);
}

static inline enum tr_status aead_gcm_aad(union aead_state *s, const uint8_t *aad, size_t len)
{
    return tr_gcm_aad(&s->gcm, aad, len);
}

static inline enum tr_status aead_gcm_crypt(union aead_state *s, bool decrypt, uint8_t *out,
                                            const uint8_t *in, size_t len, uint8_t *tag)
{
    (void)tag;
    return (decrypt ? tr_gcm_decrypt : tr_gcm_encrypt)(&s->gcm, out, in, len);
}

static inline enum tr_status aead_gcm_end(union aead_state *s, bool decrypt, uint8_t *tag,
                                          size_t len)
{
    return decrypt ? tr_gcm_check(&s->gcm, tag, len) : tr_gcm_tag(&s->gcm, tag, len);
}

static inline enum tr_status aead_gcm_whole(union aead_state *s, bool decrypt,
                                            const struct aead_lengths *n, const uint8_t *iv,
                                            const uint8_t *aad, uint8_t *out, const uint8_t *in,
                                            uint8_t *tag)
{
    return decrypt ? tr_gcm_open(&s->gcm, iv, n->iv, aad, n->aad, out, in, n->text, tag, n->tag)
                   : tr_gcm_seal(&s->gcm, iv, n->iv, aad, n->aad, out, in, n->text, tag, n->tag);
}

/* ---- All ------------------------------------------------------------------------------------ */

static const struct aead all_aeads[] = {
    {"GCM", 16, 32, 8, 1, 128, 12, 1, 1, 1, false, aead_gcm_set_key, aead_gcm_start, aead_gcm_aad,
     aead_gcm_crypt, aead_gcm_end, aead_gcm_whole},
};
#define AEADS (sizeof(all_aeads) / sizeof(*all_aeads))

/* Lengths that the mode takes; text is set by the caller. */
static inline struct aead_lengths aead_random_lengths(struct tap_random *rng, const struct aead *a,
                                                      size_t text)
{
    struct aead_lengths n = {.text = text};
    n.key = a->key_min + a->key_step * tap_below(rng, (a->key_max - a->key_min) / a->key_step + 1);
    n.tag = a->tag_min + a->tag_step * tap_below(rng, (16 - a->tag_min) / a->tag_step + 1);
    n.iv = tap_below(rng, 2) == 0 ? a->iv_usual
                                  : a->iv_min + tap_below(rng, a->iv_max - a->iv_min + 1);
    n.aad = tap_below(rng, tap_below(rng, 4) == 0 ? 700 : 40);
    return n;
}

#endif
