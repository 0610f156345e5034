/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests the table at the top of openssl/provider/gcm.c, which lists the state of a GCM context's IV
 * after each call in each state. The provider does not reveal the state, so the test infers the
 * state from the result of final in a copy of the context.
 */
#include "sides.h"

static const uint8_t key[16] = {1, 2, 3}, iv[12] = {4, 5, 6}, aad[5] = {7}, text[20] = {8};
static struct evp_side us;
static EVP_CIPHER *cipher;
static uint8_t empty_tag[16]; /* the tag of a message without AAD and data, with `iv` */

enum state { NONE, GIVEN, IN_USE, SPENT, REFUSED, STATES = REFUSED };
static const char *const state_names[] = {"NONE", "GIVEN", "IN_USE", "SPENT", "refused"};

/* ---- States ---------------------------------------------------------------------------------- */

static bool init(EVP_CIPHER_CTX *ctx, const uint8_t *k, const uint8_t *v, int encrypt)
{
    return EVP_CipherInit_ex2(ctx, NULL, k, v, encrypt, NULL) > 0;
}

static bool add_aad(EVP_CIPHER_CTX *ctx)
{
    int n;
    return EVP_CipherUpdate(ctx, NULL, &n, aad, sizeof(aad)) > 0;
}

static bool add_data(EVP_CIPHER_CTX *ctx)
{
    uint8_t out[sizeof(text)];
    int n;
    return EVP_CipherUpdate(ctx, out, &n, text, sizeof(text)) > 0;
}

static bool end(EVP_CIPHER_CTX *ctx)
{
    uint8_t out[16];
    int n;
    return EVP_CipherFinal_ex(ctx, out, &n) > 0;
}

static bool get_tag(EVP_CIPHER_CTX *ctx, uint8_t tag[16])
{
    return EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, 16, tag) > 0;
}

static bool set_tag(EVP_CIPHER_CTX *ctx, uint8_t tag[16])
{
    return EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, 16, tag) > 0;
}

/* Makes a context in this state. If `fixed` is true, sets the fixed part of the IV, which the calls
 * "next IV", "TLS record" and "explicit part" need. */
static EVP_CIPHER_CTX *context(enum state state, int encrypt, bool fixed)
{
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    uint8_t tag[16];
    memcpy(tag, empty_tag, sizeof(tag));
    bool good = EVP_CipherInit_ex2(ctx, cipher, key, NULL, encrypt, NULL) > 0;
    if (fixed) /* a length of -1 sets the whole IV */
        good = good && EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_SET_IV_FIXED, -1, (void *)iv) > 0;
    if (state != NONE && !fixed)
        good = good && init(ctx, NULL, iv, encrypt);
    if (state == IN_USE)
        good = good && add_aad(ctx);
    if (state == SPENT)
        good = good && (encrypt || set_tag(ctx, tag)) && end(ctx);
    if (!good) {
        ERR_print_errors_fp(stderr);
        exit(2);
    }
    return ctx;
}

/* Returns the state of an encrypting context. Returns REFUSED if final fails in a copy, as in the
 * state SPENT and after an abandoned message. */
static enum state state_of(const EVP_CIPHER_CTX *ctx)
{
    EVP_CIPHER_CTX *copy = EVP_CIPHER_CTX_new();
    uint8_t tag[16], now[12];
    enum state state = REFUSED;
    OSSL_PARAM get[] = {OSSL_PARAM_construct_octet_string(OSSL_CIPHER_PARAM_IV, now, sizeof(now)),
                        OSSL_PARAM_END};
    if (EVP_CIPHER_CTX_copy(copy, ctx) <= 0)
        exit(2);
    const bool ends = end(copy) && get_tag(copy, tag);
    if (ends && EVP_CIPHER_CTX_get_params(copy, get) > 0) {
        unsigned generated = 0;
        OSSL_PARAM drawn[] = {OSSL_PARAM_construct_uint("iv-generated", &generated),
                              OSSL_PARAM_END};
        (void)EVP_CIPHER_CTX_get_params(copy, drawn);
        const bool same_iv = memcmp(now, iv, sizeof(iv)) == 0;
        state = generated && !same_iv                                 ? NONE
                : same_iv && memcmp(tag, empty_tag, sizeof(tag)) == 0 ? GIVEN
                                                                      : IN_USE;
    }
    EVP_CIPHER_CTX_free(copy);
    ERR_clear_error();
    return state;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static bool with_iv(EVP_CIPHER_CTX *ctx)
{
    return init(ctx, NULL, iv, -1);
}

static bool with_key(EVP_CIPHER_CTX *ctx)
{
    return init(ctx, key, NULL, -1);
}

static bool new_length(EVP_CIPHER_CTX *ctx)
{
    return EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_IVLEN, 16, NULL) > 0 &&
           EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_IVLEN, 12, NULL) > 0;
}

static bool fixed_part(EVP_CIPHER_CTX *ctx)
{
    return EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_SET_IV_FIXED, -1, (void *)iv) > 0;
}

static bool next_iv(EVP_CIPHER_CTX *ctx)
{
    uint8_t last[8];
    return EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_IV_GEN, sizeof(last), last) > 0;
}

static bool record(EVP_CIPHER_CTX *ctx)
{
    uint8_t header[13] = {[8] = 23, 3, 3, 0, 28}, data[44] = {0};
    int n;
    return EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_TLS1_AAD, sizeof(header), header) == 16 &&
           EVP_CipherUpdate(ctx, data, &n, data, sizeof(data)) > 0 && n == sizeof(data);
}

static const struct {
    const char *name;
    bool (*call)(EVP_CIPHER_CTX *);
    bool fixed; /* needs a fixed part of the IV, so there is no state NONE */
    /* The state that state_of() returns: REFUSED for SPENT and for abandoned messages (note 1 of
     * the table). */
    enum state after[STATES];
    unsigned fails; /* bit i: the call fails in state i */
} calls[] = {
    {"init with an IV", with_iv, false, {GIVEN, GIVEN, GIVEN, GIVEN}, 0},
    {"new key", with_key, false, {NONE, GIVEN, REFUSED, REFUSED}, 0},
    {"new IV length", new_length, false, {NONE, REFUSED, REFUSED, REFUSED}, 0},
    {"fixed part of the IV", fixed_part, false, {GIVEN, GIVEN, GIVEN, GIVEN}, 0},
    {"next IV", next_iv, true, {IN_USE, IN_USE, IN_USE, IN_USE}, 0},
    {"next IV without a fixed part",
     next_iv,
     false,
     {NONE, GIVEN, IN_USE, REFUSED},
     1u << NONE | 1u << GIVEN | 1u << IN_USE | 1u << SPENT},
    {"AAD", add_aad, false, {NONE, IN_USE, IN_USE, REFUSED}, 1u << SPENT},
    {"data", add_data, false, {NONE, IN_USE, IN_USE, REFUSED}, 1u << SPENT},
    {"final", end, false, {REFUSED, REFUSED, REFUSED, REFUSED}, 1u << SPENT},
    {"TLS record", record, true, {REFUSED, REFUSED, REFUSED, REFUSED}, 0},
};
#define CALLS (sizeof(calls) / sizeof(calls[0]))

static bool follows_table(unsigned c)
{
    bool good = true;
    for (enum state s = calls[c].fixed ? GIVEN : NONE; s < STATES; s++) {
        EVP_CIPHER_CTX *ctx = context(s, 1, calls[c].fixed);
        const bool works = calls[c].call(ctx), refused = (calls[c].fails >> s & 1) != 0;
        const enum state after = state_of(ctx);
        if (works == refused || after != calls[c].after[s]) {
            tap_diag("%s in state %s: %s, then %s; expected %s", calls[c].name, state_names[s],
                     works ? "works" : "is refused", state_names[after],
                     state_names[calls[c].after[s]]);
            good = false;
        }
        EVP_CIPHER_CTX_free(ctx);
        ERR_clear_error();
    }
    return good;
}

/* ---- Decryption ------------------------------------------------------------------------------ */

/* Checks that decryption without an IV is refused. */
static bool decryption_needs_iv(void)
{
    EVP_CIPHER_CTX *ctx = context(NONE, 0, false);
    uint8_t tag[16] = {0};
    const bool good = !add_aad(ctx) && !add_data(ctx) && set_tag(ctx, tag) && !end(ctx);
    EVP_CIPHER_CTX_free(ctx);
    return good;
}

/* Checks that a message continues after a final without a tag, and that a wrong tag ends the
 * message. */
static bool decryption_needs_tag(void)
{
    EVP_CIPHER_CTX *ctx = context(GIVEN, 0, false);
    uint8_t tag[16];
    memcpy(tag, empty_tag, sizeof(tag));
    bool good = !end(ctx) && set_tag(ctx, tag) && end(ctx) && !end(ctx);
    tag[3] ^= 1;
    good = good && init(ctx, NULL, iv, 0) && set_tag(ctx, tag) && !end(ctx) && !add_data(ctx);
    tag[3] ^= 1;
    good = good && set_tag(ctx, tag) && !end(ctx);
    EVP_CIPHER_CTX_free(ctx);
    return good;
}

/* Checks that the explicit part of the IV starts a message in every state but NONE, and only for
 * decryption. In the state NONE there is no fixed part. */
static bool explicit_part(void)
{
    bool good = true;
    uint8_t last[8];
    memcpy(last, iv + 4, sizeof(last));
    for (enum state s = GIVEN; s < STATES; s++) {
        EVP_CIPHER_CTX *ctx = context(s, 0, true), *other = context(s, 1, true);
        uint8_t tag[16];
        memcpy(tag, empty_tag, sizeof(tag));
        good = good && EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_SET_IV_INV, 8, last) > 0 &&
               set_tag(ctx, tag) && end(ctx) &&
               EVP_CIPHER_CTX_ctrl(other, EVP_CTRL_GCM_SET_IV_INV, 8, last) <= 0;
        EVP_CIPHER_CTX_free(ctx);
        EVP_CIPHER_CTX_free(other);
    }
    return good;
}

/* Checks that "next IV" and each TLS record increment the IV's last 8 bytes as one number. It wraps
 * without a carry into the fixed part. */
static bool counter_carries(void)
{
    static const uint8_t starts[][8] = {{0, 0, 0, 0, 0, 0, 0, 0xff},
                                        {1, 2, 3, 4, 5, 0xff, 0xff, 0xff},
                                        {1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
                                        {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};
    static const uint8_t nexts[][8] = {{0, 0, 0, 0, 0, 0, 1, 0},
                                       {1, 2, 3, 4, 6, 0, 0, 0},
                                       {2, 0, 0, 0, 0, 0, 0, 0},
                                       {0, 0, 0, 0, 0, 0, 0, 0}};
    bool good = true;
    for (unsigned i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
        for (unsigned records = 0; records < 2; records++) {
            EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
            uint8_t whole[12], now[2][44] = {{0}};
            memset(whole, 0xff, 4);
            memcpy(whole + 4, starts[i], 8);
            good = good && EVP_CipherInit_ex2(ctx, cipher, key, NULL, 1, NULL) > 0 &&
                   EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_SET_IV_FIXED, -1, whole) > 0;
            for (unsigned n = 0; n < 2; n++) {
                uint8_t header[13] = {[8] = 23, 3, 3, 0, 28};
                int len;
                good = good &&
                       (records ? EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_TLS1_AAD, sizeof(header),
                                                      header) == 16 &&
                                      EVP_CipherUpdate(ctx, now[n], &len, now[n], 44) > 0
                                : EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_IV_GEN, 8, now[n]) > 0);
            }
            good = good && tap_same(now[0], starts[i], 8) && tap_same(now[1], nexts[i], 8) &&
                   EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_IV_GEN, 12, whole) > 0 &&
                   whole[0] == 0xff && whole[3] == 0xff;
            EVP_CIPHER_CTX_free(ctx);
        }
    }
    return good;
}

/* Checks that final compares the tag that was set last, after the data. */
static bool tag_after_data(void)
{
    uint8_t tag[16], out[sizeof(text)], back[sizeof(text)];
    int n;
    EVP_CIPHER_CTX *ctx = context(IN_USE, 1, false);
    bool good =
        EVP_CipherUpdate(ctx, out, &n, text, sizeof(text)) > 0 && end(ctx) && get_tag(ctx, tag);
    for (unsigned wrong = 0; wrong < 2; wrong++) {
        good = good && init(ctx, NULL, iv, 0) && set_tag(ctx, tag) && add_aad(ctx) &&
               EVP_CipherUpdate(ctx, back, &n, out, sizeof(out)) > 0 &&
               memcmp(back, text, sizeof(text)) == 0;
        tag[9] ^= (uint8_t)wrong;
        good = good && set_tag(ctx, tag) && end(ctx) == !wrong;
    }
    EVP_CIPHER_CTX_free(ctx);
    return good;
}

/* Checks that the tag is right if more data follows a short update, also in a copied context. */
static bool more_data(void)
{
    uint8_t tags[3][16];
    uint8_t out[2 * sizeof(text)], both[2 * sizeof(text)] = {0};
    int n;
    memcpy(both, text, sizeof(text));
    memcpy(both + sizeof(text), text, sizeof(text));
    EVP_CIPHER_CTX *ctx = context(IN_USE, 1, false), *copy = EVP_CIPHER_CTX_new();
    bool good = EVP_CipherUpdate(ctx, out, &n, both, sizeof(both)) > 0 && end(ctx) &&
                get_tag(ctx, tags[0]) && init(ctx, NULL, iv, 1) && add_aad(ctx) && add_data(ctx) &&
                EVP_CIPHER_CTX_copy(copy, ctx) > 0;
    EVP_CIPHER_CTX *const two[] = {ctx, copy};
    for (unsigned i = 0; i < 2; i++)
        good = good && add_data(two[i]) && end(two[i]) && get_tag(two[i], tags[1 + i]) &&
               memcmp(tags[1 + i], tags[0], 16) == 0;
    EVP_CIPHER_CTX_free(ctx);
    EVP_CIPHER_CTX_free(copy);
    return good;
}

int main(void)
{
    tap_plan(CALLS + 6);
    us = evp_open("tenrounds");
    cipher = evp_fetch(&us, "AES-128-GCM");
    EVP_CIPHER_CTX *ctx = context(GIVEN, 1, false);
    if (!end(ctx) || !get_tag(ctx, empty_tag))
        return 2;
    EVP_CIPHER_CTX_free(ctx);
    for (unsigned i = 0; i < CALLS; i++)
        tap_ok(follows_table(i), "%s: leads to the expected state from every state", calls[i].name);
    tap_ok(decryption_needs_iv(), "decryption without an IV is refused");
    tap_ok(decryption_needs_tag(),
           "decryption continues after a final without a tag, and ends after a wrong tag");
    tap_ok(explicit_part(), "the explicit part of an IV starts a message, but only for decryption");
    tap_ok(counter_carries(), "the counter of the IV has 8 bytes, and wraps in them");
    tap_ok(tag_after_data(), "final compares with a tag that was set after the data");
    tap_ok(more_data(), "the tag is right if data follows a short update, also in a copy");
    EVP_CIPHER_free(cipher);
    evp_close(&us);
    return tap_done();
}
