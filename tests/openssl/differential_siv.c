/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compares random sequences of EVP calls on AES-SIV and AES-GCM-SIV in the default provider and in
 * tenrounds, like differential.c. The default provider has GCM-SIV since OpenSSL 3.2. With earlier
 * versions, the test compares only SIV. After the sequences, the test checks the deliberate
 * differences of tenrounds. The argument is the duration in seconds (default 5).
 *
 * The sequences leave out calls that the default provider handles wrongly:
 * - data and final without a key, in SIV also AAD and a copy: the provider crashes, or uses a key
 *   of zeros;
 * - a NULL tag of 16 bytes for decryption: the provider crashes;
 * - reading the tag after a failed init: the provider may return the tag that was set;
 * - in GCM-SIV, final and reading the tag without a message since the init: before OpenSSL 4.0, the
 *   provider may report an earlier message.
 */
#define MAX_DATA 600
#include "sequences.h"
#include "steps.h"

#include <openssl/crypto.h>
#include <openssl/proverr.h>

#define MAX_STEPS 30

static const struct family {
    const char *name;
    bool siv; /* false: GCM-SIV */
} families[] = {{"AES-128-SIV", true},      {"AES-192-SIV", true},      {"AES-256-SIV", true},
                {"AES-128-GCM-SIV", false}, {"AES-192-GCM-SIV", false}, {"AES-256-GCM-SIV", false}};
#define FAMILIES (sizeof(families) / sizeof(families[0]))

/* What the test expects of both providers after the calls so far. */
struct state {
    const struct family *family;
    bool started, key_set;
    /* An init failed half way. The test then does not read the tag, because the default provider
     * may return the tag that was set. */
    bool half;
    /* The last call with data succeeded. SIV: final must report this. GCM-SIV: final may still
     * fail, because of a wrong tag. */
    bool done;
    /* SIV: the last message succeeded, but then a parameter reset the result of the default
     * provider. Only tenrounds still reports the success. `done` is then false. */
    bool reset;
    /* SIV: a message succeeded with this key. Old default providers may still report this
     * success. */
    bool stale;
    int encrypt;
    EVP_CIPHER *cipher[SIDES];
    EVP_CIPHER_CTX *ctx[SIDES];
};

/* Whether the default provider's final and tag always belong to the last message (since OpenSSL
 * 4.0). Before that, GCM-SIV may report an earlier message. */
static bool strict;
/* Whether the default provider ignores SIV data of 0 bytes (before OpenSSL 3.2). */
static bool skips_empty;
/* Whether any parameter resets the SIV result of the default provider, and whether an empty list of
 * parameters does (see resets()). */
static bool params_reset, none_reset;

/* Whether these parameters, set after an encryption, make final fail in the default provider. */
static bool resets(const OSSL_PARAM params[])
{
    static const uint8_t key[32] = {1};
    uint8_t out[32];
    int n;
    EVP_CIPHER *cipher = evp_fetch(&sides[THEIRS], "AES-128-SIV");
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    EVP_CipherInit_ex2(ctx, cipher, key, NULL, 1, NULL);
    EVP_CipherUpdate(ctx, out, &n, key, 32);
    EVP_CIPHER_CTX_set_params(ctx, params);
    const bool gone = EVP_CipherFinal_ex(ctx, out, &n) <= 0;
    EVP_CIPHER_CTX_free(ctx);
    EVP_CIPHER_free(cipher);
    ERR_clear_error();
    return gone;
}

static void look_at_siv(void)
{
    unsigned padding = 1;
    const OSSL_PARAM none[] = {OSSL_PARAM_END},
                     one[] = {OSSL_PARAM_construct_uint(OSSL_CIPHER_PARAM_PADDING, &padding),
                              OSSL_PARAM_END};
    params_reset = resets(one);
    none_reset = resets(none);
}

/* Records that a parameter has reset the result of the default provider, but not the result of
 * tenrounds. */
static void reset_by_parameter(struct state *s)
{
    DIFFERS("siv-parameters-keep-result");
    s->reset |= s->done;
    s->done = false;
}

/* Updates s->done after a call that set parameters. The argument `good` says whether the call
 * succeeded. */
static void after_params(struct state *s, bool good, const OSSL_PARAM params[])
{
    if (!s->family->siv)
        return;
    const OSSL_PARAM *tag = OSSL_PARAM_locate_const(params, OSSL_CIPHER_PARAM_AEAD_TAG);
    if (tag != NULL && s->encrypt)
        return; /* both providers ignore the whole list */
    /* Both providers read the tag before all other parameters. So a valid tag takes effect even if
     * another parameter makes the call fail. */
    const bool new_tag = tag != NULL && tag->data_type == OSSL_PARAM_OCTET_STRING &&
                         tag->data_size == 16 && tag->data != NULL;
    if (new_tag)
        s->done = s->reset = false;
    else if (good && (params->key == NULL ? none_reset : params_reset))
        reset_by_parameter(s);
    /* In OpenSSL 4.0, the call can fail after the default provider has reset the result. A final
     * call in a copy of the context shows whether the result was reset. */
    if (!good && s->done) {
        uint8_t out[16];
        int n;
        EVP_CIPHER_CTX *copy = EVP_CIPHER_CTX_new();
        if (EVP_CIPHER_CTX_copy(copy, s->ctx[THEIRS]) <= 0 ||
            EVP_CipherFinal_ex(copy, out, &n) <= 0)
            reset_by_parameter(s);
        EVP_CIPHER_CTX_free(copy);
        ERR_clear_error();
    }
}

/* Whether the test compares errors. tenrounds returns the error reasons of OpenSSL 3.0, but later
 * versions have other reasons. */
static bool same_errors_expected;

static bool alike(struct result r[SIDES])
{
    if (!same_errors_expected)
        r[OURS].error = r[THEIRS].error = 0;
    return same(r);
}

/* ---- The steps ------------------------------------------------------------------------------ */

/* Up to two parameters of any type and size. */
struct chosen {
    uint8_t value[2][32];
    OSSL_PARAM params[3];
};

static void choose_params(struct chosen *c, struct tap_random *random, bool encrypt)
{
    static const char *const keys[] = {OSSL_CIPHER_PARAM_KEYLEN,   OSSL_CIPHER_PARAM_SPEED,
                                       OSSL_CIPHER_PARAM_AEAD_TAG, OSSL_CIPHER_PARAM_AEAD_IVLEN,
                                       OSSL_CIPHER_PARAM_PADDING,  "unknown-to-all"};
    static const unsigned types[] = {OSSL_PARAM_INTEGER, OSSL_PARAM_UNSIGNED_INTEGER,
                                     OSSL_PARAM_OCTET_STRING, OSSL_PARAM_UTF8_STRING};
    memset(c, 0, sizeof(*c));
    const size_t first = tap_below(random, 6);
    const size_t n = tap_below(random, 8) == 0 ? 0 : 1 + tap_below(random, 2);
    for (size_t i = 0; i < n; i++) {
        const unsigned type = types[tap_below(random, 4)];
        const size_t size = type <= OSSL_PARAM_UNSIGNED_INTEGER ? 1u << tap_below(random, 4)
                            : tap_below(random, 2) == 0         ? 16
                                                                : tap_below(random, 18);
        c->value[i][0] = (uint8_t)(tap_below(random, 2) == 0 ? 16u << tap_below(random, 3)
                                                             : tap_below(random, 4));
        const char *const key = keys[(first + i * (1 + tap_below(random, 5))) % 6];
        const bool null = tap_below(random, 3) == 0 && type == OSSL_PARAM_OCTET_STRING &&
                          strcmp(key, OSSL_CIPHER_PARAM_AEAD_TAG) == 0 && (encrypt || size != 16);
        c->params[i] = (OSSL_PARAM){key, type, null ? NULL : c->value[i], size, 0};
        tell("  with %s, type %u, %zu bytes, first %02x%s", key, type, size, c->value[i][0],
             null ? ", NULL" : "");
    }
    c->params[n] = OSSL_PARAM_construct_end();
}

static bool do_init(struct state *s, struct tap_random *random)
{
    uint8_t key[64], iv[16];
    struct result r[SIDES] = {0};
    struct chosen chosen;
    const bool fresh = !s->started || tap_below(random, 6) == 0;
    const int enc = !s->started ? (int)tap_below(random, 2) : (int)tap_below(random, 3) - 1;
    const bool with_key = tap_below(random, 3) != 0, with_iv = tap_below(random, 3) != 0;
    const bool with_params = tap_below(random, 5) == 0;
    tap_fill(random, key, sizeof(key));
    tap_fill(random, iv, sizeof(iv));
    tell("init: %s, key %s, iv %s, enc %d", fresh ? "cipher" : "no cipher",
         with_key ? "new" : "NULL", with_iv ? "new" : "NULL", enc);
    if (with_params)
        choose_params(&chosen, random, enc > 0 || (enc < 0 && s->encrypt));
    for (int i = 0; i < SIDES; i++)
        end_call(&r[i],
                 EVP_CipherInit_ex2(s->ctx[i], fresh ? s->cipher[i] : NULL, with_key ? key : NULL,
                                    with_iv ? iv : NULL, enc, with_params ? chosen.params : NULL));
    s->stale = s->stale && !fresh && !with_key;
    s->done = s->reset = false;
    /* After a failed init, the default provider may have stored part of the new key. */
    DIFFERS("after-failed-call");
    s->half = r[THEIRS].ret <= 0;
    s->key_set = r[THEIRS].ret > 0 && (with_key || (s->key_set && !fresh));
    s->started = true;
    if (enc >= 0)
        s->encrypt = enc;
    return alike(r);
}

/* Whether the outputs may differ: only after a tag mismatch of GCM-SIV. The default provider then
 * returns the plaintext and fails only in final. tenrounds returns zeros. */
static bool not_authentic(const struct state *s, const uint8_t *ours, size_t len)
{
    uint8_t out[16];
    int n;
    EVP_CIPHER_CTX *copy = EVP_CIPHER_CTX_new();
    bool good = !s->family->siv && !s->encrypt && EVP_CIPHER_CTX_copy(copy, s->ctx[THEIRS]) > 0 &&
                EVP_CipherFinal_ex(copy, out, &n) <= 0;
    EVP_CIPHER_CTX_free(copy);
    for (size_t i = 0; i < len; i++)
        good = good && ours[i] == 0;
    return good;
}

/* Encrypts or decrypts a message in one call. Compares the output buffers even after a failure. */
static bool crypt(struct state *s, const uint8_t *data, size_t len, size_t offset, bool in_place,
                  bool once)
{
    static uint8_t in[MAX_DATA + 64];
    static struct result r[SIDES];
    tell("message: %zu bytes%s%s", len, in_place ? " in place" : "", once ? ", EVP_Cipher" : "");
    for (int i = 0; i < SIDES; i++) {
        uint8_t *const from = in_place ? r[i].out : in + offset;
        memset(r[i].out, 0xa5, sizeof(r[i].out));
        memcpy(from, data, len);
        r[i].len = -1;
        if (once) {
            r[i].len = EVP_Cipher(s->ctx[i], r[i].out, from, (unsigned)len);
            end_call(&r[i], r[i].len >= 0 ? 1 : r[i].len);
        } else {
            end_call(&r[i], EVP_CipherUpdate(s->ctx[i], r[i].out, &r[i].len, from, (int)len));
        }
    }
    if (!(s->family->siv && skips_empty && len == 0)) {
        s->done = r[THEIRS].ret > 0;
        s->reset = false;
        s->stale |= s->done;
    }
    if (memcmp(r[OURS].out, r[THEIRS].out, MAX_DATA) != 0 && not_authentic(s, r[OURS].out, len))
        memcpy(r[OURS].out, r[THEIRS].out, len);
    return alike(r) && memcmp(r[OURS].out, r[THEIRS].out, MAX_DATA) == 0;
}

static bool do_data(struct state *s, struct tap_random *random)
{
    static uint8_t data[MAX_DATA];
    const size_t len = any_length(random), offset = tap_below(random, 17);
    const bool in_place = tap_below(random, 2) == 0, once = tap_below(random, 4) == 0;
    tap_fill(random, data, len);
    return !s->key_set || crypt(s, data, len, offset, in_place, once);
}

static bool add_aad(struct state *s, const uint8_t *aad, size_t len, bool once)
{
    struct result r[SIDES] = {0};
    tell("aad: %zu bytes%s", len, once ? ", EVP_Cipher" : "");
    for (int i = 0; i < SIDES; i++) {
        r[i].len = -1;
        if (once) {
            const int n = EVP_Cipher(s->ctx[i], NULL, aad, (unsigned)len);
            end_call(&r[i], n >= 0 ? 1 + n : n);
        } else {
            end_call(&r[i], EVP_CipherUpdate(s->ctx[i], NULL, &r[i].len, aad, (int)len));
        }
    }
    const bool good = r[OURS].len == r[THEIRS].len;
    r[OURS].len = r[THEIRS].len = 0;
    return good && alike(r);
}

static bool do_aad(struct state *s, struct tap_random *random)
{
    uint8_t aad[100];
    const size_t len = tap_below(random, 4) == 0 ? 0 : tap_below(random, sizeof(aad));
    const bool once = tap_below(random, 4) == 0;
    tap_fill(random, aad, sizeof(aad));
    return !s->started || (s->family->siv && !s->key_set) || add_aad(s, aad, len, once);
}

/* Ends the message with EVP_Cipher(), with EVP_CipherUpdate() without input, or with
 * EVP_CipherFinal_ex(). */
static bool do_final(struct state *s, struct tap_random *random)
{
    struct result r[SIDES] = {0};
    const size_t how = tap_below(random, 4);
    if (!s->key_set || (!strict && !s->done && !s->family->siv))
        return true;
    tell("final, %zu", how);
    for (int i = 0; i < SIDES; i++) {
        r[i].len = -1;
        if (how == 0) {
            r[i].len = EVP_Cipher(s->ctx[i], NULL, NULL, 0);
            end_call(&r[i], r[i].len >= 0 ? 1 : r[i].len);
        } else if (how == 1) {
            end_call(&r[i], EVP_CipherUpdate(s->ctx[i], r[i].out, &r[i].len, NULL, 0));
        } else {
            end_call(&r[i], EVP_CipherFinal_ex(s->ctx[i], r[i].out, &r[i].len));
        }
    }
    if (!s->family->siv) {
        s->done |= r[THEIRS].ret > 0;
        return alike(r);
    }
    if (how == 1 && skips_empty) /* data of 0 bytes, which the default provider ignores */
        return alike(r);
    if (s->reset)
        return r[OURS].ret > 0 && r[THEIRS].ret <= 0;
    /* If the default provider reports an earlier message, tenrounds must fail. */
    if (s->stale && !s->done && r[THEIRS].ret > 0)
        r[THEIRS] = r[OURS];
    return alike(r) && (r[OURS].ret > 0) == s->done;
}

/* Whether the last control succeeded. */
static bool controlled;

/* Runs a control with the same bytes in both providers, and compares the results and the bytes. */
static bool control(struct state *s, const char *what, int type, int arg, const uint8_t bytes[32])
{
    struct result r[SIDES] = {0};
    tell("%s: %d%s", what, arg, bytes == NULL ? ", NULL" : "");
    for (int i = 0; i < SIDES; i++) {
        if (bytes != NULL)
            memcpy(r[i].out, bytes, 32);
        end_call(&r[i], EVP_CIPHER_CTX_ctrl(s->ctx[i], type, arg, bytes != NULL ? r[i].out : NULL));
        r[i].len = 32;
    }
    controlled = r[THEIRS].ret > 0;
    return alike(r);
}

static bool do_set_tag(struct state *s, struct tap_random *random)
{
    uint8_t tag[32];
    const int len = tap_below(random, 3) != 0 ? 16 : (int)tap_below(random, 20);
    tap_fill(random, tag, sizeof(tag));
    /* When encrypting, programs set the tag length with a NULL tag. */
    const bool null = tap_below(random, 3) == 0 && ((s->encrypt && !s->half) || len != 16);
    if (!s->started)
        return true;
    if (!control(s, "set tag", EVP_CTRL_AEAD_SET_TAG, len, null ? NULL : tag))
        return false;
    const OSSL_PARAM params[] = {
        {OSSL_CIPHER_PARAM_AEAD_TAG, OSSL_PARAM_OCTET_STRING, tag, (size_t)len, 0}, OSSL_PARAM_END};
    if (controlled)
        after_params(s, true, params);
    return true;
}

static bool do_get_tag(struct state *s, struct tap_random *random)
{
    static const uint8_t room[32];
    const int len = tap_below(random, 3) != 0 ? 16 : (int)tap_below(random, 20);
    return !s->started || s->half || (!strict && !s->done && !s->family->siv) ||
           control(s, "get tag", EVP_CTRL_AEAD_GET_TAG, len, room);
}

static bool do_speed(struct state *s, struct tap_random *random)
{
    static const uint8_t nothing[32];
    const int speed = (int)tap_below(random, 4) - 1;
    if (!s->started)
        return true;
    if (!control(s, "speed", EVP_CTRL_SET_SPEED, speed, nothing))
        return false;
    if (controlled && s->family->siv && params_reset)
        reset_by_parameter(s);
    return true;
}

static bool do_padding(struct state *s, struct tap_random *random)
{
    const int padding = (int)tap_below(random, 2);
    if (!s->started)
        return true;
    if (s->family->siv && params_reset)
        reset_by_parameter(s);
    return same_padding(s->ctx, padding);
}

static bool do_set_params(struct state *s, struct tap_random *random)
{
    struct result r[SIDES] = {0};
    struct chosen chosen;
    if (!s->started)
        return true;
    tell("set params");
    choose_params(&chosen, random, s->encrypt && !s->half);
    for (int i = 0; i < SIDES; i++)
        end_call(&r[i], EVP_CIPHER_CTX_set_params(s->ctx[i], chosen.params));
    after_params(s, r[THEIRS].ret > 0, chosen.params);
    return alike(r);
}

/* Whether tenrounds refuses to store the tag in a number. Most default providers ignore such a
 * parameter and succeed. */
static bool refuses_tag_as_number(EVP_CIPHER_CTX *ctx)
{
    DIFFERS("siv-tag-type");
    unsigned number = 7;
    OSSL_PARAM params[] = {OSSL_PARAM_construct_uint(OSSL_CIPHER_PARAM_AEAD_TAG, &number),
                           OSSL_PARAM_END};
    const bool good = EVP_CIPHER_CTX_get_params(ctx, params) <= 0 && number == 7;
    ERR_clear_error();
    return good;
}

static bool do_get_params(struct state *s, struct tap_random *random)
{
    static const char *const numbers[] = {OSSL_CIPHER_PARAM_KEYLEN, OSSL_CIPHER_PARAM_IVLEN,
                                          OSSL_CIPHER_PARAM_AEAD_TAGLEN, OSSL_CIPHER_PARAM_SPEED,
                                          "unknown-to-all"};
    static const char *const bytes[] = {OSSL_CIPHER_PARAM_IV, OSSL_CIPHER_PARAM_UPDATED_IV,
                                        OSSL_CIPHER_PARAM_AEAD_TAG};
    static const unsigned types[] = {OSSL_PARAM_OCTET_STRING, OSSL_PARAM_OCTET_PTR,
                                     OSSL_PARAM_UTF8_STRING, OSSL_PARAM_INTEGER};
    if (!s->started)
        return true;
    tell("get params");
    bool good = refuses_tag_as_number(s->ctx[OURS]);
    for (unsigned i = 0; good && i < 5; i++)
        good = same_param(s->ctx, numbers[i], OSSL_PARAM_INTEGER + (unsigned)tap_below(random, 2),
                          (size_t)1 << tap_below(random, 4));
    const unsigned readable = (strict && !s->half) || s->done ? 3 : 2;
    for (unsigned i = 0; good && i < readable; i++)
        good = same_param(s->ctx, bytes[i], types[i == 2 ? 0 : tap_below(random, 4)],
                          tap_below(random, 2) == 0 ? 16 : tap_below(random, 20));
    for (unsigned i = 0; good && i < 5; i++)
        good = same_size(s->ctx, numbers[i], OSSL_PARAM_INTEGER + (unsigned)tap_below(random, 2),
                         tap_below(random, 9));
    for (unsigned i = 0; good && i < readable; i++)
        good = same_size(s->ctx, bytes[i], types[i == 2 ? 0 : tap_below(random, 3)],
                         tap_below(random, 2) == 0 ? 16 : tap_below(random, 20));
    return good &&
           EVP_CIPHER_CTX_get_iv_length(s->ctx[OURS]) ==
               EVP_CIPHER_CTX_get_iv_length(s->ctx[THEIRS]) &&
           EVP_CIPHER_CTX_get_key_length(s->ctx[OURS]) ==
               EVP_CIPHER_CTX_get_key_length(s->ctx[THEIRS]) &&
           EVP_CIPHER_CTX_get_tag_length(s->ctx[OURS]) ==
               EVP_CIPHER_CTX_get_tag_length(s->ctx[THEIRS]);
}

/* Continues with a copy, or with the original after a copy was used and freed. */
static bool do_copy(struct state *s, struct tap_random *random)
{
    struct result r[SIDES] = {0};
    EVP_CIPHER_CTX *copy[SIDES];
    const bool keep = tap_below(random, 2) == 0;
    DIFFERS("copy-more-states");
    /* The default provider cannot copy SIV without a key. */
    if (!s->started || (s->family->siv && !s->key_set))
        return true;
    tell("copy, continue with the %s", keep ? "copy" : "original");
    for (int i = 0; i < SIDES; i++) {
        uint8_t junk[64] = {0};
        int len;
        copy[i] = EVP_CIPHER_CTX_new();
        end_call(&r[i], EVP_CIPHER_CTX_copy(copy[i], s->ctx[i]));
        if (keep && r[i].ret > 0) {
            EVP_CIPHER_CTX *const original = s->ctx[i];
            s->ctx[i] = copy[i];
            copy[i] = original;
        }
        if (r[i].ret > 0 && s->key_set) {
            EVP_CipherUpdate(copy[i], NULL, &len, junk, sizeof(junk));
            EVP_CipherUpdate(copy[i], junk, &len, junk, sizeof(junk));
        }
        EVP_CIPHER_CTX_free(copy[i]);
    }
    ERR_clear_error();
    return alike(r);
}

/* Seals a message in a third context and opens it in both providers, sometimes with one bit
 * changed. */
static bool do_message(struct state *s, struct tap_random *random)
{
    static uint8_t text[MAX_DATA];
    uint8_t key[64], iv[16], aad[4][64], tag[32];
    size_t aad_len[4];
    struct result r[SIDES] = {0};
    int n;
    const size_t len = any_length(random), strings = tap_below(random, 5);
    /* Where one bit is changed. 0: the tag, 1: the text, 2: the AAD, more: nowhere. */
    const size_t wrong = tap_below(random, 6);
    const bool fresh = tap_below(random, 2) == 0, in_place = tap_below(random, 2) == 0;
    tap_fill(random, key, sizeof(key));
    tap_fill(random, iv, sizeof(iv));
    tap_fill(random, aad, sizeof(aad));
    tap_fill(random, text, len);
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    EVP_CipherInit_ex2(ctx, s->cipher[THEIRS], key, iv, 1, NULL);
    for (size_t i = 0; i < strings; i++) {
        aad_len[i] = s->family->siv ? tap_below(random, 64) : 1 + tap_below(random, 63);
        EVP_CipherUpdate(ctx, NULL, &n, aad[i], (int)aad_len[i]);
    }
    EVP_CipherUpdate(ctx, text, &n, text, (int)len);
    EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, 16, tag);
    EVP_CIPHER_CTX_free(ctx);
    tell("whole message, %zu strings of AAD, spoiled: %zu", strings, wrong);
    if (wrong == 0)
        tag[tap_below(random, 16)] ^= 0x40;
    if (wrong == 1 && len != 0)
        text[tap_below(random, len)] ^= 1;
    if (wrong == 2 && strings != 0)
        aad[strings - 1][0] ^= 1;
    for (int i = 0; i < SIDES; i++)
        end_call(&r[i], EVP_CipherInit_ex2(s->ctx[i], fresh || !s->started ? s->cipher[i] : NULL,
                                           key, iv, 0, NULL));
    s->stale = false;
    s->started = true;
    s->key_set = r[THEIRS].ret > 0;
    s->half = !s->key_set;
    s->done = s->reset = false;
    s->encrypt = 0;
    bool good = alike(r);
    if (!s->key_set)
        return good;
    /* GCM-SIV keeps AAD for the next message. An empty AAD removes the old AAD. */
    if (!s->family->siv)
        good = good && add_aad(s, aad[0], 0, false);
    for (size_t i = 0; i < strings; i++)
        good = good && add_aad(s, aad[i], aad_len[i], false);
    return good && control(s, "set tag", EVP_CTRL_AEAD_SET_TAG, 16, tag) &&
           crypt(s, text, len, 1, in_place, false) && do_final(s, random);
}

/* The kinds of steps. Repeated entries are drawn more often. */
static bool (*const whats[])(struct state *, struct tap_random *) = {
    do_init,    do_init,    do_init,    do_init,       do_data,       do_data,
    do_data,    do_data,    do_aad,     do_aad,        do_aad,        do_final,
    do_final,   do_set_tag, do_speed,   do_get_params, do_set_params, do_copy,
    do_message, do_get_tag, do_get_tag, do_padding,    do_set_tag};
#define WHATS (sizeof(whats) / sizeof(whats[0]))

/* ---- Sequences ------------------------------------------------------------------------------ */

static bool run(const void *subject, const struct step *steps, unsigned n, bool print)
{
    const struct family *family = subject;
    struct state s = {.family = family};
    printing = print;
    open_contexts(family->name, s.cipher, s.ctx);
    bool good = true;
    for (unsigned i = 0; good && i < n; i++) {
        struct tap_random random = tap_random(steps[i].seed);
        good = whats[steps[i].what](&s, &random);
    }
    close_contexts(s.cipher, s.ctx);
    return good;
}

/* ---- Deliberate differences ------------------------------------------------------------------ */

/* Opens 0, 24 and 48 bytes with a wrong tag. Checks that final fails and that the output is
 * zeros. */
static bool no_plaintext(const struct family *family, struct tap_random *random)
{
    DIFFERS("gcm-siv-zeros");
    uint8_t key[64], iv[12], aad[20], out[64], tag[16];
    int n;
    tap_fill(random, key, sizeof(key));
    tap_fill(random, iv, sizeof(iv));
    tap_fill(random, aad, sizeof(aad));
    EVP_CIPHER *cipher = evp_fetch(&sides[OURS], family->name);
    bool good = true;
    for (int len = family->siv && skips_empty ? 24 : 0; good && len <= 48; len += 24) {
        uint8_t text[64] = "this is what nobody may see who has the wrong tag";
        EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
        good = EVP_CipherInit_ex2(ctx, cipher, key, iv, 1, NULL) > 0 &&
               EVP_CipherUpdate(ctx, NULL, &n, aad, sizeof(aad)) > 0 &&
               EVP_CipherUpdate(ctx, text, &n, text, len) > 0 && n == len &&
               EVP_CipherFinal_ex(ctx, text, &n) > 0 &&
               EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, 16, tag) > 0;
        tag[tap_below(random, 16)] ^= 1;
        memset(out, 0xa5, sizeof(out));
        good = good && EVP_CipherInit_ex2(ctx, cipher, key, iv, 0, NULL) > 0 &&
               EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, 16, tag) > 0 &&
               EVP_CipherUpdate(ctx, NULL, &n, aad, sizeof(aad)) > 0;
        (void)EVP_CipherUpdate(ctx, out, &n, text, len);
        good = good && EVP_CipherFinal_ex(ctx, out + 48, &n) <= 0;
        for (int i = 0; i < len; i++)
            good = good && out[i] == 0;
        EVP_CIPHER_CTX_free(ctx);
    }
    ERR_clear_error();
    EVP_CIPHER_free(cipher);
    return good;
}

static const uint8_t key[64] = {1}, nonce[12] = {3}; /* RFC 8452 appendix C.1, the first vectors */

static EVP_CIPHER_CTX *ours(const char *name, const uint8_t *raw, int encrypt)
{
    EVP_CIPHER *cipher = evp_fetch(&sides[OURS], name);
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    if (EVP_CipherInit_ex2(ctx, cipher, raw, nonce, encrypt, NULL) <= 0)
        ERR_print_errors_fp(stderr);
    EVP_CIPHER_free(cipher);
    return ctx;
}

static bool raised(int lib, int reason)
{
    const unsigned long e = ERR_peek_last_error();
    ERR_clear_error();
    return ERR_GET_LIB(e) == lib && ERR_GET_REASON(e) == reason;
}

/* Checks that decryption refuses a NULL tag and keeps the tag that was set. The default provider
 * crashes in this case. */
static bool refuses_null_tag(const struct family *f)
{
    DIFFERS("null-tag");
    uint8_t data[20] = {0}, tag[16];
    int n;
    EVP_CIPHER_CTX *ctx = ours(f->name, key, 1);
    bool good = EVP_CipherUpdate(ctx, data, &n, data, 20) > 0 &&
                EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, 16, tag) > 0;
    EVP_CIPHER_CTX_free(ctx);
    ctx = ours(f->name, key, 0);
    good = good && EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, 16, tag) > 0 &&
           EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, 16, NULL) <= 0 &&
           raised(ERR_LIB_PROV, PROV_R_FAILED_TO_GET_PARAMETER) &&
           EVP_CipherUpdate(ctx, data, &n, data, 20) > 0 && EVP_CipherFinal_ex(ctx, data, &n) > 0;
    EVP_CIPHER_CTX_free(ctx);
    return good;
}

static bool refuses_without_key(const struct family *f)
{
    DIFFERS("no-key");
    uint8_t data[32] = {0}, out[32];
    int n;
    EVP_CIPHER_CTX *ctx = ours(f->name, NULL, 1);
    const bool good =
        EVP_CipherUpdate(ctx, out, &n, data, 32) <= 0 && raised(ERR_LIB_PROV, PROV_R_NO_KEY_SET) &&
        EVP_CipherFinal_ex(ctx, out, &n) <= 0 && raised(ERR_LIB_PROV, PROV_R_NO_KEY_SET);
    EVP_CIPHER_CTX_free(ctx);
    return good;
}

/* Checks that tenrounds refuses output that begins inside the input and writes nothing, and that a
 * message can follow. */
static bool refuses_overlap(const struct family *f)
{
    DIFFERS("overlap");
    bool good = true;
    for (int encrypt = 0; encrypt < 2; encrypt++) {
        for (int shift = 0; good && shift <= 40; shift += 8) {
            uint8_t memory[160] = {0}, before[160] = {0};
            int n;
            EVP_CIPHER_CTX *ctx = ours(f->name, key, encrypt);
            if (shift < 40 && shift != 0)
                good = EVP_CipherUpdate(ctx, memory + 60 + shift, &n, memory + 60, 40) <= 0 &&
                       raised(ERR_LIB_EVP, EVP_R_PARTIALLY_OVERLAPPING) &&
                       memcmp(memory, before, sizeof(memory)) == 0;
            good = good && (EVP_CipherUpdate(ctx, memory + 60, &n, memory + 60, 40) > 0 ||
                            (!encrypt && f->siv));
            EVP_CIPHER_CTX_free(ctx);
        }
    }
    return good;
}

/* Checks that after a new tag or an init, final no longer reports the last message. Final then
 * checks an empty message, for which both `tag` and `other` are wrong. */
static bool forgets_the_last_message(const struct family *f)
{
    DIFFERS("siv-final-forgets");
    uint8_t data[40] = {0}, tag[16], other[16] = {7};
    int n;
    EVP_CIPHER_CTX *ctx = ours(f->name, key, 1);
    bool good = EVP_CipherUpdate(ctx, data, &n, data, 40) > 0 &&
                EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, 16, tag) > 0;
    EVP_CIPHER_CTX_free(ctx);
    ctx = ours(f->name, key, 0);
    good = good && EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, 16, tag) > 0 &&
           EVP_CipherUpdate(ctx, data, &n, data, 40) > 0 && EVP_CipherFinal_ex(ctx, data, &n) > 0 &&
           EVP_CipherFinal_ex(ctx, data, &n) > 0 &&
           EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, 16, other) > 0 &&
           EVP_CipherFinal_ex(ctx, data, &n) <= 0 &&
           EVP_CipherInit_ex2(ctx, NULL, NULL, nonce, 0, NULL) > 0 &&
           EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, 16, tag) > 0 &&
           EVP_CipherFinal_ex(ctx, data, &n) <= 0;
    EVP_CIPHER_CTX_free(ctx);
    ERR_clear_error();
    return good;
}

/* Checks the GCM-SIV of tenrounds without the default provider, also with OpenSSL before 3.2. The
 * messages are the second and the first vector of RFC 8452 appendix C.1. The first vector is empty,
 * so final processes it without an update. */
static bool gcm_siv_is_right(void)
{
    DIFFERS("gcm-siv-everywhere");
    DIFFERS("gcm-siv-empty-final");
    static const uint8_t text[8] = {1},
                         sealed[8] = {0xb5, 0xd8, 0x39, 0x33, 0x0a, 0xc7, 0xb7, 0x86},
                         expected[16] = {0x57, 0x87, 0x82, 0xff, 0xf6, 0x01, 0x3b, 0x81,
                                         0x5b, 0x28, 0x7c, 0x22, 0x49, 0x3a, 0x36, 0x4c},
                         of_empty[16] = {0xdc, 0x20, 0xe2, 0xd8, 0x3f, 0x25, 0x70, 0x5b,
                                         0xb4, 0x9e, 0x43, 0x9e, 0xca, 0x56, 0xde, 0x25};
    uint8_t out[8], tag[16];
    int n;
    EVP_CIPHER_CTX *ctx = ours("AES-128-GCM-SIV", key, 1);
    /* When encrypting, programs set the tag length with a NULL tag. */
    bool good =
        EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, 16, NULL) > 0 &&
        EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, 12, NULL) <= 0 &&
        EVP_CipherUpdate(ctx, out, &n, text, 8) > 0 && n == 8 &&
        EVP_CipherFinal_ex(ctx, out, &n) > 0 && n == 0 && tap_same(out, sealed, 8) &&
        EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, 16, tag) > 0 &&
        tap_same(tag, expected, 16) && EVP_CipherInit_ex2(ctx, NULL, NULL, nonce, 1, NULL) > 0 &&
        EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, 16, tag) <= 0 &&
        EVP_CipherFinal_ex(ctx, out, &n) > 0 &&
        EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, 16, tag) > 0 &&
        tap_same(tag, of_empty, 16) && EVP_CipherInit_ex2(ctx, NULL, NULL, nonce, 0, NULL) > 0 &&
        EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, 16, tag) > 0 &&
        EVP_CipherFinal_ex(ctx, out, &n) > 0;
    EVP_CIPHER_CTX_free(ctx);
    return good;
}

/* Compares SIV with 299 strings of AAD. Both providers accept more strings than the 126 of the
 * standard. */
static bool many_strings(void)
{
    uint8_t out[SIDES][20], tag[SIDES][16], text[20] = {0};
    bool good = true;
    for (int i = 0; i < SIDES; i++) {
        int n;
        EVP_CIPHER *cipher = evp_fetch(&sides[i], "AES-128-SIV");
        EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
        good &= EVP_CipherInit_ex2(ctx, cipher, key, NULL, 1, NULL) > 0;
        for (int j = 1; j < 300; j++)
            good &= EVP_CipherUpdate(ctx, NULL, &n, text, j % 20) > 0;
        good &= EVP_CipherUpdate(ctx, out[i], &n, text, 20) > 0 &&
                EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, 16, tag[i]) > 0;
        EVP_CIPHER_CTX_free(ctx);
        EVP_CIPHER_free(cipher);
    }
    return good && tap_same(out[OURS], out[THEIRS], 20) && tap_same(tag[OURS], tag[THEIRS], 16);
}

int main(int argc, char **argv)
{
    const time_t seconds = argc > 1 ? atoi(argv[1]) : 5;
    unsigned count[FAMILIES] = {0};
    bool good[FAMILIES];
    const unsigned major = OPENSSL_version_major(), minor = OPENSSL_version_minor();
    strict = major >= 4;
    skips_empty = major == 3 && minor < 2;
    same_errors_expected = major == 3 && minor == 0;
    sides[OURS] = evp_open("tenrounds");
    sides[THEIRS] = evp_open("default");
    look_at_siv();
    /* tenrounds has GCM-SIV with every version of OpenSSL. The default provider has it since
     * 3.2. */
    const unsigned compared = major > 3 || minor >= 2 ? FAMILIES : FAMILIES / 2;
    tap_plan(5 * FAMILIES + 3 + compared);
    tap_diag("backend: %s", evp_provider_text(sides[OURS].provider, "selected-backend"));
    tap_ok(offers(THEIRS, "AES-128-SIV") &&
               offers(THEIRS, "AES-256-GCM-SIV") == (compared == FAMILIES),
           "the default provider of OpenSSL %u.%u has the ciphers that the test compares", major,
           minor);
    struct tap_random random = tap_random(0);
    memset(good, 1, sizeof(good));
    const time_t end = time(NULL) + seconds;
    do {
        for (unsigned f = 0; f < compared; f++) {
            if (good[f])
                good[f] = sequence_drawn(run, &families[f], families[f].name, MAX_STEPS, WHATS,
                                         (uint32_t[]){0}, 1, &random);
            count[f] += good[f];
        }
    } while (time(NULL) < end);
    for (unsigned f = 0; f < compared; f++)
        tap_ok(good[f], "%s: %u sequences match the default provider", families[f].name, count[f]);
    for (unsigned f = 0; f < FAMILIES; f++) {
        const char *name = families[f].name;
        tap_ok(no_plaintext(&families[f], &random), "%s: the output is all zeros after a wrong tag",
               name);
        tap_ok(refuses_null_tag(&families[f]),
               "%s: refuses a NULL tag and keeps the tag that was set", name);
        tap_ok(refuses_without_key(&families[f]), "%s: refuses data and final without a key", name);
        tap_ok(refuses_overlap(&families[f]), "%s: refuses output that begins inside the input",
               name);
        tap_ok(forgets_the_last_message(&families[f]),
               "%s: final forgets the last message after a new tag or an init", name);
    }
    tap_ok(gcm_siv_is_right(), "GCM-SIV: a vector of RFC 8452 and an empty message are right");
    tap_ok(many_strings(), "SIV: 299 strings of AAD match the default provider");
    evp_close(&sides[OURS]);
    evp_close(&sides[THEIRS]);
    return tap_done();
}
