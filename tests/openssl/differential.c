/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs random sequences of EVP calls in the default provider and in tenrounds. After each step,
 * return values, lengths, bytes, parameters and errors must match. A failing sequence is shortened
 * before it is printed. The argument is the duration in seconds (default 5).
 *
 * The sequences leave out calls on which the default provider crashes or computes garbage. guards.c
 * tests tenrounds with these calls:
 * - data without a key; a "num" of 16 and more; output that begins inside the input;
 * - ECB and CBC after a change of direction without a new key;
 * - partial blocks in EVP_Cipher() with ECB and CBC.
 *
 * After a failed final, the sequences pass no data, call no final and read no parameters until the
 * next init. A failed final changes the chaining value of the default provider, but not the
 * chaining value of tenrounds.
 */
#define MAX_DATA 1200
#include "sequences.h"
#include "steps.h"

#define MAX_STEPS 48

enum what {
    INIT,
    UPDATE,
    FINAL,
    SET_PADDING,
    CONTROL,
    SET_NUM,
    SET_KEY_LENGTH,
    SET_PARAMS,
    GET_PARAMS,
    COPY,
    ONE_SHOT,
    MESSAGE,
    WHATS
};

/* Both contexts, and the state that both must be in after the calls so far. */
struct state {
    unsigned mode; /* index into evp_modes */
    unsigned key_len;
    bool num_works; /* the default provider accepts a "num" of 1 to 15 for this mode */
    bool started, key_set, iv_set;
    bool stuck; /* a final has failed, and no init has succeeded since */
    int encrypt, key_encrypt;
    unsigned buffered;
    EVP_CIPHER *cipher[SIDES];
    EVP_CIPHER_CTX *ctx[SIDES];
};

static bool is_block_mode(const struct state *s)
{
    return s->mode < 2;
}

/* ---- The steps ------------------------------------------------------------------------------ */

static bool do_init(struct state *s, struct tap_random *random)
{
    uint8_t key[32], iv[16];
    struct result r[SIDES] = {0};
    const bool fresh = !s->started || tap_below(random, 6) == 0;
    const int enc =
        fresh && !s->started ? (int)tap_below(random, 2) : (int)tap_below(random, 3) - 1;
    const int direction = enc < 0 ? s->encrypt : enc;
    bool with_key = tap_below(random, 3) != 0, with_iv = tap_below(random, 3) != 0;
    unsigned padding = (unsigned)tap_below(random, 2);
    const bool with_params = tap_below(random, 8) == 0;
    tap_fill(random, key, sizeof(key));
    tap_fill(random, iv, sizeof(iv));
    if (!fresh && s->key_set && is_block_mode(s) && direction != s->key_encrypt)
        with_key = true;
    if (!fresh && s->stuck && !s->iv_set)
        with_iv = true;
    tell("init: %s, key %s, iv %s, enc %d%s", fresh ? "cipher" : "no cipher",
         with_key ? "new" : "NULL", with_iv ? "new" : "NULL", enc,
         with_params ? padding ? ", padding 1" : ", padding 0" : "");

    const OSSL_PARAM params[] = {OSSL_PARAM_construct_uint(OSSL_CIPHER_PARAM_PADDING, &padding),
                                 OSSL_PARAM_END};
    for (int i = 0; i < SIDES; i++)
        end_call(&r[i],
                 EVP_CipherInit_ex2(s->ctx[i], fresh ? s->cipher[i] : NULL, with_key ? key : NULL,
                                    with_iv ? iv : NULL, enc, with_params ? params : NULL));
    /* A failed init, for example with a wrong IV length, may set only the direction. */
    s->key_set = r[THEIRS].ret > 0 && (with_key || (!fresh && s->key_set));
    s->iv_set = (with_iv && r[THEIRS].ret > 0) || (!fresh && s->iv_set);
    if (with_key)
        s->key_encrypt = direction;
    s->encrypt = direction;
    s->started = true;
    s->stuck = s->stuck && !fresh && r[THEIRS].ret <= 0;
    s->buffered = 0;
    return same(r);
}

/* Runs an update in one provider. If in_place is set, the output begins `trail` bytes before the
 * input, where `trail` is the number of buffered bytes. A program that overwrites its input makes
 * such calls. No byte is overwritten before it is read. */
static void update_side(EVP_CIPHER_CTX *ctx, struct result *r, const uint8_t *data, size_t len,
                        size_t offset, size_t trail, bool in_place)
{
    static uint8_t in[MAX_DATA + 64], apart[MAX_DATA + 64];
    uint8_t *source = in + 32 + offset, *out = in_place ? source - trail : apart + offset;
    memcpy(source, data, len);
    r->len = -1;
    end_call(r, EVP_CipherUpdate(ctx, out, &r->len, source, (int)len));
    if (r->len > 0)
        memcpy(r->out, out, (size_t)r->len);
}

static bool do_update(struct state *s, struct tap_random *random)
{
    static uint8_t data[MAX_DATA];
    static struct result r[SIDES];
    const size_t len = any_length(random), offset = tap_below(random, 17);
    const bool in_place = tap_below(random, 2) == 0;
    tap_fill(random, data, len);
    if (!s->key_set || s->stuck)
        return true;
    tell("update: %zu bytes%s (%u buffered)", len, in_place ? " in place" : "", s->buffered);
    for (int i = 0; i < SIDES; i++)
        update_side(s->ctx[i], &r[i], data, len, offset, s->buffered, in_place);
    if (is_block_mode(s))
        s->buffered =
            (unsigned)(s->buffered + len - (r[THEIRS].ret > 0 ? (size_t)r[THEIRS].len : 0));
    return same(r);
}

static bool do_final(struct state *s)
{
    struct result r[SIDES] = {0};
    if (!s->key_set || s->stuck)
        return true;
    tell("final");
    for (int i = 0; i < SIDES; i++) {
        r[i].len = -1;
        end_call(&r[i], EVP_CipherFinal_ex(s->ctx[i], r[i].out, &r[i].len));
    }
    DIFFERS("failed-final");
    s->stuck = r[THEIRS].ret <= 0;
    s->buffered = 0;
    return same(r);
}

static bool do_set_padding(struct state *s, struct tap_random *random)
{
    const int padding = (int)tap_below(random, 2);
    return same_padding(s->ctx, padding);
}

/* Sends a control that is meant for other ciphers, most of them AEADs. */
static bool do_control(struct state *s, struct tap_random *random)
{
    static const int types[] = {EVP_CTRL_AEAD_SET_IVLEN, EVP_CTRL_AEAD_SET_TAG,
                                EVP_CTRL_AEAD_GET_TAG, EVP_CTRL_SET_SPEED};
    struct result r[SIDES] = {0};
    const unsigned which = (unsigned)tap_below(random, 4);
    const int arg = (int)tap_below(random, 18);
    const bool null = tap_below(random, 2) == 0;
    if (!s->started)
        return true;
    tell("control %d: %d%s", types[which], arg, null ? ", NULL" : "");
    for (int i = 0; i < SIDES; i++) {
        end_call(&r[i], EVP_CIPHER_CTX_ctrl(s->ctx[i], types[which], arg, null ? NULL : r[i].out));
        r[i].len = 32;
    }
    return same(r);
}

static bool do_set_num(struct state *s, struct tap_random *random)
{
    struct result r[SIDES] = {0};
    const int num = s->num_works ? (int)tap_below(random, 16) : 0;
    if (!s->started || tap_below(random, 3) != 0)
        return true;
    tell("num %d", num);
    for (int i = 0; i < SIDES; i++)
        end_call(&r[i], EVP_CIPHER_CTX_set_num(s->ctx[i], num));
    return same(r);
}

static bool do_set_key_length(struct state *s, struct tap_random *random)
{
    struct result r[SIDES] = {0};
    const int len = 8 * (int)tap_below(random, 6);
    if (!s->started)
        return true;
    tell("key length %d", len);
    for (int i = 0; i < SIDES; i++)
        end_call(&r[i], EVP_CIPHER_CTX_set_key_length(s->ctx[i], len));
    return same(r);
}

/* Sets a parameter, also to a negative value or with a wrong type. Sets a TLS version only for CFB,
 * OFB and CTR, where the version changes only the length that decryption reports. tls_records.c
 * tests the TLS version with CBC. */
static bool do_set_params(struct state *s, struct tap_random *random)
{
    static const char *const keys[] = {
        OSSL_CIPHER_PARAM_PADDING, OSSL_CIPHER_PARAM_USE_BITS,   OSSL_CIPHER_PARAM_TLS_MAC_SIZE,
        "unknown-to-all",          OSSL_CIPHER_PARAM_AEAD_IVLEN, OSSL_CIPHER_PARAM_AEAD_TAG,
        OSSL_CIPHER_PARAM_SPEED,   OSSL_CIPHER_PARAM_TLS_VERSION};
    static const size_t sizes[] = {1, 2, 4, 8};
    static const unsigned types[] = {OSSL_PARAM_INTEGER, OSSL_PARAM_UNSIGNED_INTEGER,
                                     OSSL_PARAM_OCTET_STRING};
    struct result r[SIDES] = {0};
    const unsigned which = (unsigned)tap_below(random, is_block_mode(s) ? 7 : 8);
    const size_t size = sizes[tap_below(random, 4)];
    const unsigned type = types[tap_below(random, 8) == 0 ? 2 : tap_below(random, 2)];
    uint8_t value[8] = {0};
    value[0] = (uint8_t)(which == 2 ? 20 * tap_below(random, 3) : tap_below(random, 3));
    if (tap_below(random, 8) == 0)
        memset(value, 0xff, sizeof(value));
    if (!s->started)
        return true;
    tell("set %s, type %u, %zu bytes, first %02x", keys[which], type, size, value[0]);
    const OSSL_PARAM params[] = {{keys[which], type, value, size, 0}, OSSL_PARAM_END};
    for (int i = 0; i < SIDES; i++)
        end_call(&r[i], EVP_CIPHER_CTX_set_params(s->ctx[i], params));
    return same(r);
}

static bool do_get_params(struct state *s, struct tap_random *random)
{
    static const char *const numbers[] = {OSSL_CIPHER_PARAM_KEYLEN, OSSL_CIPHER_PARAM_IVLEN,
                                          OSSL_CIPHER_PARAM_PADDING, OSSL_CIPHER_PARAM_NUM,
                                          "unknown-to-all"};
    static const char *const bytes[] = {OSSL_CIPHER_PARAM_IV, OSSL_CIPHER_PARAM_UPDATED_IV,
                                        OSSL_CIPHER_PARAM_AEAD_TAG};
    static const unsigned types[] = {OSSL_PARAM_OCTET_STRING, OSSL_PARAM_OCTET_PTR,
                                     OSSL_PARAM_UTF8_STRING, OSSL_PARAM_UTF8_PTR};
    if (!s->started || s->stuck)
        return true;
    tell("get params");
    bool good = true;
    for (unsigned i = 0; good && i < 5; i++)
        good = same_param(s->ctx, numbers[i], OSSL_PARAM_INTEGER + (unsigned)tap_below(random, 2),
                          (size_t)1 << tap_below(random, 4));
    for (unsigned i = 0; good && i < 5; i++)
        good = same_size(s->ctx, numbers[i], OSSL_PARAM_INTEGER + (unsigned)tap_below(random, 2),
                         tap_below(random, 9));
    for (unsigned i = 0; good && i < 3; i++)
        good = same_size(s->ctx, bytes[i], types[tap_below(random, 4)],
                         tap_below(random, 2) == 0 ? 16 : tap_below(random, 32));
    for (unsigned i = 0; good && i < 2; i++)
        good = same_param(s->ctx, bytes[i], OSSL_PARAM_OCTET_STRING, 16) &&
               same_param(s->ctx, bytes[i], OSSL_PARAM_OCTET_STRING, tap_below(random, 32)) &&
               same_param(s->ctx, bytes[i], OSSL_PARAM_OCTET_PTR, sizeof(void *)) &&
               same_param(s->ctx, bytes[i], OSSL_PARAM_UTF8_STRING, 16);
    return good && EVP_CIPHER_CTX_get_num(s->ctx[OURS]) == EVP_CIPHER_CTX_get_num(s->ctx[THEIRS]) &&
           EVP_CIPHER_CTX_get_block_size(s->ctx[OURS]) ==
               EVP_CIPHER_CTX_get_block_size(s->ctx[THEIRS]);
}

/* Continues with a copy, or with the original after a copy was used and freed. */
static bool do_copy(struct state *s, struct tap_random *random)
{
    struct result r[SIDES] = {0};
    const bool keep_copy = tap_below(random, 2) == 0;
    uint8_t junk[64] = {0}, out[128];
    int len;
    if (!s->started)
        return true;
    tell("copy, continue with the %s", keep_copy ? "copy" : "original");
    for (int i = 0; i < SIDES; i++) {
        EVP_CIPHER_CTX *copy = EVP_CIPHER_CTX_new();
        end_call(&r[i], EVP_CIPHER_CTX_copy(copy, s->ctx[i]));
        if (keep_copy && r[i].ret > 0) {
            EVP_CIPHER_CTX_free(s->ctx[i]);
            s->ctx[i] = copy;
        } else {
            if (s->key_set)
                EVP_CipherUpdate(copy, out, &len, junk, sizeof(junk));
            EVP_CIPHER_CTX_free(copy);
            ERR_clear_error();
        }
    }
    return same(r);
}

static bool do_one_shot(struct state *s, struct tap_random *random)
{
    static uint8_t data[MAX_DATA];
    static struct result r[SIDES];
    const bool no_input = tap_below(random, 8) == 0;
    size_t len = no_input ? 0 : any_length(random);
    if (is_block_mode(s))
        len -= len % 16;
    tap_fill(random, data, len);
    if (!s->key_set || s->stuck)
        return true;
    tell("one shot: %zu bytes%s", len, no_input ? ", NULL" : "");
    for (int i = 0; i < SIDES; i++) {
        r[i].len = EVP_Cipher(s->ctx[i], r[i].out, no_input ? NULL : data, (unsigned)len);
        end_call(&r[i], r[i].len);
    }
    return same(r);
}

/* Encrypts a message that ends in right or almost right padding. Returns the length of the
 * message. */
static size_t make_message(const struct state *s, struct tap_random *random, const uint8_t *key,
                           const uint8_t *iv, uint8_t *out)
{
    uint8_t plain[512];
    int len, more;
    const size_t blocks = 1 + tap_below(random, 30), total = 16 * blocks;
    const uint8_t pad = (uint8_t)tap_below(random, 19);
    tap_fill(random, plain, total);
    memset(plain + total - (pad < 16 ? pad : 16), pad, pad < 16 ? pad : 16);
    if (tap_below(random, 4) == 0)
        plain[total - 1 - tap_below(random, 16)] ^= 1;
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    EVP_CipherInit_ex2(ctx, s->cipher[THEIRS], key, iv, 1, NULL);
    EVP_CIPHER_CTX_set_padding(ctx, 0);
    EVP_CipherUpdate(ctx, out, &len, plain, (int)total);
    EVP_CipherFinal_ex(ctx, out + len, &more);
    EVP_CIPHER_CTX_free(ctx);
    return total;
}

static bool do_message(struct state *s, struct tap_random *random)
{
    uint8_t key[32], iv[16], message[512];
    static struct result r[SIDES];
    tap_fill(random, key, sizeof(key));
    tap_fill(random, iv, sizeof(iv));
    const size_t total = make_message(s, random, key, iv, message);
    tell("message: %zu bytes", total);
    for (int i = 0; i < SIDES; i++)
        end_call(&r[i], EVP_CipherInit_ex2(s->ctx[i], s->cipher[i], key, iv, 0, NULL));
    s->started = s->key_set = s->iv_set = true;
    s->encrypt = s->key_encrypt = 0;
    s->stuck = false;
    s->buffered = 0;
    bool good = same(r);
    for (size_t done = 0, n; good && done < total; done += n) {
        n = 1 + tap_below(random, total - done);
        for (int i = 0; i < SIDES; i++)
            update_side(s->ctx[i], &r[i], message + done, n, 0, 0, false);
        good = same(r);
    }
    return good && do_final(s);
}

/* ---- Sequences ------------------------------------------------------------------------------ */

static bool do_step(struct state *s, const struct step *step)
{
    struct tap_random random = tap_random(step->seed);
    switch (step->what) {
    case INIT:
        return do_init(s, &random);
    case UPDATE:
        return do_update(s, &random);
    case FINAL:
        return do_final(s);
    case SET_PADDING:
        return do_set_padding(s, &random);
    case CONTROL:
        return do_control(s, &random);
    case SET_NUM:
        return do_set_num(s, &random);
    case SET_KEY_LENGTH:
        return do_set_key_length(s, &random);
    case SET_PARAMS:
        return do_set_params(s, &random);
    case GET_PARAMS:
        return do_get_params(s, &random);
    case COPY:
        return do_copy(s, &random);
    case ONE_SHOT:
        return do_one_shot(s, &random);
    case MESSAGE:
        return do_message(s, &random);
    case WHATS:
        break;
    }
    return false;
}

/* Whether the default provider accepts a "num" of 1 to 15 for this mode. OpenSSL 3.0.8 does.
 * OpenSSL 3.0.22 accepts only 0 for CFB, OFB and CTR. */
static bool num_works(EVP_CIPHER *cipher)
{
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    EVP_CipherInit_ex2(ctx, cipher, NULL, NULL, 1, NULL);
    const bool works = EVP_CIPHER_CTX_set_num(ctx, 5) > 0;
    ERR_clear_error();
    EVP_CIPHER_CTX_free(ctx);
    return works;
}

static bool run(const void *subject, const struct step *steps, unsigned n, bool print)
{
    const unsigned cipher = *(const unsigned *)subject;
    struct state s = {.mode = cipher / 3, .key_len = evp_key_bits[cipher % 3] / 8};
    printing = print;
    open_contexts(evp_cipher_name(cipher), s.cipher, s.ctx);
    s.num_works = num_works(s.cipher[THEIRS]);
    bool good = true;
    for (unsigned i = 0; good && i < n; i++)
        good = do_step(&s, &steps[i]);
    close_contexts(s.cipher, s.ctx);
    return good;
}

static bool sequence(unsigned cipher, struct tap_random *random)
{
    /* Repeated entries are drawn more often. */
    static const enum what choice[] = {
        INIT,     INIT,           INIT,       UPDATE,      UPDATE,  UPDATE,     UPDATE,
        UPDATE,   UPDATE,         FINAL,      SET_PADDING, SET_NUM, GET_PARAMS, COPY,
        ONE_SHOT, SET_KEY_LENGTH, SET_PARAMS, MESSAGE,     UPDATE,  GET_PARAMS, CONTROL};
    struct step steps[MAX_STEPS];
    unsigned n = 2 + (unsigned)tap_below(random, MAX_STEPS - 1);
    for (unsigned i = 0; i < n; i++)
        steps[i] = (struct step){
            i == 0 ? INIT : choice[tap_below(random, sizeof(choice) / sizeof(choice[0]))],
            (uint32_t)tap_next(random)};
    return sequence_runs(run, &cipher, evp_cipher_name(cipher), steps, n);
}

int main(int argc, char **argv)
{
    const time_t seconds = argc > 1 ? atoi(argv[1]) : 5;
    unsigned count[EVP_CIPHERS] = {0};
    bool good[EVP_CIPHERS];
    tap_plan(EVP_CIPHERS);
    sides[OURS] = evp_open("tenrounds");
    sides[THEIRS] = evp_open("default");
    tap_diag("backend: %s", evp_provider_text(sides[OURS].provider, "selected-backend"));
    struct tap_random random = tap_random(0);
    memset(good, 1, sizeof(good));
    const time_t end = time(NULL) + seconds;
    do {
        for (unsigned c = 0; c < EVP_CIPHERS; c++, count[c - 1]++) {
            if (good[c])
                good[c] = sequence(c, &random);
        }
    } while (time(NULL) < end);
    for (unsigned c = 0; c < EVP_CIPHERS; c++)
        tap_ok(good[c], "%s: %u sequences match the default provider", evp_cipher_name(c),
               count[c]);
    evp_close(&sides[OURS]);
    evp_close(&sides[THEIRS]);
    return tap_done();
}
