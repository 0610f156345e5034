/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests the errors that tenrounds.h promises, for the functions that take a key or a message
 * object. Covers objects that were never set or were cleansed, output that begins
 * inside the input, forged tags, and
 * wrong lengths of data, IV and tag. An error must leave the output and all objects unchanged.
 * Exception: on tag mismatch, a call that decrypts must leave zeros in the output.
 * A message that has ended must hold no secret.
 */
#include "common.h"

/* Everything that a call may write. One comparison shows whether a call wrote anything. */
static struct world {
    uint8_t data[256], iv[16], keystream[16], tag[16];
    unsigned used;
    size_t out_len;
    struct tr_cipher cipher;
    struct tr_cmac cmac;
    struct tr_gcm gcm;
    struct tr_ccm ccm;
    struct tr_ocb ocb;
    struct tr_siv siv;
    struct tr_gcm_siv gcm_siv;
} w, before;

static struct keys {
    struct tr_aes_key aes;
    struct tr_xts_key xts;
    struct tr_cmac_key cmac;
    struct tr_gcm_key gcm;
    struct tr_ccm_key ccm;
    struct tr_ocb_key ocb;
    struct tr_siv_key siv;
    struct tr_gcm_siv_key gcm_siv;
} k;

/* The arguments of the next call. */
static uint8_t *out, *in;
static size_t len, iv_len, tag_len;
static struct tap_random rng;

#if SIZE_MAX > 0xffffffff
_Static_assert(sizeof(struct tr_aes_key) == 496 && sizeof(struct tr_gcm_key) == 1104 &&
                   sizeof(struct tr_ccm_key) == 496 && sizeof(struct tr_ocb_key) == 784 &&
                   sizeof(struct tr_siv_key) == 1040 && sizeof(struct tr_gcm_siv_key) == 496 &&
                   sizeof(struct tr_xts_key) == 1008 && sizeof(struct tr_cmac_key) == 528 &&
                   sizeof(struct tr_gcm) == 208 && sizeof(struct tr_ccm) == 96 &&
                   sizeof(struct tr_ocb) == 128 && sizeof(struct tr_siv) == 32 &&
                   sizeof(struct tr_gcm_siv) == 1184 && sizeof(struct tr_cmac) == 48 &&
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
CALL(gcm_seal, tr_gcm_seal(&k.gcm, w.iv, iv_len, NULL, 0, out, in, len, w.tag, tag_len))
CALL(gcm_open, tr_gcm_open(&k.gcm, w.iv, iv_len, NULL, 0, out, in, len, w.tag, tag_len))
CALL(ccm_seal, tr_ccm_seal(&k.ccm, w.iv, iv_len, NULL, 0, out, in, len, w.tag, tag_len))
CALL(ccm_open, tr_ccm_open(&k.ccm, w.iv, iv_len, NULL, 0, out, in, len, w.tag, tag_len))
CALL(ocb_seal, tr_ocb_seal(&k.ocb, w.iv, iv_len, NULL, 0, out, in, len, w.tag, tag_len))
CALL(ocb_open, tr_ocb_open(&k.ocb, w.iv, iv_len, NULL, 0, out, in, len, w.tag, tag_len))
CALL(siv_seal, tr_siv_seal(&k.siv, NULL, 0, out, in, len, w.tag))
CALL(siv_open, tr_siv_open(&k.siv, NULL, 0, out, in, len, w.tag))
CALL(gcm_siv_seal, tr_gcm_siv_seal(&k.gcm_siv, w.iv, NULL, 0, out, in, len, w.tag))
CALL(gcm_siv_open, tr_gcm_siv_open(&k.gcm_siv, w.iv, NULL, 0, out, in, len, w.tag))

static enum tr_status stream_many(enum tr_status (*many)(const struct tr_stream *, size_t))
{
    const struct tr_stream jobs[2] = {{&k.aes, w.keystream, w.data + 240, w.data + 240, 16},
                                      {&k.aes, w.iv, out, in, len}};
    return many(jobs, 2);
}
CALL(cbc_many, stream_many(tr_cbc_encrypt_many))
CALL(cfb_many, stream_many(tr_cfb128_encrypt_many))

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

/* Streaming: the start calls, and the calls on a message that begin() has started. */
CALL(cipher_start, tr_cipher_start(&w.cipher, &k.aes, TR_CTR, 0, 0, w.iv))
CALL(cipher_update, tr_cipher_update(&w.cipher, out, &w.out_len, in, len))
CALL(cipher_final, tr_cipher_final(&w.cipher, out, &w.out_len))
CALL(cmac_start, tr_cmac_start(&w.cmac, &k.cmac))
CALL(cmac_update, tr_cmac_update(&w.cmac, in, len))
CALL(cmac_tag, tr_cmac_tag(&w.cmac, w.tag, tag_len))
CALL(cmac_check, tr_cmac_check(&w.cmac, w.tag, tag_len))
CALL(gcm_start, tr_gcm_start(&w.gcm, &k.gcm, w.iv, iv_len))
CALL(gcm_aad, tr_gcm_aad(&w.gcm, in, len))
CALL(gcm_encrypt, tr_gcm_encrypt(&w.gcm, out, in, len))
CALL(gcm_decrypt, tr_gcm_decrypt(&w.gcm, out, in, len))
CALL(gcm_tag, tr_gcm_tag(&w.gcm, w.tag, tag_len))
CALL(gcm_check, tr_gcm_check(&w.gcm, w.tag, tag_len))
CALL(ccm_start, tr_ccm_start(&w.ccm, &k.ccm, w.iv, iv_len, tag_len, 0, len))
CALL(ccm_aad, tr_ccm_aad(&w.ccm, in, 0))
CALL(ccm_encrypt, tr_ccm_encrypt(&w.ccm, out, in, len))
CALL(ccm_decrypt, tr_ccm_decrypt(&w.ccm, out, in, len))
CALL(ccm_tag, tr_ccm_tag(&w.ccm, w.tag))
CALL(ccm_check, tr_ccm_check(&w.ccm, w.tag))
CALL(ocb_start, tr_ocb_start(&w.ocb, &k.ocb, w.iv, iv_len, tag_len))
CALL(ocb_aad, tr_ocb_aad(&w.ocb, in, len))
CALL(ocb_encrypt, tr_ocb_encrypt(&w.ocb, out, in, len))
CALL(ocb_decrypt, tr_ocb_decrypt(&w.ocb, out, in, len))
CALL(ocb_tag, tr_ocb_tag(&w.ocb, w.tag))
CALL(ocb_check, tr_ocb_check(&w.ocb, w.tag))
CALL(siv_start, tr_siv_start(&w.siv, &k.siv))
CALL(siv_again, tr_siv_again(&w.siv))
CALL(siv_aad, tr_siv_aad(&w.siv, in, len))
CALL(siv_encrypt, tr_siv_encrypt(&w.siv, out, in, len, w.tag))
CALL(siv_decrypt, tr_siv_decrypt(&w.siv, out, in, len, w.tag))
CALL(gcm_siv_start, tr_gcm_siv_start(&w.gcm_siv, &k.gcm_siv, w.iv))
CALL(gcm_siv_aad, tr_gcm_siv_aad(&w.gcm_siv, in, len))
CALL(gcm_siv_encrypt, tr_gcm_siv_encrypt(&w.gcm_siv, out, in, len, w.tag))
CALL(gcm_siv_decrypt, tr_gcm_siv_decrypt(&w.gcm_siv, out, in, len, w.tag))

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

#if SIZE_MAX > 0xffffffff
#    define GCM_TOO_LONG     0xfffffffe1
#    define GCM_SIV_TOO_LONG 0x1000000001
#else /* no test: size_t cannot hold such a length */
#    define GCM_TOO_LONG     0
#    define GCM_SIV_TOO_LONG 0
#endif

static const struct {
    const char *name;
    enum tr_status (*call)(void);
    unsigned flags;
    /* Lengths in bytes. In the bad_* lengths, 0 means that there is no test, and SIZE_MAX means an
     * IV or tag of 0 bytes. */
    size_t good_len, bad_len, bad_iv, bad_tag;
} calls[] = {
#define ROW(name, ...)                                                                             \
    {                                                                                              \
#        name, call_##name, __VA_ARGS__                                                            \
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
    ROW(gcm_seal, OVERLAP, 48, GCM_TOO_LONG, SIZE_MAX, 17),
    ROW(gcm_open, OVERLAP | TAG | DECRYPTS, 47, GCM_TOO_LONG, SIZE_MAX, SIZE_MAX),
    ROW(ccm_seal, OVERLAP, 48, 0, 14, 5),
    ROW(ccm_open, OVERLAP | TAG | DECRYPTS, 47, 0, 6, 18),
    ROW(ocb_seal, OVERLAP, 48, 0, 16, 17),
    ROW(ocb_open, OVERLAP | TAG | DECRYPTS, 47, 0, SIZE_MAX, SIZE_MAX),
    ROW(siv_seal, OVERLAP, 48, 0, 0, 0),
    ROW(siv_open, OVERLAP | TAG | DECRYPTS, 47, 0, 0, 0),
    ROW(gcm_siv_seal, OVERLAP, 48, GCM_SIV_TOO_LONG, 0, 0),
    ROW(gcm_siv_open, OVERLAP | TAG | DECRYPTS, 47, GCM_SIV_TOO_LONG, 0, 0),
    ROW(cbc_many, OVERLAP, 48, 17, 0, 0),
    ROW(cfb_many, OVERLAP, 47, 0, 0, 0),
    ROW(cmac_many, 0, 48, 0, 0, 0),
    ROW(ccm_seal_many, OVERLAP, 47, 0, 6, 3),
    ROW(ccm_open_many, OVERLAP | TAG | DECRYPTS, 47, 0, 14, 5),
    ROW(cipher_start, 0, 48, 0, 0, 0),
    ROW(cipher_update, MESSAGE | OVERLAP, 48, 0, 0, 0),
    ROW(cipher_final, MESSAGE, 48, 0, 0, 0),
    ROW(cmac_start, 0, 48, 0, 0, 0),
    ROW(cmac_update, MESSAGE, 48, 0, 0, 0),
    ROW(cmac_tag, MESSAGE | ENDS, 41, 0, 0, 17),
    ROW(cmac_check, MESSAGE | CHECK | DECRYPTS | ENDS, 41, 0, 0, SIZE_MAX),
    ROW(gcm_start, 0, 48, 0, SIZE_MAX, 0),
    ROW(gcm_aad, MESSAGE, 48, 0, 0, 0),
    ROW(gcm_encrypt, MESSAGE | OVERLAP, 48, GCM_TOO_LONG, 0, 0),
    ROW(gcm_decrypt, MESSAGE | OVERLAP, 47, GCM_TOO_LONG, 0, 0),
    ROW(gcm_tag, MESSAGE | ENDS, 41, 0, 0, 17),
    ROW(gcm_check, MESSAGE | CHECK | DECRYPTS | ENDS, 41, 0, 0, SIZE_MAX),
    ROW(ccm_start, 0, 48, 0, 14, 7),
    ROW(ccm_aad, MESSAGE, 48, 0, 0, 0),
    ROW(ccm_encrypt, MESSAGE | OVERLAP, 48, 49, 0, 0),
    ROW(ccm_decrypt, MESSAGE | OVERLAP, 48, 49, 0, 0),
    ROW(ccm_tag, MESSAGE | ENDS, 41, 0, 0, 0),
    ROW(ccm_check, MESSAGE | CHECK | DECRYPTS | ENDS, 41, 0, 0, 0),
    ROW(ocb_start, 0, 48, 0, 16, 17),
    ROW(ocb_aad, MESSAGE, 48, 0, 0, 0),
    ROW(ocb_encrypt, MESSAGE | OVERLAP, 48, 0, 0, 0),
    ROW(ocb_decrypt, MESSAGE | OVERLAP, 47, 0, 0, 0),
    ROW(ocb_tag, MESSAGE | ENDS, 41, 0, 0, 0),
    ROW(ocb_check, MESSAGE | CHECK | DECRYPTS | ENDS, 41, 0, 0, 0),
    ROW(siv_start, 0, 48, 0, 0, 0),
    ROW(siv_again, MESSAGE | ENDED, 48, 0, 0, 0),
    ROW(siv_aad, MESSAGE, 48, 0, 0, 0),
    ROW(siv_encrypt, MESSAGE | OVERLAP, 48, 0, 0, 0),
    ROW(siv_decrypt, MESSAGE | OVERLAP | TAG | DECRYPTS, 48, 0, 0, 0),
    ROW(gcm_siv_start, 0, 48, 0, 0, 0),
    ROW(gcm_siv_aad, MESSAGE, 48, GCM_SIV_TOO_LONG, 0, 0),
    ROW(gcm_siv_encrypt, MESSAGE | OVERLAP, 48, GCM_SIV_TOO_LONG, 0, 0),
    ROW(gcm_siv_decrypt, MESSAGE | OVERLAP | TAG | DECRYPTS, 48, GCM_SIV_TOO_LONG, 0, 0),
};
#define CALLS (sizeof(calls) / sizeof(*calls))

/* ---- The checks ---- */

static bool set_keys(const struct tr_backend *b)
{
    uint8_t raw[64];
    tap_fill(&rng, raw, sizeof(raw));
    return tr_aes_set_key(&k.aes, b, raw, 16) == TR_OK &&
           tr_xts_set_key(&k.xts, b, raw, 64) == TR_OK &&
           tr_cmac_set_key(&k.cmac, b, raw, 24) == TR_OK &&
           tr_gcm_set_key(&k.gcm, b, raw, 32) == TR_OK &&
           tr_ccm_set_key(&k.ccm, b, raw, 16) == TR_OK &&
           tr_ocb_set_key(&k.ocb, b, raw, 24) == TR_OK &&
           tr_siv_set_key(&k.siv, b, raw, 32) == TR_OK &&
           tr_gcm_siv_set_key(&k.gcm_siv, b, raw, 16) == TR_OK;
}

/* Sets correct arguments, with out == in. If `messages`, also starts a message in each mode. A call
 * that ends a message gets one with data, whose last block is partial. */
static bool begin(size_t i, bool messages)
{
    memset(&w, 0, sizeof(w));
    tap_fill(&rng, w.data, sizeof(w.data));
    tap_fill(&rng, w.iv, sizeof(w.iv));
    tap_fill(&rng, w.tag, sizeof(w.tag));
    out = in = w.data + 64;
    len = calls[i].good_len;
    iv_len = 12;
    tag_len = 16;
    return !messages ||
           (call_cipher_start() == TR_OK && call_cmac_start() == TR_OK &&
            call_gcm_start() == TR_OK && call_ccm_start() == TR_OK && call_ocb_start() == TR_OK &&
            call_siv_start() == TR_OK && call_gcm_siv_start() == TR_OK &&
            (!(calls[i].flags & ENDED) || call_siv_encrypt() == TR_OK) &&
            (!(calls[i].flags & ENDS) ||
             (call_gcm_encrypt() == TR_OK && call_ccm_encrypt() == TR_OK &&
              call_ocb_encrypt() == TR_OK && call_cmac_update() == TR_OK)));
}

/* Fills the stack of the next call with invalid pointers, to expose a use of uninitialized
 * memory. */
static __attribute__((__noinline__)) void spoil_stack(void)
{
    uint8_t garbage[16384];
    memset(garbage, 0x41, sizeof(garbage));
    __asm__ volatile("" : : "r"(garbage) : "memory");
}

static bool gives(size_t i, enum tr_status expected, const char *what)
{
    spoil_stack();
    memcpy(&before, &w, sizeof(w));
    const enum tr_status status = calls[i].call();
    w.out_len = before.out_len; /* calls with an output length set it to 0 */
    if (status == expected && tap_same(&w, &before, sizeof(w)))
        return true;
    tap_diag("%s: status \"%s\", expected \"%s\"%s", what, tr_strerror(status),
             tr_strerror(expected), status == expected ? ", but the call wrote something" : "");
    return false;
}

/* Tests keys and messages that were never set or were cleansed. */
static bool unset(size_t i, const struct tr_backend *b)
{
    memset(&k, 0, sizeof(k));
    bool good = begin(i, false) && gives(i, TR_ERR_STATE, "objects that were never set");
    if (!(calls[i].flags & MESSAGE))
        return good;
    good &= set_keys(b) && begin(i, true);
    tr_cleanse(&k, sizeof(k));
    /* A GCM-SIV message contains its own keys. */
    if (strncmp(calls[i].name, "gcm_siv", 7) == 0)
        tr_cleanse(&w.gcm_siv, sizeof(w.gcm_siv));
    return good && gives(i, TR_ERR_STATE, "a message whose key was cleansed");
}

static size_t wrong(size_t bad)
{
    return bad == SIZE_MAX ? 0 : bad;
}

static bool bad_arguments(size_t i)
{
    bool good = true;
    if (calls[i].flags & OVERLAP) {
        good &= begin(i, true);
        out = in + 1;
        good &= gives(i, TR_ERR_OVERLAP, "output 1 byte after the input");
        out = in + len - 1;
        good &= gives(i, TR_ERR_OVERLAP, "output that begins at the last byte of the input");
    }
    if (calls[i].bad_len != 0) {
        good &= begin(i, true);
        len = calls[i].bad_len;
        good &= gives(i, TR_ERR_LENGTH, "a wrong length");
    }
    if (calls[i].flags & USED) {
        good &= begin(i, true);
        w.used = 16;
        good &= gives(i, TR_ERR_LENGTH, "*used is 16");
    }
    if (calls[i].bad_iv != 0) {
        good &= begin(i, true);
        iv_len = wrong(calls[i].bad_iv);
        good &= gives(i, TR_ERR_IV_LENGTH, "a wrong IV length");
    }
    if (calls[i].bad_tag != 0) {
        good &= begin(i, true);
        tag_len = wrong(calls[i].bad_tag);
        good &= gives(i, TR_ERR_TAG_LENGTH, "a wrong tag length");
    }
    return good;
}

/* Whether the message that the call ended holds no secret: no keystream, no tag mask, no hash and
 * no chaining value. */
static bool holds_no_secret(size_t i)
{
    static const uint8_t zeros[16];
    const uint8_t *const gcm[] = {w.gcm.mask,      w.gcm.counter,    w.gcm.addend,
                                  w.gcm.keystream, w.gcm.ghash.hash, NULL},
                         *const ccm[] = {w.ccm.tag_mask, w.ccm.keystream, w.ccm.run.mac, NULL},
                         *const ocb[] = {w.ocb.run.offset,   w.ocb.run.checksum, w.ocb.aad.offset,
                                         w.ocb.aad.checksum, w.ocb.buffer,       NULL},
                         *const cmac[] = {w.cmac.chain, w.cmac.buffer, NULL};
    if (!(calls[i].flags & ENDS))
        return true;
    const uint8_t *const *secret = calls[i].name[0] == 'g'   ? gcm
                                   : calls[i].name[0] == 'o' ? ocb
                                   : calls[i].name[1] == 'c' ? ccm
                                                             : cmac;
    while (*secret != NULL && memcmp(*secret, zeros, 16) == 0)
        secret++;
    if (*secret != NULL)
        tap_diag("the message still holds a secret");
    return *secret == NULL;
}

/* Tests a forged (random) tag. The call may only set the output to zeros and end the message. */
static bool wrong_tag(size_t i)
{
    if (!(calls[i].flags & (TAG | CHECK)))
        return true;
    bool good = begin(i, true);
    /* Key wrap has no tag. Unwrapping removes the check value, so the output is 8 bytes shorter. */
    const size_t zeros = !(calls[i].flags & TAG) ? 0 : calls[i].name[0] == 'k' ? len - 8 : len;
    memcpy(&before, &w, sizeof(w));
    memset(before.data + (out - w.data), 0, zeros);
    good &= calls[i].call() == TR_ERR_TAG && tap_same(w.data, before.data, sizeof(w.data)) &&
            tap_same(w.tag, before.tag, 16) && w.out_len == 0;
    if (!good)
        tap_diag("a forged tag: wrong status or output");
    return good && holds_no_secret(i);
}

static bool good_call(size_t i)
{
    return calls[i].flags & DECRYPTS ||
           (begin(i, true) && calls[i].call() == TR_OK && holds_no_secret(i));
}

int main(void)
{
    const struct tr_backend *b;
    tap_plan(backend_count() * (unsigned)CALLS);
    rng = tap_random(0);
    for (unsigned n = 0; (b = tr_backend_at(n)) != NULL; n++) {
        if (backend_skip(b, (unsigned)CALLS))
            continue;
        for (size_t i = 0; i < CALLS; i++) {
            bool good = unset(i, b) && set_keys(b);
            good = good && bad_arguments(i) && wrong_tag(i) && good_call(i);
            tap_ok(good, "%s: %s refuses wrong calls without effect", tr_backend_name(b),
                   calls[i].name);
        }
    }
    return tap_done();
}
