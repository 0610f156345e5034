/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests the errors that tenrounds.h promises, for the functions that take a key or a message
 * object. Covers objects that were never set or were cleansed, output that begins
 * inside the input, forged tags, and
 * wrong lengths of data, IV and tag. An error must leave the output and all objects unchanged.
 * Exception: on tag mismatch, a call that decrypts must leave zeros in the output.
 * A message that has ended must hold no secret.
 */
#include "aead.h"

/* Everything that a call may write. One comparison shows whether a call wrote anything. */
static struct world {
    uint8_t data[256], iv[16], keystream[16], tag[16];
    unsigned used;
    size_t out_len;
    struct tr_cipher cipher;
    struct tr_cmac cmac;
    struct aead_state aead; /* of the call's mode */
} w, before;

static struct keys {
    struct tr_aes_key aes;
    struct tr_xts_key xts;
    struct tr_cmac_key cmac;
    struct tr_ccm_key ccm; /* for tr_ccm_seal_many() */
    struct tr_gcm_key gcm; /* for tr_gcm_seal_many() */
} k;

/* The arguments of the next call. */
static uint8_t *out, *in;
static size_t len, iv_len, tag_len;
static struct tap_random rng;

#if SIZE_MAX > 0xffffffff /* aead.h has the sizes of the authenticated modes */
_Static_assert(sizeof(struct tr_aes_key) == 496 && sizeof(struct tr_xts_key) == 1008 &&
                   sizeof(struct tr_cmac_key) == 528 && sizeof(struct tr_cmac) == 48 &&
                   sizeof(struct tr_cipher) == 48,
               "sizes differ from those in tenrounds.h");
#endif

/* ---- The calls ---- */

#define CALL(name, ...)                                                                            \
    static enum tr_status call_##name(void)                                                        \
    {                                                                                              \
        return __VA_ARGS__;                                                                        \
    }

CALL(ecb_encrypt, tr_ecb_encrypt(&k.aes, out, in, len))
CALL(ecb_decrypt, tr_ecb_decrypt(&k.aes, out, in, len))
CALL(cbc_encrypt, tr_cbc_encrypt(&k.aes, w.iv, out, in, len))
CALL(cbc_decrypt, tr_cbc_decrypt(&k.aes, w.iv, out, in, len))
CALL(cts_encrypt, tr_cbc_cts_encrypt(&k.aes, TR_CS3, w.iv, out, in, len))
CALL(cts_decrypt, tr_cbc_cts_decrypt(&k.aes, TR_CS1, w.iv, out, in, len))
CALL(cfb_encrypt, tr_cfb128_encrypt(&k.aes, w.iv, &w.used, out, in, len))
CALL(cfb_decrypt, tr_cfb128_decrypt(&k.aes, w.iv, &w.used, out, in, len))
CALL(cfb8_encrypt, tr_cfb8_encrypt(&k.aes, w.iv, out, in, len))
CALL(cfb8_decrypt, tr_cfb8_decrypt(&k.aes, w.iv, out, in, len))
CALL(cfb1_encrypt, tr_cfb1_encrypt(&k.aes, w.iv, out, in, 8 * len))
CALL(cfb1_decrypt, tr_cfb1_decrypt(&k.aes, w.iv, out, in, 8 * len))
CALL(ofb, tr_ofb(&k.aes, w.iv, &w.used, out, in, len))
CALL(ctr, tr_ctr(&k.aes, w.iv, w.keystream, &w.used, out, in, len))
CALL(kw_wrap, tr_kw_wrap(&k.aes, 0, NULL, out, in, len))
CALL(kw_unwrap, tr_kw_unwrap(&k.aes, 0, NULL, out, in, len))
CALL(kwp_wrap, tr_kwp_wrap(&k.aes, 0, NULL, out, in, len))
CALL(kwp_unwrap, tr_kwp_unwrap(&k.aes, 0, NULL, out, &w.out_len, in, len))
CALL(xts_encrypt, tr_xts_encrypt(&k.xts, w.iv, out, in, len))
CALL(xts_decrypt, tr_xts_decrypt(&k.xts, w.iv, out, in, len))
CALL(xts_encrypt_units, tr_xts_encrypt_units(&k.xts, w.iv, out, in, len, 1))
CALL(xts_decrypt_units, tr_xts_decrypt_units(&k.xts, w.iv, out, in, len, 1))
CALL(cmac_sign, tr_cmac_sign(&k.cmac, in, len, w.tag, tag_len))
CALL(cmac_verify, tr_cmac_verify(&k.cmac, in, len, w.tag, tag_len))

static enum tr_status stream_many(enum tr_status (*many)(const struct tr_stream *, size_t))
{
    const struct tr_stream jobs[2] = {{&k.aes, w.keystream, w.data + 240, w.data + 240, 16},
                                      {&k.aes, w.iv, out, in, len}};
    return many(jobs, 2);
}
CALL(cbc_many, stream_many(tr_cbc_encrypt_many))
CALL(cfb_many, stream_many(tr_cfb128_encrypt_many))

static enum tr_status ecb_masks(void)
{
    const struct tr_mask_job jobs[2] = {{&k.aes, in, w.data}, {&k.aes, in, out}};
    return tr_ecb_masks(jobs, 2);
}
CALL(ecb_masks, ecb_masks())

static enum tr_status cmac_many(void)
{
    struct tr_cmac_job job = {.key = &k.cmac, .data = in, .len = len};
    return tr_cmac_sign_many(&job, 1);
}
CALL(cmac_many, cmac_many())

static enum tr_status ccm_many(enum tr_status (*many)(struct tr_ccm_job *, size_t))
{
    struct tr_ccm_job job = {.key = &k.ccm,
                             .nonce = w.iv,
                             .nonce_len = iv_len,
                             .out = out,
                             .in = in,
                             .len = len,
                             .tag = w.tag,
                             .tag_len = tag_len};
    return many(&job, 1);
}
CALL(ccm_seal_many, ccm_many(tr_ccm_seal_many))
CALL(ccm_open_many, ccm_many(tr_ccm_open_many))

/* Ten jobs, so that they may run together. One has the arguments. */
static enum tr_status gcm_many(enum tr_status (*many)(struct tr_gcm_job *, size_t))
{
    enum { JOBS = 10, ONE = 2 };
    static uint8_t others[JOBS][sizeof(w.data)], tags[JOBS][16];
    static struct tr_gcm_job jobs[JOBS];
    for (size_t i = 0; i < JOBS; i++)
        jobs[i] = (struct tr_gcm_job){.key = &k.gcm,
                                      .iv = w.iv,
                                      .iv_len = iv_len,
                                      .out = i == ONE ? out : others[i],
                                      .in = i == ONE ? in : others[i],
                                      .len = len > sizeof(w.data) && i != ONE ? 0 : len,
                                      .tag = i == ONE ? w.tag : tags[i],
                                      .tag_len = tag_len};
    return many(jobs, JOBS);
}
CALL(gcm_seal_many, gcm_many(tr_gcm_seal_many))
CALL(gcm_open_many, gcm_many(tr_gcm_open_many))

/* Streaming: the start calls, and the calls on a message that begin() has started. */
CALL(cipher_start, tr_cipher_start(&w.cipher, &k.aes, TR_CTR, 0, 0, w.iv))
CALL(cipher_update, tr_cipher_update(&w.cipher, out, &w.out_len, in, len))
CALL(cipher_final, tr_cipher_final(&w.cipher, out, &w.out_len))
CALL(cmac_start, tr_cmac_start(&w.cmac, &k.cmac))
CALL(cmac_update, tr_cmac_update(&w.cmac, in, len))
CALL(cmac_tag, tr_cmac_tag(&w.cmac, w.tag, tag_len))
CALL(cmac_check, tr_cmac_check(&w.cmac, w.tag, tag_len))

CALL(siv_again, tr_siv_again(&w.aead.message.siv))

/* The calls of an authenticated mode. The tag of a call that seals or ends a message is w.tag. */
enum aead_op { START, AAD, ENCRYPT, DECRYPT, TAG_OF, CHECK_OF, SEAL, OPEN, AEAD_OPS };
static const char *const op_names[] = {"start", "aad",   "encrypt", "decrypt",
                                       "tag",   "check", "seal",    "open"};
/* The bytes of the first of two pieces of data in a message that a call ends. 0: one piece. */
static size_t first_piece = 16;

static enum tr_status aead_call(const struct aead *a, enum aead_op op)
{
    const struct aead_lengths n = {.iv = iv_len, .tag = tag_len, .text = len};
    switch (op) {
    case START:
        return a->start(&w.aead, w.iv, &n);
    case AAD: /* begin() has announced no AAD to CCM */
        return a->aad(&w.aead, in, strcmp(a->name, "CCM") == 0 ? 0 : len);
    case ENCRYPT:
    case DECRYPT:
        return a->crypt(&w.aead, op == DECRYPT, out, in, len, w.tag);
    case TAG_OF:
    case CHECK_OF:
        return a->end(&w.aead, op == CHECK_OF, w.tag, tag_len);
    default:
        return a->whole(&w.aead, op == OPEN, &n, w.iv, NULL, out, in, w.tag);
    }
}

/* ---- The errors of each call -------------------------------------------------------------- */

enum {
    OVERLAP = 1,
    USED = 2,      /* test a value of *used above 15 */
    TAG = 4,       /* test that a forged tag leaves zeros */
    CHECK = 8,     /* test a forged tag in a call that decrypts nothing */
    MESSAGE = 16,  /* the call needs a message that begin() has started */
    DECRYPTS = 32, /* no test of a correct call, which would need valid input */
    ENDED = 64,    /* the call needs a SIV message that has ended */
    ENDS = 128,    /* the call ends a message, which must then hold no secret */
};

static struct row {
    char name[32];
    enum tr_status (*call)(void);
    const struct aead *aead; /* with `op`, if there is no `call` */
    enum aead_op op;
    unsigned flags;
    /* Lengths in bytes. In the bad_* lengths, 0 means that there is no test, and SIZE_MAX means an
     * IV or tag of 0 bytes. */
    size_t good_len, bad_len, bad_iv[2], bad_tag[2];
} calls[128] = {
#define ROW(name, flags, good_len, bad_len, bad_iv, bad_tag)                                       \
    {                                                                                              \
#        name, call_##name, NULL, START, flags, good_len, bad_len, {bad_iv },                      \
        {                                                                                          \
            bad_tag                                                                                \
        }                                                                                          \
    }
    ROW(ecb_encrypt, OVERLAP, 48, 17, 0, 0),
    ROW(ecb_decrypt, OVERLAP, 48, 17, 0, 0),
    ROW(cbc_encrypt, OVERLAP, 48, 15, 0, 0),
    ROW(cbc_decrypt, OVERLAP, 48, 31, 0, 0),
    ROW(cts_encrypt, OVERLAP, 48, 15, 0, 0),
    ROW(cts_decrypt, OVERLAP, 47, 15, 0, 0),
    ROW(cfb_encrypt, OVERLAP | USED, 48, 0, 0, 0),
    ROW(cfb_decrypt, OVERLAP | USED, 47, 0, 0, 0),
    ROW(cfb8_encrypt, OVERLAP, 48, 0, 0, 0),
    ROW(cfb8_decrypt, OVERLAP, 48, 0, 0, 0),
    ROW(cfb1_encrypt, OVERLAP, 48, 0, 0, 0),
    ROW(cfb1_decrypt, OVERLAP, 48, 0, 0, 0),
    ROW(ofb, OVERLAP | USED, 48, 0, 0, 0),
    ROW(ctr, OVERLAP | USED, 47, 0, 0, 0),
    ROW(kw_wrap, 0, 48, 15, 0, 0),
    ROW(kw_unwrap, TAG | DECRYPTS, 48, 23, 0, 0),
    ROW(kwp_wrap, 0, 41, (size_t)1 << 31, 0, 0),
    ROW(kwp_unwrap, TAG | DECRYPTS, 48, 15, 0, 0),
    ROW(xts_encrypt, OVERLAP, 48, 15, 0, 0),
    ROW(xts_decrypt, OVERLAP, 48, (1u << 24) + 1, 0, 0),
    ROW(xts_encrypt_units, OVERLAP, 48, (1u << 24) + 1, 0, 0),
    ROW(xts_decrypt_units, OVERLAP, 48, 15, 0, 0),
    ROW(cmac_sign, 0, 48, 0, 0, 17),
    ROW(cmac_verify, CHECK | DECRYPTS, 48, 0, 0, SIZE_MAX),
    ROW(cbc_many, OVERLAP, 48, 17, 0, 0),
    ROW(cfb_many, OVERLAP, 47, 0, 0, 0),
    ROW(ecb_masks, 0, 48, 0, 0, 0),
    ROW(cmac_many, 0, 48, 0, 0, 0),
    ROW(ccm_seal_many, OVERLAP, 47, 0, 6, 3),
    ROW(ccm_open_many, OVERLAP | TAG | DECRYPTS, 47, 0, 14, 5),
    ROW(gcm_seal_many, OVERLAP, 47, GCM_TOO_LONG, SIZE_MAX, 17),
    ROW(gcm_open_many, OVERLAP | TAG | DECRYPTS, 47, GCM_TOO_LONG, SIZE_MAX, SIZE_MAX),
    ROW(cipher_start, 0, 48, 0, 0, 0),
    ROW(cipher_update, MESSAGE | OVERLAP, 48, 0, 0, 0),
    ROW(cipher_final, MESSAGE, 48, 0, 0, 0),
    ROW(cmac_start, 0, 48, 0, 0, 0),
    ROW(cmac_update, MESSAGE, 48, 0, 0, 0),
    ROW(cmac_tag, MESSAGE | ENDS, 41, 0, 0, 17),
    ROW(cmac_check, MESSAGE | CHECK | DECRYPTS | ENDS, 41, 0, 0, SIZE_MAX),
    ROW(siv_again, MESSAGE | ENDED, 48, 0, 0, 0),
};
static size_t rows; /* of calls[] */

/* Adds the row of an authenticated mode's call. Its errors follow from the table of modes. */
static void add_row(const struct aead *a, enum aead_op op)
{
    struct row *r = &calls[rows];
    const bool streams = a->end != NULL, crypts = op == ENCRYPT || op == DECRYPT;
    const bool whole = op == SEAL || op == OPEN, ends = op == TAG_OF || op == CHECK_OF;
    const bool opens = op == OPEN || (op == DECRYPT && !streams);
    if (ends && !streams)
        return;
    snprintf(r->name, sizeof(r->name), "%s %s", a->name, op_names[op]);
    r->aead = a;
    r->op = op;
    r->flags = (whole || crypts ? OVERLAP : 0) | (op == START || whole ? 0 : MESSAGE) |
               (opens ? TAG | DECRYPTS : 0) | (op == CHECK_OF ? CHECK | DECRYPTS : 0) |
               (ends ? ENDS : 0);
    r->good_len = ends ? 41 : op == OPEN ? 47 : 48;
    if (whole || crypts || (op == AAD && !streams))
        r->bad_len = a->too_long;
    if (streams && (whole || op == START)) {
        r->bad_iv[0] = a->iv.min == 1 ? SIZE_MAX : a->iv.min - 1;
        r->bad_iv[1] = a->iv.max < 16 ? a->iv.max + 1 : 0;
    }
    if (streams && (whole || (a->tag_len_at_start ? op == START : ends))) {
        r->bad_tag[0] = a->tag_min == 1 ? SIZE_MAX : a->tag_min + a->tag_step / 2;
        r->bad_tag[1] = 17;
    }
    rows++;
}

static void add_rows(void)
{
    while (calls[rows].call != NULL)
        rows++;
    for (size_t i = 0; i < AEADS; i++)
        for (enum aead_op op = START; op < AEAD_OPS; op++)
            add_row(&all_aeads[i], op);
}

/* ---- The checks ---- */

static const struct tr_backend *backend;
static uint8_t test_iv[16];

static bool set_keys(void)
{
    uint8_t raw[64];
    tap_fill(&rng, raw, sizeof(raw));
    return tr_aes_set_key(&k.aes, backend, raw, 16) == TR_OK &&
           tr_xts_set_key(&k.xts, backend, raw, 64) == TR_OK &&
           tr_cmac_set_key(&k.cmac, backend, raw, 24) == TR_OK &&
           tr_ccm_set_key(&k.ccm, backend, raw, 16) == TR_OK &&
           tr_gcm_set_key(&k.gcm, backend, raw, 32) == TR_OK;
}

/* The mode of a call; SIV for tr_siv_again(). NULL if the mode has no table of functions. */
static const struct aead *aead_of(const struct row *r)
{
    return r->flags & ENDED ? &all_aeads[AEAD_siv] : r->aead;
}

/* Sets the key and starts the message of an authenticated mode. A call that ends a message gets one
 * with AAD and data. The data are in two pieces, so that all fields are in use, or in one, as most
 * callers do. */
static bool begin_aead(const struct row *r)
{
    const struct aead *a = aead_of(r);
    uint8_t raw[64];
    if (a == NULL)
        return true;
    tap_fill(&rng, raw, sizeof(raw));
    const size_t first = r->flags & ENDS ? first_piece : 0, aad = r->flags & ENDS ? 5 : 0;
    const struct aead_lengths n = {.iv = iv_len, .tag = 16, .aad = aad, .text = first + len};
    if (a->set_key(&w.aead, backend, raw, a->key.max) != TR_OK ||
        a->start(&w.aead, w.iv, &n) != TR_OK)
        return false;
    if (r->flags & ENDED)
        return a->crypt(&w.aead, false, out, in, len, w.tag) == TR_OK;
    return !(r->flags & ENDS) ||
           (a->aad(&w.aead, w.iv, aad) == TR_OK &&
            (first == 0 || a->crypt(&w.aead, false, out, in, first, w.tag) == TR_OK) &&
            a->crypt(&w.aead, false, out, in, len, w.tag) == TR_OK);
}

static enum tr_status call_of(const struct row *r)
{
    return r->call != NULL ? r->call() : aead_call(r->aead, r->op);
}

/* Sets correct arguments, with out == in. If `messages`, also starts messages. A call that ends a
 * message gets one with data, whose last block is partial. */
static bool begin(const struct row *r, bool messages)
{
    memset(&w, 0, sizeof(w));
    tap_fill(&rng, w.data, sizeof(w.data));
    tap_fill(&rng, w.tag, sizeof(w.tag));
    memcpy(w.iv, test_iv, sizeof(w.iv));
    out = in = w.data + 64;
    len = r->good_len;
    /* A one-shot call of SIV takes no IV. 12 bytes suit all other modes. */
    iv_len = aead_of(r) != NULL && aead_of(r)->aad_in_one_call ? 0 : 12;
    tag_len = 16;
    return !messages || (call_cipher_start() == TR_OK && call_cmac_start() == TR_OK &&
                         (!(r->flags & ENDS) || call_cmac_update() == TR_OK) && begin_aead(r));
}

/* Fills the stack of the next call with invalid pointers, to expose a use of uninitialized
 * memory. */
static __attribute__((__noinline__)) void spoil_stack(void)
{
    uint8_t garbage[16384];
    memset(garbage, 0x41, sizeof(garbage));
    __asm__ volatile("" : : "r"(garbage) : "memory");
}

static bool gives(const struct row *r, enum tr_status expected, const char *what)
{
    spoil_stack();
    memcpy(&before, &w, sizeof(w));
    const enum tr_status status = call_of(r);
    w.out_len = before.out_len; /* calls with an output length set it to 0 */
    if (status == expected && tap_same(&w, &before, sizeof(w)))
        return true;
    tap_diag("%s: status \"%s\", expected \"%s\"%s", what, tr_strerror(status),
             tr_strerror(expected), status == expected ? ", but the call wrote something" : "");
    return false;
}

/* Tests keys and messages that were never set or were cleansed. */
static bool unset(const struct row *r)
{
    memset(&k, 0, sizeof(k));
    bool good = begin(r, false) && gives(r, TR_ERR_STATE, "objects that were never set");
    if (!(r->flags & MESSAGE))
        return good;
    good &= set_keys() && begin(r, true);
    tr_cleanse(&k, sizeof(k));
    tr_cleanse(&w.aead.key, sizeof(w.aead.key));
    /* A GCM-SIV message contains its own keys. */
    if (r->aead == &all_aeads[AEAD_gcm_siv])
        tr_cleanse(&w.aead.message, sizeof(w.aead.message));
    return good && gives(r, TR_ERR_STATE, "a message whose key was cleansed");
}

static size_t wrong(size_t bad)
{
    return bad == SIZE_MAX ? 0 : bad;
}

static bool bad_arguments(const struct row *r)
{
    bool good = true;
    if (r->flags & OVERLAP) {
        good &= begin(r, true);
        out = in + 1;
        good &= gives(r, TR_ERR_OVERLAP, "output 1 byte after the input");
        out = in + len - 1;
        good &= gives(r, TR_ERR_OVERLAP, "output that begins at the last byte of the input");
    }
    if (r->bad_len != 0) {
        good &= begin(r, true);
        len = r->bad_len;
        good &= gives(r, TR_ERR_LENGTH, "a wrong length");
    }
    if (r->flags & USED) {
        good &= begin(r, true);
        w.used = 16;
        good &= gives(r, TR_ERR_LENGTH, "*used is 16");
    }
    for (unsigned i = 0; i < 2; i++) {
        if (r->bad_iv[i] != 0) {
            good &= begin(r, true);
            iv_len = wrong(r->bad_iv[i]);
            good &= gives(r, TR_ERR_IV_LENGTH, "a wrong IV length");
        }
        if (r->bad_tag[i] != 0) {
            good &= begin(r, true);
            tag_len = wrong(r->bad_tag[i]);
            good &= gives(r, TR_ERR_TAG_LENGTH, "a wrong tag length");
        }
    }
    return good;
}

/* Tests a forged (random) tag. The call may only set the output to zeros and end the message. */
static bool wrong_tag(const struct row *r)
{
    if (!(r->flags & (TAG | CHECK)))
        return true;
    bool good = begin(r, true);
    /* Key wrap has no tag. Unwrapping removes the check value, so the output is 8 bytes shorter. */
    const size_t zeros = !(r->flags & TAG) ? 0 : r->name[0] == 'k' ? len - 8 : len;
    memcpy(&before, &w, sizeof(w));
    memset(before.data + (out - w.data), 0, zeros);
    good &= call_of(r) == TR_ERR_TAG && tap_same(w.data, before.data, sizeof(w.data)) &&
            tap_same(w.tag, before.tag, 16) && w.out_len == 0;
    if (!good)
        tap_diag("a forged tag: wrong status or output");
    return good;
}

static bool good_call(const struct row *r)
{
    return r->flags & DECRYPTS || (begin(r, true) && call_of(r) == TR_OK);
}

/* Whether two messages with one IV and AAD, under different keys and with different data, are equal
 * objects after the call that ends them. */
static bool ends_equal(const struct row *r)
{
    for (unsigned i = 0; i < 2; i++) {
        memcpy(&before, &w, sizeof(w));
        if (!set_keys() || !begin(r, true))
            return false;
        (void)call_of(r); /* the tag of CHECK is forged */
    }
    const bool same = r->aead != NULL
                          ? tap_same(&w.aead.message, &before.aead.message, sizeof(w.aead.message))
                          : tap_same(&w.cmac, &before.cmac, sizeof(w.cmac));
    if (!same)
        tap_diag("the ended message depends on the key or on data");
    return same;
}

/* Whether the message that the call ended holds no secret, such as keystream, a tag mask, a hash or
 * a chaining value. */
static bool holds_no_secret(const struct row *r)
{
    bool good = true;
    if (!(r->flags & ENDS))
        return true;
    for (first_piece = 0; first_piece <= 16; first_piece += 16)
        good &= ends_equal(r);
    first_piece = 16;
    return good;
}

int main(void)
{
    add_rows();
    tap_plan(backend_count() * (unsigned)rows);
    rng = tap_random(0);
    tap_fill(&rng, test_iv, sizeof(test_iv));
    for (unsigned n = 0; (backend = tr_backend_at(n)) != NULL; n++) {
        if (backend_skip(backend, (unsigned)rows))
            continue;
        for (const struct row *r = calls; r != calls + rows; r++) {
            bool good = unset(r) && set_keys();
            good = good && bad_arguments(r) && wrong_tag(r) && good_call(r) && holds_no_secret(r);
            tap_ok(good, "%s: %s refuses wrong calls without effect", tr_backend_name(backend),
                   r->name);
        }
    }
    return tap_done();
}
