/* SPDX-License-Identifier: BSD-2-Clause */
/* The authenticated modes behind one table of functions, for tests that are common to all modes. */
#ifndef TENROUNDS_TESTS_AEAD_H
#define TENROUNDS_TESTS_AEAD_H

#include "common.h"

/* The table of modes: X(name, identifier, form, known-answer tests, sizes of key and message
 * object, then the fields of struct aead before its functions). A form says which functions a mode
 * has: STREAMING takes data in pieces, then the tag; ONE_CALL takes all data and the tag in one
 * call. */
#define AEAD_MODES(X)                                                                              \
    X("GCM", gcm, STREAMING, TR_TEST_GCM, 1104, 208, {16, 32, 8}, {1, 128, 12}, 1, 1, 1,           \
      GCM_TOO_LONG, 0, 0)                                                                          \
    X("CCM", ccm, STREAMING, TR_TESTS_CCM, 496, 96, {16, 32, 8}, {7, 13, 12}, 4, 2, 1, 1 << 24, 0, \
      1)                                                                                           \
    X("OCB", ocb, STREAMING, TR_TEST_OCB, 784, 128, {16, 32, 8}, {1, 15, 12}, 1, 1, 16, 0, 0, 1)   \
    X("SIV", siv, ONE_CALL, TR_TESTS_SIV, 1040, 32, {32, 64, 16}, {1, 32, 16}, 16, 1, 0, 0, 1, 0)  \
    X("GCM-SIV", gcm_siv, ONE_CALL, TR_TEST_GCM_SIV, 496, 1184, {16, 32, 8}, {12, 12, 12}, 16, 1,  \
      0, GCM_SIV_TOO_LONG, 0, 0)

#if SIZE_MAX > 0xffffffff
#    define GCM_TOO_LONG     0xfffffffe1
#    define GCM_SIV_TOO_LONG 0x1000000001
#    define AEAD_SIZES(name, mode, form, tests, key, message, ...)                                 \
        _Static_assert(sizeof(struct tr_##mode##_key) == (key) &&                                  \
                           sizeof(struct tr_##mode) == (message),                                  \
                       "sizes of " name " differ from those in tenrounds.h");
AEAD_MODES(AEAD_SIZES)
#else /* size_t cannot hold such a length, and the sizes are for 64-bit code */
#    define GCM_TOO_LONG     0
#    define GCM_SIV_TOO_LONG 0
#endif

/* The modes' indices in all_aeads. */
enum {
#define AEAD_INDEX(name, mode, ...) AEAD_##mode,
    AEAD_MODES(AEAD_INDEX) AEADS
};

/* A key and a message under it. */
struct aead_state {
    union {
#define AEAD_KEY(name, mode, ...) struct tr_##mode##_key mode;
        AEAD_MODES(AEAD_KEY)
    } key;
    union {
#define AEAD_MESSAGE(name, mode, ...) struct tr_##mode mode;
        AEAD_MODES(AEAD_MESSAGE)
    } message;
};

/* The lengths of a message and its key. */
struct aead_lengths {
    size_t key, iv, aad, text, tag;
};

/* A mode's functions and limits. To process a message, call start, aad, crypt and end (streaming),
 * or `whole` (one-shot). Encryption outputs the tag, and decryption takes it as input. In modes
 * that take all data in one call, crypt() outputs or checks the tag, and `end` is NULL. In the
 * other modes, end() outputs or checks the tag, and crypt() ignores its argument `tag`. */
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
    size_t too_long;       /* a length of data that the mode refuses; 0: none is tested */
    bool aad_in_one_call;  /* each call of aad() is a component of the AAD */
    bool tag_len_at_start; /* start() takes the tag's length, otherwise end() */
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

#define AEAD_FUNCTIONS(name, mode, form, ...)                                                      \
    static inline enum tr_status aead_##mode##_set_key(                                            \
        struct aead_state *s, const struct tr_backend *b, const uint8_t *raw, size_t len)          \
    {                                                                                              \
        return tr_##mode##_set_key(&s->key.mode, b, raw, len);                                     \
    }                                                                                              \
    static inline enum tr_status aead_##mode##_aad(struct aead_state *s, const uint8_t *aad,       \
                                                   size_t len)                                     \
    {                                                                                              \
        return tr_##mode##_aad(&s->message.mode, aad, len);                                        \
    }                                                                                              \
    static inline enum tr_status aead_##mode##_crypt(struct aead_state *s, bool decrypt,           \
                                                     uint8_t *out, const uint8_t *in, size_t len,  \
                                                     uint8_t *tag)                                 \
    {                                                                                              \
        (void)tag;                                                                                 \
        return decrypt ? tr_##mode##_decrypt(&s->message.mode, out, in, len AEAD_TAG_##form)       \
                       : tr_##mode##_encrypt(&s->message.mode, out, in, len AEAD_TAG_##form);      \
    }
#define AEAD_TAG_STREAMING
#define AEAD_TAG_ONE_CALL , tag
AEAD_MODES(AEAD_FUNCTIONS)

#define AEAD_WHOLE(mode, ...)                                                                      \
    static inline enum tr_status aead_##mode##_whole(                                              \
        struct aead_state *s, bool decrypt, const struct aead_lengths *n, const uint8_t *iv,       \
        const uint8_t *aad, uint8_t *out, const uint8_t *in, uint8_t *tag)                         \
    {                                                                                              \
        return decrypt ? tr_##mode##_open(&s->key.mode, __VA_ARGS__)                               \
                       : tr_##mode##_seal(&s->key.mode, __VA_ARGS__);                              \
    }
AEAD_WHOLE(gcm, iv, n->iv, aad, n->aad, out, in, n->text, tag, n->tag)
AEAD_WHOLE(ccm, iv, n->iv, aad, n->aad, out, in, n->text, tag, n->tag)
AEAD_WHOLE(ocb, iv, n->iv, aad, n->aad, out, in, n->text, tag, n->tag)
AEAD_WHOLE(gcm_siv, iv, aad, n->aad, out, in, n->text, tag)

#define AEAD_START(mode, ...)                                                                      \
    static inline enum tr_status aead_##mode##_start(struct aead_state *s, const uint8_t *iv,      \
                                                     const struct aead_lengths *n)                 \
    {                                                                                              \
        (void)n;                                                                                   \
        return tr_##mode##_start(&s->message.mode, &s->key.mode, __VA_ARGS__);                     \
    }
AEAD_START(gcm, iv, n->iv)
AEAD_START(ccm, iv, n->iv, n->tag, n->aad, n->text)
AEAD_START(ocb, iv, n->iv, n->tag)
AEAD_START(gcm_siv, iv)

#define AEAD_END(mode, ...)                                                                        \
    static inline enum tr_status aead_##mode##_end(struct aead_state *s, bool decrypt,             \
                                                   uint8_t *tag, size_t len)                       \
    {                                                                                              \
        (void)len;                                                                                 \
        return decrypt ? tr_##mode##_check(&s->message.mode, __VA_ARGS__)                          \
                       : tr_##mode##_tag(&s->message.mode, __VA_ARGS__);                           \
    }
AEAD_END(gcm, tag, len)
AEAD_END(ccm, tag)
AEAD_END(ocb, tag)

/* ---- The functions of SIV ------------------------------------------------------------------- */

/* Passes the IV as the first AAD component, because start() comes before the AAD. RFC 5297
 * section 3 puts a nonce last; these tests do not depend on the order. */
static inline enum tr_status aead_siv_start(struct aead_state *s, const uint8_t *iv,
                                            const struct aead_lengths *n)
{
    const enum tr_status status = tr_siv_start(&s->message.siv, &s->key.siv);
    return status != TR_OK || n->iv == 0 ? status : tr_siv_aad(&s->message.siv, iv, n->iv);
}

/* With an IV, the message has up to two components of AAD, so no one-shot function processes it.
 * Changes only its own message: threads share the key. */
static inline enum tr_status aead_siv_whole(struct aead_state *s, bool decrypt,
                                            const struct aead_lengths *n, const uint8_t *iv,
                                            const uint8_t *aad, uint8_t *out, const uint8_t *in,
                                            uint8_t *tag)
{
    const uint8_t *const only = n->aad > 0 ? aad : NULL;
    struct tr_siv m;
    if (n->iv == 0)
        return decrypt ? tr_siv_open(&s->key.siv, only, n->aad, out, in, n->text, tag)
                       : tr_siv_seal(&s->key.siv, only, n->aad, out, in, n->text, tag);
    enum tr_status status = tr_siv_start(&m, &s->key.siv);
    if (status == TR_OK)
        status = tr_siv_aad(&m, iv, n->iv);
    if (status == TR_OK && n->aad > 0)
        status = tr_siv_aad(&m, aad, n->aad);
    if (status != TR_OK)
        return status;
    return decrypt ? tr_siv_decrypt(&m, out, in, n->text, tag)
                   : tr_siv_encrypt(&m, out, in, n->text, tag);
}

/* ---- The table of functions ----------------------------------------------------------------- */

#define aead_siv_end     NULL
#define aead_gcm_siv_end NULL
static const struct aead all_aeads[] = {
#define AEAD_ROW(title, mode, form, tests, key_size, message_size, ...)                            \
    {title,                                                                                        \
     __VA_ARGS__,                                                                                  \
     aead_##mode##_set_key,                                                                        \
     aead_##mode##_start,                                                                          \
     aead_##mode##_aad,                                                                            \
     aead_##mode##_crypt,                                                                          \
     aead_##mode##_end,                                                                            \
     aead_##mode##_whole},
    AEAD_MODES(AEAD_ROW)};

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
