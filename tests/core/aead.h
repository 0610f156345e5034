/* SPDX-License-Identifier: BSD-2-Clause */
/* The authenticated modes behind one table of functions, for tests that are common to all modes. */
#ifndef TENROUNDS_TESTS_AEAD_H
#define TENROUNDS_TESTS_AEAD_H

#include "common.h"

/* A key and a message under it. */
struct aead_state {
    union {
        struct tr_gcm_key gcm;
        struct tr_ccm_key ccm;
        struct tr_ocb_key ocb;
        struct tr_siv_key siv;
        struct tr_gcm_siv_key gcm_siv;
    } key;
    union {
        struct tr_gcm gcm;
        struct tr_ccm ccm;
        struct tr_ocb ocb;
        struct tr_siv siv;
        struct tr_gcm_siv gcm_siv;
    } message;
};

/* The lengths of a message and its key. */
struct aead_lengths {
    size_t key, iv, aad, text, tag;
};

/*
 * A mode's functions and limits. To process a message, call start, aad, crypt and end (streaming),
 * or `whole` (one-shot). Encryption outputs the tag, and decryption takes it as input. In modes
 * that take all data in one call, crypt() outputs or checks the tag, and `end` is NULL. In the
 * other modes, end() outputs or checks the tag, and crypt() ignores its argument `tag`.
 */
struct aead {
    const char *name;
    struct {
        size_t min, max, step;
    } key;
    struct {
        size_t min, max, usual;
    } iv;
    size_t tag_min, tag_step; /* tag lengths in bytes: tag_min, tag_min + tag_step, .., 16 */
    /* All pieces of data but the last are a multiple of this many bytes. 0: the mode takes all data
     * in one call. */
    size_t unit;
    bool aad_in_one_call;
    enum tr_status (*set_key)(struct aead_state *s, const struct tr_backend *b, const uint8_t *raw,
                              size_t len);
    enum tr_status (*start)(struct aead_state *s, const uint8_t *iv, const struct aead_lengths *n);
    enum tr_status (*aad)(struct aead_state *s, const uint8_t *aad, size_t len);
    enum tr_status (*crypt)(struct aead_state *s, bool decrypt, uint8_t *out, const uint8_t *in,
                            size_t len, uint8_t *tag);
    enum tr_status (*end)(struct aead_state *s, bool decrypt, uint8_t *tag, size_t len);
    enum tr_status (*whole)(struct aead_state *s, bool decrypt, const struct aead_lengths *n,
                            const uint8_t *iv, const uint8_t *aad, uint8_t *out, const uint8_t *in,
                            uint8_t *tag);
};

/* ---- Functions of the same form in several modes --------------------------------------------- */

#define AEAD_KEYED(mode)                                                                           \
    static inline enum tr_status aead_##mode##_set_key(                                            \
        struct aead_state *s, const struct tr_backend *b, const uint8_t *raw, size_t len)          \
    {                                                                                              \
        return tr_##mode##_set_key(&s->key.mode, b, raw, len);                                     \
    }                                                                                              \
    static inline enum tr_status aead_##mode##_aad(struct aead_state *s, const uint8_t *aad,       \
                                                   size_t len)                                     \
    {                                                                                              \
        return tr_##mode##_aad(&s->message.mode, aad, len);                                        \
    }
AEAD_KEYED(gcm)
AEAD_KEYED(ccm)
AEAD_KEYED(ocb)
AEAD_KEYED(siv)
AEAD_KEYED(gcm_siv)

/* Modes that stream: data in pieces, then the tag. */
#define AEAD_STREAMING(mode)                                                                       \
    static inline enum tr_status aead_##mode##_crypt(struct aead_state *s, bool decrypt,           \
                                                     uint8_t *out, const uint8_t *in, size_t len,  \
                                                     uint8_t *tag)                                 \
    {                                                                                              \
        (void)tag;                                                                                 \
        return (decrypt ? tr_##mode##_decrypt : tr_##mode##_encrypt)(&s->message.mode, out, in,    \
                                                                     len);                         \
    }                                                                                              \
    static inline enum tr_status aead_##mode##_whole(                                              \
        struct aead_state *s, bool decrypt, const struct aead_lengths *n, const uint8_t *iv,       \
        const uint8_t *aad, uint8_t *out, const uint8_t *in, uint8_t *tag)                         \
    {                                                                                              \
        if (decrypt)                                                                               \
            return tr_##mode##_open(&s->key.mode, iv, n->iv, aad, n->aad, out, in, n->text, tag,   \
                                    n->tag);                                                       \
        return tr_##mode##_seal(&s->key.mode, iv, n->iv, aad, n->aad, out, in, n->text, tag,       \
                                n->tag);                                                           \
    }
AEAD_STREAMING(gcm)
AEAD_STREAMING(ccm)
AEAD_STREAMING(ocb)

/* Modes that take data and tag in one call. */
#define AEAD_IN_ONE_CALL(mode)                                                                     \
    static inline enum tr_status aead_##mode##_crypt(struct aead_state *s, bool decrypt,           \
                                                     uint8_t *out, const uint8_t *in, size_t len,  \
                                                     uint8_t *tag)                                 \
    {                                                                                              \
        return decrypt ? tr_##mode##_decrypt(&s->message.mode, out, in, len, tag)                  \
                       : tr_##mode##_encrypt(&s->message.mode, out, in, len, tag);                 \
    }
AEAD_IN_ONE_CALL(siv)
AEAD_IN_ONE_CALL(gcm_siv)

/* ---- The functions of each mode ----------------------------------------------------------- */

static inline enum tr_status aead_gcm_start(struct aead_state *s, const uint8_t *iv,
                                            const struct aead_lengths *n)
{
    return tr_gcm_start(&s->message.gcm, &s->key.gcm, iv, n->iv);
}

static inline enum tr_status aead_gcm_end(struct aead_state *s, bool decrypt, uint8_t *tag,
                                          size_t len)
{
    return decrypt ? tr_gcm_check(&s->message.gcm, tag, len)
                   : tr_gcm_tag(&s->message.gcm, tag, len);
}

static inline enum tr_status aead_ccm_start(struct aead_state *s, const uint8_t *iv,
                                            const struct aead_lengths *n)
{
    return tr_ccm_start(&s->message.ccm, &s->key.ccm, iv, n->iv, n->tag, n->aad, n->text);
}

static inline enum tr_status aead_ccm_end(struct aead_state *s, bool decrypt, uint8_t *tag,
                                          size_t len)
{
    (void)len;
    return decrypt ? tr_ccm_check(&s->message.ccm, tag) : tr_ccm_tag(&s->message.ccm, tag);
}

static inline enum tr_status aead_ocb_start(struct aead_state *s, const uint8_t *iv,
                                            const struct aead_lengths *n)
{
    return tr_ocb_start(&s->message.ocb, &s->key.ocb, iv, n->iv, n->tag);
}

static inline enum tr_status aead_ocb_end(struct aead_state *s, bool decrypt, uint8_t *tag,
                                          size_t len)
{
    (void)len;
    return decrypt ? tr_ocb_check(&s->message.ocb, tag) : tr_ocb_tag(&s->message.ocb, tag);
}

/* Passes the IV as the first AAD component, because start() comes before the AAD. RFC 5297
 * section 3 puts a nonce last; these tests do not depend on the order. */
static inline enum tr_status aead_siv_start(struct aead_state *s, const uint8_t *iv,
                                            const struct aead_lengths *n)
{
    const enum tr_status status = tr_siv_start(&s->message.siv, &s->key.siv);
    return status != TR_OK || n->iv == 0 ? status : tr_siv_aad(&s->message.siv, iv, n->iv);
}

static inline enum tr_status aead_siv_whole(struct aead_state *s, bool decrypt,
                                            const struct aead_lengths *n, const uint8_t *iv,
                                            const uint8_t *aad, uint8_t *out, const uint8_t *in,
                                            uint8_t *tag)
{
    enum tr_status status = aead_siv_start(s, iv, n);
    if (status == TR_OK && n->aad > 0)
        status = tr_siv_aad(&s->message.siv, aad, n->aad);
    return status == TR_OK ? aead_siv_crypt(s, decrypt, out, in, n->text, tag) : status;
}

static inline enum tr_status aead_gcm_siv_start(struct aead_state *s, const uint8_t *iv,
                                                const struct aead_lengths *n)
{
    (void)n;
    return tr_gcm_siv_start(&s->message.gcm_siv, &s->key.gcm_siv, iv);
}

static inline enum tr_status aead_gcm_siv_whole(struct aead_state *s, bool decrypt,
                                                const struct aead_lengths *n, const uint8_t *iv,
                                                const uint8_t *aad, uint8_t *out, const uint8_t *in,
                                                uint8_t *tag)
{
    if (decrypt)
        return tr_gcm_siv_open(&s->key.gcm_siv, iv, aad, n->aad, out, in, n->text, tag);
    return tr_gcm_siv_seal(&s->key.gcm_siv, iv, aad, n->aad, out, in, n->text, tag);
}

/* ---- The table of modes ------------------------------------------------------------------- */

static const struct aead all_aeads[] = {
    {"GCM",
     {16, 32, 8},
     {1, 128, 12},
     1,
     1,
     1,
     false,
     aead_gcm_set_key,
     aead_gcm_start,
     aead_gcm_aad,
     aead_gcm_crypt,
     aead_gcm_end,
     aead_gcm_whole},
    {"CCM",
     {16, 32, 8},
     {7, 13, 12},
     4,
     2,
     1,
     false,
     aead_ccm_set_key,
     aead_ccm_start,
     aead_ccm_aad,
     aead_ccm_crypt,
     aead_ccm_end,
     aead_ccm_whole},
    {"OCB",
     {16, 32, 8},
     {1, 15, 12},
     1,
     1,
     16,
     false,
     aead_ocb_set_key,
     aead_ocb_start,
     aead_ocb_aad,
     aead_ocb_crypt,
     aead_ocb_end,
     aead_ocb_whole},
    {"SIV",
     {32, 64, 16},
     {1, 32, 16},
     16,
     1,
     0,
     true,
     aead_siv_set_key,
     aead_siv_start,
     aead_siv_aad,
     aead_siv_crypt,
     NULL,
     aead_siv_whole},
    {"GCM-SIV",
     {16, 32, 8},
     {12, 12, 12},
     16,
     1,
     0,
     false,
     aead_gcm_siv_set_key,
     aead_gcm_siv_start,
     aead_gcm_siv_aad,
     aead_gcm_siv_crypt,
     NULL,
     aead_gcm_siv_whole},
};
#define AEADS (sizeof(all_aeads) / sizeof(*all_aeads))

/* Random lengths that the mode accepts, for a text of the given length. */
static inline struct aead_lengths aead_random_lengths(struct tap_random *rng, const struct aead *a,
                                                      size_t text)
{
    struct aead_lengths n = {.text = text};
    n.key = a->key.min + a->key.step * tap_below(rng, (a->key.max - a->key.min) / a->key.step + 1);
    n.tag = a->tag_min + a->tag_step * tap_below(rng, (16 - a->tag_min) / a->tag_step + 1);
    n.iv = tap_below(rng, 2) == 0 ? a->iv.usual
                                  : a->iv.min + tap_below(rng, a->iv.max - a->iv.min + 1);
    n.aad = tap_below(rng, tap_below(rng, 4) == 0 ? 700 : 40);
    return n;
}

#endif
