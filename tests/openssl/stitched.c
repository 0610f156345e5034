/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests AES-CBC-HMAC as libssl uses it. The test compares records of tenrounds with AES-CBC and
 * HMAC in separate calls. It also runs random sequences of calls in the default provider and in
 * tenrounds, and compares return values, lengths, bytes, parameters and errors. A failing sequence
 * is shortened before it is printed. The argument is the duration in seconds (default 3).
 *
 * tenrounds leaves these ciphers to the default provider if the mask removes the SHA instructions
 * or SSSE3. It does so, too, if a known-answer test of SHA fails (the fault switch, ../faults.c).
 *
 * The sequences leave out calls on which the default provider reads undefined data or aborts:
 * - data or a change of direction without a key;
 * - reading the buffer size for several records before the maximum fragment is set.
 */
#define MAX_DATA 17000
#include "sequences.h"
#include "steps.h"

#include <openssl/hmac.h>
#include <openssl/prov_ssl.h>

#define MAX_STEPS 30
#define AAD       13

static const char *const names[] = {"AES-128-CBC-HMAC-SHA1", "AES-256-CBC-HMAC-SHA1",
                                    "AES-128-CBC-HMAC-SHA256", "AES-256-CBC-HMAC-SHA256"};
#define NAMES 4
static const unsigned versions[] = {SSL3_VERSION,   TLS1_VERSION,  TLS1_1_VERSION,
                                    TLS1_2_VERSION, DTLS1_VERSION, DTLS1_2_VERSION};
#define VERSIONS 6

struct state {
    const char *name;
    EVP_CIPHER *cipher[SIDES];
    EVP_CIPHER_CTX *ctx[SIDES];
    uint8_t key[32], iv[16], mac_key[100];
    size_t mac_key_len;
    bool started, keyed, mac_keyed, fragment_set;
    bool aad_waits; /* an AAD is set, but the data of its record has not come */
    int encrypt;
};

static bool is_sha1(const struct state *s)
{
    return strstr(s->name, "SHA256") == NULL;
}

static size_t mac_len(const struct state *s)
{
    return is_sha1(s) ? 20 : 32;
}

static bool explicit_iv(unsigned version)
{
    return version >= TLS1_1_VERSION;
}

/* ---- Reference records from AES-CBC and HMAC ------------------------------------------------- */

static void make_aad(struct tap_random *random, uint8_t aad[AAD], unsigned version, size_t len)
{
    tap_fill(random, aad, AAD);
    aad[9] = (uint8_t)(version >> 8);
    aad[10] = (uint8_t)version;
    aad[11] = (uint8_t)(len >> 8);
    aad[12] = (uint8_t)len;
}

enum fault { NONE, MAC_BIT, PADDING_BYTE, LAST_BYTE, ALL_RANDOM, ALL_255, SHORT, FAULTS };

/* Completes a record before encryption: appends MAC and padding to the `len` bytes of explicit IV
 * and payload in `text`. The argument `more` is the number of extra padding blocks. Returns the
 * length of the record. */
static size_t compose(const struct state *s, uint8_t *text, size_t len, const uint8_t aad[AAD],
                      unsigned more)
{
    const size_t skip = explicit_iv((unsigned)aad[9] << 8 | aad[10]) ? 16 : 0;
    static uint8_t message[AAD + MAX_DATA];
    memcpy(message, aad, AAD);
    message[11] = (uint8_t)((len - skip) >> 8);
    message[12] = (uint8_t)(len - skip);
    memcpy(message + AAD, text + skip, len - skip);
    HMAC(is_sha1(s) ? EVP_sha1() : EVP_sha256(), s->mac_key, (int)s->mac_key_len, message,
         AAD + len - skip, text + len, NULL);
    len += mac_len(s);
    size_t padding = 16 - len % 16;
    while (more-- > 0 && padding + 16 <= 256)
        padding += 16;
    memset(text + len, (int)padding - 1, padding);
    return len + padding;
}

static size_t spoil(struct tap_random *random, enum fault fault, uint8_t *text, size_t len,
                    size_t mac)
{
    const size_t padding = text[len - 1] + (size_t)1;
    switch (fault) {
    case MAC_BIT:
        text[len - padding - 1 - tap_below(random, mac)] ^= (uint8_t)(1u << tap_below(random, 8));
        return len;
    case PADDING_BYTE:
        text[len - 1 - tap_below(random, padding)] ^= (uint8_t)(1u << tap_below(random, 8));
        return len;
    case LAST_BYTE:
        text[len - 1] = (uint8_t)tap_next(random);
        return len;
    case ALL_RANDOM:
        tap_fill(random, text, len);
        return len;
    case ALL_255:
        memset(text, 255, len);
        return len;
    case SHORT:
        return len < 64 ? len : 16 * (1 + tap_below(random, 4));
    default:
        return len;
    }
}

static void cbc_encrypt(const struct state *s, const uint8_t iv[16], uint8_t *data, size_t len)
{
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(sides[THEIRS].libctx,
                                          s->name[4] == '1' ? "AES-128-CBC" : "AES-256-CBC", NULL);
    int n;
    EVP_EncryptInit_ex2(ctx, cipher, s->key, iv, NULL);
    EVP_CIPHER_CTX_set_padding(ctx, 0);
    EVP_EncryptUpdate(ctx, data, &n, data, (int)len);
    EVP_CIPHER_free(cipher);
    EVP_CIPHER_CTX_free(ctx);
}

/* ---- Steps ----------------------------------------------------------------------------------- */

/* Makes the same call in both providers. */
#define BOTH(s, r, i, call)                                                                        \
    for (int i = 0; i < SIDES; i++)                                                                \
    end_call(&(r)[i], call)

static bool do_init(struct state *s, struct tap_random *random)
{
    static struct result r[SIDES];
    const int encrypt = (int)tap_below(random, 2);
    bool with_key = tap_below(random, 4) != 0, with_iv = tap_below(random, 4) != 0;
    uint8_t key[32], iv[16];
    tap_fill(random, key, 32);
    tap_fill(random, iv, 16);
    DIFFERS("hmac-both-directions");
    if (!s->keyed || encrypt != s->encrypt)
        with_key = with_iv = true;
    tell("init: %s%s%s", encrypt ? "encrypt" : "decrypt", with_key ? ", key" : "",
         with_iv ? ", iv" : "");
    BOTH(s, r, i,
         EVP_CipherInit_ex2(s->ctx[i], s->started ? NULL : s->cipher[i], with_key ? key : NULL,
                            with_iv ? iv : NULL, encrypt, NULL));
    if (with_key) {
        memcpy(s->key, key, 32);
        s->mac_keyed = false;
    }
    if (with_iv)
        memcpy(s->iv, iv, 16);
    s->encrypt = encrypt;
    s->started = s->keyed = true;
    return same(r);
}

static bool do_mac_key(struct state *s, struct tap_random *random)
{
    static struct result r[SIDES];
    DIFFERS("hmac-key-after-aad");
    /* Sets no MAC key between AAD and data. The default provider has already hashed the AAD under
     * the previous key, but tenrounds hashes the AAD with the data. */
    if (s->aad_waits)
        return true;
    s->mac_key_len = tap_below(random, 4) == 0 ? tap_below(random, 100) : mac_len(s);
    tap_fill(random, s->mac_key, sizeof(s->mac_key));
    OSSL_PARAM params[] = {OSSL_PARAM_construct_octet_string(OSSL_CIPHER_PARAM_AEAD_MAC_KEY,
                                                             s->mac_key, s->mac_key_len),
                           OSSL_PARAM_END};
    if (!s->keyed)
        return true;
    tell("mac key of %zu bytes", s->mac_key_len);
    BOTH(s, r, i, EVP_CIPHER_CTX_set_params(s->ctx[i], params));
    s->mac_keyed = true;
    return same(r);
}

static bool do_tls_version(struct state *s, struct tap_random *random)
{
    static struct result r[SIDES];
    unsigned version = versions[tap_below(random, VERSIONS)];
    OSSL_PARAM params[] = {OSSL_PARAM_construct_uint(OSSL_CIPHER_PARAM_TLS_VERSION, &version),
                           OSSL_PARAM_END};
    if (!s->started)
        return true;
    tell("tls version %x", version);
    BOTH(s, r, i, EVP_CIPHER_CTX_set_params(s->ctx[i], params));
    return same(r);
}

static bool set_aad(struct state *s, const uint8_t *aad, size_t len)
{
    static struct result r[SIDES];
    uint8_t copy[2][32];
    tell("aad of %zu bytes: version %02x%02x, length %u", len, aad[9], aad[10],
         aad[11] << 8 | aad[12]);
    for (int i = 0; i < SIDES; i++) {
        memcpy(copy[i], aad, AAD); /* the default provider writes to its AAD */
        end_call(&r[i], EVP_CIPHER_CTX_ctrl(s->ctx[i], EVP_CTRL_AEAD_TLS1_AAD, (int)len, copy[i]));
    }
    s->aad_waits = true;
    if (r[OURS].ret <= 0)
        s->keyed = false;
    return same(r);
}

/* Runs an update of len bytes. On success, compares the whole output buffers. */
static bool update(struct state *s, const uint8_t *data, size_t len, bool in_place, bool once)
{
    static struct result r[SIDES];
    s->aad_waits &= len == 0;
    tell("%s of %zu bytes%s", once ? "EVP_Cipher" : "update", len, in_place ? " in place" : "");
    for (int i = 0; i < SIDES; i++) {
        memset(r[i].out, 0x5a, sizeof(r[i].out));
        if (in_place)
            memcpy(r[i].out, data, len);
        const uint8_t *const in = in_place ? r[i].out : data;
        r[i].len = 0;
        if (once)
            end_call(&r[i], EVP_Cipher(s->ctx[i], r[i].out, in, (unsigned)len));
        else
            end_call(&r[i], EVP_CipherUpdate(s->ctx[i], r[i].out, &r[i].len, in, (int)len));
    }
    return same(r) && (r[OURS].ret <= 0 || memcmp(r[OURS].out, r[THEIRS].out, MAX_DATA) == 0);
}

static size_t record_length(struct tap_random *random)
{
    switch (tap_below(random, 8)) {
    case 0:
        return tap_below(random, 20);
    case 1:
        return 16384 - tap_below(random, 70);
    default:
        return tap_below(random, 700);
    }
}

static bool do_seal(struct state *s, struct tap_random *random)
{
    static uint8_t data[MAX_DATA];
    const unsigned version = versions[tap_below(random, VERSIONS)];
    size_t len = record_length(random) + (explicit_iv(version) ? 16 : 0);
    uint8_t aad[AAD];
    const bool in_place = tap_below(random, 4) != 0, wrong = tap_below(random, 8) == 0;
    const bool bad_aad = tap_below(random, 20) == 0;
    make_aad(random, aad, version, bad_aad ? tap_below(random, 16) : len);
    tap_fill(random, data, len);
    if (!s->keyed || !s->encrypt)
        return true;
    if (!set_aad(s, aad, tap_below(random, 20) == 0 ? 12 : AAD))
        return false;
    if (!s->keyed)
        return true;
    len = (len + mac_len(s) + 16) / 16 * 16;
    if (wrong)
        len = 16 * tap_below(random, 40);
    return update(s, data, len, in_place, tap_below(random, 4) == 0);
}

static bool do_open(struct state *s, struct tap_random *random)
{
    static uint8_t data[MAX_DATA];
    const unsigned version = versions[tap_below(random, VERSIONS)];
    const size_t skip = explicit_iv(version) ? 16 : 0;
    size_t len = record_length(random) + skip;
    const enum fault fault =
        (enum fault)(tap_below(random, 2) == 0 ? 0 : tap_below(random, FAULTS));
    const unsigned more = (unsigned)tap_below(random, 2) * (unsigned)tap_below(random, 16);
    const bool in_place = tap_below(random, 4) != 0;
    uint8_t aad[AAD], iv[16];
    tap_fill(random, data, len);
    make_aad(random, aad, version, len);
    if (!s->keyed || s->encrypt || !s->mac_keyed)
        return true;
    len = compose(s, data, len, aad, more);
    len = spoil(random, fault, data, len, mac_len(s));
    /* Encrypts with the context's IV. When opening a record with an explicit IV, the SHA-1 ciphers
     * use that IV instead. The SHA-256 ciphers always use the context's IV. */
    EVP_CIPHER_CTX_get_updated_iv(s->ctx[THEIRS], iv, 16);
    cbc_encrypt(s, iv, data, len);
    tell("a record with fault %u and %u extra padding blocks", fault, more);
    return set_aad(s, aad, AAD) && update(s, data, len, in_place, tap_below(random, 4) == 0);
}

static bool do_plain(struct state *s, struct tap_random *random)
{
    static uint8_t data[MAX_DATA];
    const size_t len =
        tap_below(random, 8) == 0 ? tap_below(random, 300) : 16 * tap_below(random, 60);
    const bool in_place = tap_below(random, 2) == 0;
    tap_fill(random, data, len);
    if (!s->keyed)
        return true;
    /* Random data also tests the removal of padding. With a TLS version set, both providers take
     * the last decrypted byte as the padding length. */
    return update(s, data, len, in_place, false);
}

static bool do_final(struct state *s, struct tap_random *random)
{
    static struct result r[SIDES];
    (void)random;
    if (!s->keyed)
        return true;
    tell("final");
    BOTH(s, r, i, EVP_CipherFinal_ex(s->ctx[i], r[i].out, &r[i].len));
    return same(r);
}

static bool do_get_params(struct state *s, struct tap_random *random)
{
    static const char *const numbers[] = {OSSL_CIPHER_PARAM_KEYLEN,
                                          OSSL_CIPHER_PARAM_IVLEN,
                                          OSSL_CIPHER_PARAM_AEAD_TLS1_AAD_PAD,
                                          OSSL_CIPHER_PARAM_TLS1_MULTIBLOCK_INTERLEAVE,
                                          OSSL_CIPHER_PARAM_TLS1_MULTIBLOCK_AAD_PACKLEN,
                                          OSSL_CIPHER_PARAM_TLS1_MULTIBLOCK_ENC_LEN,
                                          OSSL_CIPHER_PARAM_PADDING,
                                          OSSL_CIPHER_PARAM_NUM,
                                          OSSL_CIPHER_PARAM_TLS_MAC,
                                          OSSL_CIPHER_PARAM_AEAD_TAGLEN,
                                          OSSL_CIPHER_PARAM_TLS1_MULTIBLOCK_MAX_BUFSIZE};
    static const char *const bytes[] = {OSSL_CIPHER_PARAM_IV, OSSL_CIPHER_PARAM_UPDATED_IV};
    if (!s->started)
        return true;
    tell("get params");
    DIFFERS("hmac-size-before-fragment");
    bool good = true;
    for (unsigned i = 0; good && i < (s->fragment_set ? 11 : 10); i++)
        good = same_param(s->ctx, numbers[i], OSSL_PARAM_INTEGER + (unsigned)tap_below(random, 2),
                          (size_t)1 << tap_below(random, 4));
    for (unsigned i = 0; good && i < 2; i++)
        good = same_param(s->ctx, bytes[i], OSSL_PARAM_OCTET_STRING, tap_below(random, 40)) &&
               same_param(s->ctx, bytes[i], OSSL_PARAM_OCTET_PTR, sizeof(void *)) &&
               same_param(s->ctx, bytes[i], OSSL_PARAM_UTF8_STRING, 16);
    return good;
}

/* Sets a parameter, of the right or of a wrong type. */
static bool do_set_params(struct state *s, struct tap_random *random)
{
    static const char *const keys[] = {
        OSSL_CIPHER_PARAM_KEYLEN,        OSSL_CIPHER_PARAM_TLS1_MULTIBLOCK_MAX_SEND_FRAGMENT,
        OSSL_CIPHER_PARAM_AEAD_TLS1_AAD, OSSL_CIPHER_PARAM_PADDING,
        OSSL_CIPHER_PARAM_TLS_MAC_SIZE,  OSSL_CIPHER_PARAM_NUM,
        OSSL_CIPHER_PARAM_AEAD_MAC_KEY,  "unknown-to-all"};
    static const unsigned types[] = {OSSL_PARAM_INTEGER, OSSL_PARAM_UNSIGNED_INTEGER,
                                     OSSL_PARAM_OCTET_STRING, OSSL_PARAM_UTF8_STRING};
    static struct result r[SIDES];
    uint8_t value[32] = {0};
    const char *const key = keys[tap_below(random, 8)];
    const unsigned type = types[tap_below(random, 4)];
    const size_t size = type <= OSSL_PARAM_UNSIGNED_INTEGER ? (size_t)1 << tap_below(random, 4)
                                                            : tap_below(random, 12);
    value[0] = (uint8_t)(1 + tap_below(random, 40));
    OSSL_PARAM params[] = {{key, type, value, size, 0}, OSSL_PARAM_END};
    if (!s->started)
        return true;
    if (strcmp(key, OSSL_CIPHER_PARAM_AEAD_MAC_KEY) == 0 && type == OSSL_PARAM_OCTET_STRING)
        return true; /* do_mac_key() sets MAC keys */
    tell("set %s, type %u, %zu bytes, first %02x", key, type, size, value[0]);
    BOTH(s, r, i, EVP_CIPHER_CTX_set_params(s->ctx[i], params));
    if (strcmp(key, OSSL_CIPHER_PARAM_TLS1_MULTIBLOCK_MAX_SEND_FRAGMENT) == 0 && r[THEIRS].ret > 0)
        s->fragment_set = true;
    return same(r);
}

/* Copies the contexts. Only tenrounds must succeed, because the default provider of OpenSSL 3.0
 * cannot copy these contexts. */
static bool do_copy(struct state *s, struct tap_random *random)
{
    static struct result r[SIDES];
    EVP_CIPHER_CTX *copy[SIDES];
    const bool keep = tap_below(random, 2) == 0;
    if (!s->keyed)
        return true;
    tell("copy, continue with the %s", keep ? "copy" : "original");
    for (int i = 0; i < SIDES; i++) {
        copy[i] = EVP_CIPHER_CTX_new();
        end_call(&r[i], EVP_CIPHER_CTX_copy(copy[i], s->ctx[i]));
    }
    const bool both = r[OURS].ret > 0 && r[THEIRS].ret > 0;
    for (int i = 0; i < SIDES; i++) {
        if (keep && both) {
            EVP_CIPHER_CTX *const original = s->ctx[i];
            s->ctx[i] = copy[i];
            copy[i] = original;
        }
        EVP_CIPHER_CTX_free(copy[i]);
    }
    return r[OURS].ret > 0;
}

static bool (*const whats[])(struct state *, struct tap_random *) = {
    do_init,        do_init,       do_mac_key, do_mac_key, do_mac_key,   do_seal,
    do_seal,        do_seal,       do_open,    do_open,    do_open,      do_plain,
    do_tls_version, do_get_params, do_copy,    do_final,   do_set_params};
#define WHATS (sizeof(whats) / sizeof(whats[0]))

static bool run(const void *name, const struct step *steps, unsigned n, bool print)
{
    struct state s = {.name = name};
    printing = print;
    open_contexts(name, s.cipher, s.ctx);
    bool good = true;
    for (unsigned i = 0; good && i < n; i++) {
        struct tap_random random = tap_random(steps[i].seed);
        good = whats[steps[i].what](&s, &random);
    }
    close_contexts(s.cipher, s.ctx);
    return good;
}

/* ---- Comparison of tenrounds with reference records ------------------------------------------ */

static EVP_CIPHER_CTX *start(struct state *s, int side, int encrypt, unsigned version)
{
    EVP_CIPHER *const cipher = evp_fetch(&sides[side], s->name);
    EVP_CIPHER_CTX *const ctx = EVP_CIPHER_CTX_new();
    OSSL_PARAM params[] = {OSSL_PARAM_construct_uint(OSSL_CIPHER_PARAM_TLS_VERSION, &version),
                           OSSL_PARAM_END};
    if (EVP_CipherInit_ex2(ctx, cipher, s->key, s->iv, encrypt, NULL) <= 0 ||
        EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_MAC_KEY, (int)s->mac_key_len, s->mac_key) <= 0 ||
        (version != 0 && EVP_CIPHER_CTX_set_params(ctx, params) <= 0))
        tap_diag("%s: cannot set the key, the MAC key or the version", s->name);
    EVP_CIPHER_free(cipher);
    return ctx;
}

static void any_keys(struct state *s, struct tap_random *random)
{
    tap_fill(random, s->key, sizeof(s->key));
    tap_fill(random, s->iv, sizeof(s->iv));
    tap_fill(random, s->mac_key, sizeof(s->mac_key));
    s->mac_key_len = mac_len(s);
}

/* Checks that a record of tenrounds equals the AES-CBC encryption of payload, HMAC and padding, and
 * that tenrounds opens the record. */
static bool is_composition(struct state *s, struct tap_random *random, unsigned version, size_t len)
{
    static uint8_t text[MAX_DATA], ours[MAX_DATA], expected[MAX_DATA];
    const size_t skip = explicit_iv(version) ? 16 : 0;
    uint8_t aad[AAD], copy[AAD];
    int n = -1, opened = -1;
    len += skip;
    any_keys(s, random);
    tap_fill(random, text, len);
    make_aad(random, aad, version, len);
    memcpy(copy, aad, AAD);
    memcpy(ours, text, len);
    memcpy(expected, text, len);
    const size_t sealed = compose(s, expected, len, aad, 0);
    cbc_encrypt(s, s->iv, expected, sealed);
    EVP_CIPHER_CTX *ctx = start(s, OURS, 1, 0);
    const int pad = EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_TLS1_AAD, AAD, copy);
    bool good = pad == (int)(sealed - len) &&
                EVP_CipherUpdate(ctx, ours, &n, ours, (int)sealed) > 0 && n == (int)sealed &&
                tap_same(ours, expected, sealed);
    EVP_CIPHER_CTX_free(ctx);
    ctx = start(s, OURS, 0, version);
    memcpy(copy, aad, AAD);
    good = good && EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_TLS1_AAD, AAD, copy) == (int)mac_len(s) &&
           EVP_CipherUpdate(ctx, ours, &opened, ours, (int)sealed) > 0 &&
           opened == (int)(len - skip) && tap_same(ours + skip, text + skip, len - skip);
    EVP_CIPHER_CTX_free(ctx);
    if (!good)
        tap_diag("%s: version %x, %zu bytes: MAC and padding %d bytes, opened %d bytes", s->name,
                 version, len, pad, opened);
    return good;
}

static bool all_compositions(const char *name, struct tap_random *random)
{
    struct state s = {.name = name};
    bool good = true;
    for (unsigned v = 1; v < VERSIONS; v++) {
        for (size_t len = 0; good && len <= 330; len++)
            good = is_composition(&s, random, versions[v], len);
        for (size_t len = 16300; good && len <= 16384; len += 7)
            good = is_composition(&s, random, versions[v], len);
    }
    return good;
}

/* Checks that the output is all zeros after a record whose MAC has a flipped bit. */
static bool forgery_leaves_nothing(struct state *s, struct tap_random *random, size_t len)
{
    static uint8_t text[MAX_DATA], out[MAX_DATA];
    static const uint8_t zeros[MAX_DATA];
    const unsigned version = TLS1_2_VERSION;
    uint8_t aad[AAD];
    int n = -1;
    any_keys(s, random);
    tap_fill(random, text, len);
    make_aad(random, aad, version, len);
    const size_t sealed = spoil(random, MAC_BIT, text, compose(s, text, len, aad, 0), mac_len(s));
    cbc_encrypt(s, s->iv, text, sealed);
    EVP_CIPHER_CTX *ctx = start(s, OURS, 0, version);
    memset(out, 0x5a, sealed);
    const bool good = EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_TLS1_AAD, AAD, aad) > 0 &&
                      EVP_CipherUpdate(ctx, out, &n, text, (int)sealed) <= 0 &&
                      tap_same(out, zeros, sealed);
    EVP_CIPHER_CTX_free(ctx);
    ERR_clear_error();
    return good;
}

/* Sets an AAD, then calls init for the other direction without a key. Checks that the AAD no longer
 * applies: the next update is plain CBC. */
static bool aad_keeps_its_direction(struct state *s, struct tap_random *random, int encrypt)
{
    uint8_t text[64], ours[64], expected[64], aad[AAD];
    int n = -1;
    any_keys(s, random);
    tap_fill(random, text, sizeof(text));
    make_aad(random, aad, TLS1_2_VERSION, 48);
    EVP_CIPHER_CTX *ctx = start(s, OURS, encrypt, 0);
    memcpy(expected, text, sizeof(text));
    cbc_encrypt(s, s->iv, expected, sizeof(expected));
    /* Decrypts the ciphertext, or encrypts the plaintext. */
    const bool good = EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_TLS1_AAD, AAD, aad) > 0 &&
                      EVP_CipherInit_ex2(ctx, NULL, NULL, s->iv, !encrypt, NULL) > 0 &&
                      EVP_CipherUpdate(ctx, ours, &n, encrypt ? expected : text, 64) > 0 &&
                      tap_same(ours, encrypt ? text : expected, 64);
    EVP_CIPHER_CTX_free(ctx);
    ERR_clear_error();
    return good;
}

static bool by_hand(const char *name, struct tap_random *random)
{
    struct state s = {.name = name};
    bool good = aad_keeps_its_direction(&s, random, 0) && aad_keeps_its_direction(&s, random, 1);
    for (size_t len = 16; good && len < 400; len += 7)
        good = forgery_leaves_nothing(&s, random, len);
    return good;
}

/* ---- Several records in one call ------------------------------------------------------------- */

static bool opens(struct state *s, int side, const uint8_t *sequence, const uint8_t *record,
                  const uint8_t *text, size_t len)
{
    static uint8_t copy[MAX_DATA + 64];
    const size_t body = (size_t)record[3] << 8 | record[4];
    uint8_t aad[AAD];
    int n = -1;
    memcpy(aad, sequence, 8);
    memcpy(aad + 8, record, 5);
    memcpy(copy, record + 5, body);
    EVP_CIPHER_CTX *ctx = start(s, side, 0, TLS1_2_VERSION);
    const bool good = EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_TLS1_AAD, AAD, aad) > 0 &&
                      EVP_CipherUpdate(ctx, copy, &n, copy, (int)body) > 0 && n == (int)len &&
                      tap_same(copy + 16, text, len);
    EVP_CIPHER_CTX_free(ctx);
    return good;
}

/* Seals several records through OSSL_PARAMs, which state the true size of the output buffer.
 * EVP_CIPHER_CTX_ctrl() would state the size of the input instead. Returns the number of bytes
 * written, or 0 on failure. */
static int seal_many_by_params(EVP_CIPHER_CTX *ctx, EVP_CTRL_TLS1_1_MULTIBLOCK_PARAM *param,
                               size_t out_size)
{
    size_t sealed = 0;
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_octet_string(OSSL_CIPHER_PARAM_TLS1_MULTIBLOCK_ENC, param->out,
                                          out_size),
        OSSL_PARAM_construct_octet_string(OSSL_CIPHER_PARAM_TLS1_MULTIBLOCK_ENC_IN,
                                          (void *)param->inp, param->len),
        OSSL_PARAM_construct_uint(OSSL_CIPHER_PARAM_TLS1_MULTIBLOCK_INTERLEAVE, &param->interleave),
        OSSL_PARAM_END};
    OSSL_PARAM get[] = {
        OSSL_PARAM_construct_size_t(OSSL_CIPHER_PARAM_TLS1_MULTIBLOCK_ENC_LEN, &sealed),
        OSSL_PARAM_END};
    return EVP_CIPHER_CTX_set_params(ctx, params) > 0 && EVP_CIPHER_CTX_get_params(ctx, get) > 0
               ? (int)sealed
               : 0;
}

/* Seals several records in one call, as libssl does (ssl3_write_bytes). Both providers must plan
 * the same sizes, and each provider must open the records of the other. The sequence number must
 * carry into its next byte, and IVs must differ. */
static bool seals_many(struct state *s, struct tap_random *random, unsigned lanes, size_t fragment,
                       bool by_params)
{
    static uint8_t text[8 * 16384], out[SIDES][8 * 16384 + 4096];
    const size_t len = lanes * fragment;
    uint8_t aad[AAD] = {0, 0, 0, 0, 0, 0, 0, 0xfe, 23, 3, 3, 0, 0};
    int packed[SIDES], sealed[SIDES], room[SIDES];
    EVP_CTRL_TLS1_1_MULTIBLOCK_PARAM param[SIDES];
    bool good = true;
    any_keys(s, random);
    tap_fill(random, text, len);
    for (int i = 0; i < SIDES; i++) {
        EVP_CIPHER_CTX *ctx = start(s, i, 1, 0);
        room[i] =
            EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_TLS1_1_MULTIBLOCK_MAX_BUFSIZE, (int)fragment, NULL);
        param[i] = (EVP_CTRL_TLS1_1_MULTIBLOCK_PARAM){NULL, aad, len, lanes};
        packed[i] =
            EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_TLS1_1_MULTIBLOCK_AAD, sizeof(param[i]), &param[i]);
        param[i].out = out[i];
        param[i].inp = text;
        sealed[i] = by_params ? seal_many_by_params(ctx, &param[i], (size_t)packed[i]) : 0;
        DIFFERS("hmac-many-records");
        /* Since 3.5.9 the default provider refuses an output size that differs from the input
         * size. */
        if (!by_params || (sealed[i] == 0 && i == THEIRS))
            sealed[i] = EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_TLS1_1_MULTIBLOCK_ENCRYPT,
                                            sizeof(param[i]), &param[i]);
        EVP_CIPHER_CTX_free(ctx);
    }
    good = room[OURS] == room[THEIRS] && packed[OURS] == packed[THEIRS] &&
           sealed[OURS] == sealed[THEIRS] && sealed[OURS] == packed[OURS] && sealed[OURS] > 0 &&
           param[OURS].interleave == param[THEIRS].interleave &&
           memcmp(out[OURS] + 5, out[OURS] + sealed[OURS] / (int)lanes + 5, 16) != 0;
    for (int i = 0; good && i < SIDES; i++) {
        const uint8_t *record = out[i];
        const size_t body = (size_t)record[3] << 8 | record[4];
        for (unsigned n = 0; good && n < lanes; n++, record += 5 + body) {
            uint8_t sequence[8] = {
                0, 0, 0, 0, 0, 0, (uint8_t)((0xfe + n) >> 8), (uint8_t)(0xfe + n)};
            good = opens(s, SIDES - 1 - i, sequence, record, text + n * fragment, fragment);
        }
    }
    if (!good)
        tap_diag("%s: %u records of %zu bytes, tenrounds and default: buffer %d and %d bytes, "
                 "planned %d and %d, sealed %d and %d",
                 s->name, lanes, fragment, room[OURS], room[THEIRS], packed[OURS], packed[THEIRS],
                 sealed[OURS], sealed[THEIRS]);
    return good;
}

/* Whether tenrounds refuses to seal several records if their number is 5, not 4 or 8. Also tests a
 * NULL output, a NULL input, an empty input, and an output that is too small. */
static bool refuses_many(struct state *s, struct tap_random *random)
{
    static uint8_t text[4 * 4096], out[sizeof(text) + 4096];
    bool good = true;
    any_keys(s, random);
    for (int i = 0; i < 5; i++) {
        EVP_CIPHER_CTX *ctx = start(s, OURS, 1, 0);
        EVP_CTRL_TLS1_1_MULTIBLOCK_PARAM param = {i == 0 ? NULL : out, i == 1 ? NULL : text,
                                                  i == 2 ? 0 : sizeof(text), i == 3 ? 5 : 4};
        const size_t room = i == 4 ? sizeof(text) - 1 : sizeof(out);
        if (seal_many_by_params(ctx, &param, room) != 0) {
            tap_diag("%s: several records were sealed with wrong parameters, case %d", s->name, i);
            good = false;
        }
        EVP_CIPHER_CTX_free(ctx);
        ERR_clear_error();
    }
    return good;
}

/* Whether tenrounds accepts an AAD of this length, or NULL, for several records. */
static int plans(EVP_CIPHER_CTX *ctx, uint8_t *aad, size_t len, unsigned lanes)
{
    const OSSL_PARAM params[] = {
        OSSL_PARAM_construct_octet_string(OSSL_CIPHER_PARAM_TLS1_MULTIBLOCK_AAD, aad, len),
        OSSL_PARAM_construct_uint(OSSL_CIPHER_PARAM_TLS1_MULTIBLOCK_INTERLEAVE, &lanes),
        OSSL_PARAM_END};
    return EVP_CIPHER_CTX_set_params(ctx, params);
}

/* Whether tenrounds refuses to plan several records with a short AAD, no AAD, 5 records, a length
 * that is too small, or TLS 1.0. Sets OSSL_PARAMs (see plans()), because EVP_CIPHER_CTX_ctrl()
 * returns 0 both for a refusal and for an accepted plan of 0 bytes. */
static bool refuses_plans(struct state *s, struct tap_random *random)
{
    uint8_t aad[AAD], small[AAD], old[AAD];
    any_keys(s, random);
    make_aad(random, aad, TLS1_2_VERSION, 8192);
    make_aad(random, small, TLS1_2_VERSION, 4095);
    make_aad(random, old, TLS1_VERSION, 8192);
    EVP_CIPHER_CTX *ctx = start(s, OURS, 1, 0);
    const bool good = !plans(ctx, aad, AAD - 1, 4) && !plans(ctx, NULL, AAD, 4) &&
                      !plans(ctx, aad, AAD, 5) && !plans(ctx, small, AAD, 4) &&
                      !plans(ctx, old, AAD, 4) && plans(ctx, aad, AAD, 4);
    EVP_CIPHER_CTX_free(ctx);
    ERR_clear_error();
    if (!good)
        tap_diag("%s: several records were planned with wrong parameters", s->name);
    return good;
}

/* Compares the plans of both providers: the number of records and their total size. About half of
 * the AADs contain a length, which the providers use instead of `len`. Lengths below 4096 and
 * versions older than TLS 1.1 test the refusals of both providers. */
static bool same_plans(struct state *s, struct tap_random *random)
{
    bool good = true;
    for (int i = 0; i < 200 && good; i++) {
        uint8_t aad[AAD];
        int packed[SIDES];
        EVP_CTRL_TLS1_1_MULTIBLOCK_PARAM param[SIDES];
        make_aad(random, aad, versions[tap_below(random, VERSIONS)],
                 tap_below(random, 2) == 0 ? 0 : tap_below(random, 16384));
        const unsigned lanes = 4 + 4 * (unsigned)tap_below(random, 2);
        const size_t len = 4096 + tap_below(random, 30000);
        any_keys(s, random);
        for (int side = 0; side < SIDES; side++) {
            EVP_CIPHER_CTX *ctx = start(s, side, 1, 0);
            param[side] = (EVP_CTRL_TLS1_1_MULTIBLOCK_PARAM){NULL, aad, len, lanes};
            packed[side] = EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_TLS1_1_MULTIBLOCK_AAD,
                                               sizeof(param[side]), &param[side]);
            EVP_CIPHER_CTX_free(ctx);
        }
        ERR_clear_error();
        good = packed[OURS] == packed[THEIRS] &&
               (packed[OURS] <= 0 || param[OURS].interleave == param[THEIRS].interleave);
        if (!good)
            tap_diag("%s: %zu bytes, AAD length %u, version %x: tenrounds %d bytes in %u records, "
                     "default %d in %u",
                     s->name, len, aad[11] << 8 | aad[12], aad[9] << 8 | aad[10], packed[OURS],
                     param[OURS].interleave, packed[THEIRS], param[THEIRS].interleave);
    }
    return good;
}

static bool all_many(const char *name, struct tap_random *random)
{
    static const size_t fragments[] = {1024, 4096 - 512, 4096, 8192 - 1, 15872, 16384};
    struct state s = {.name = name};
    bool good = refuses_many(&s, random) && refuses_plans(&s, random);
    for (unsigned i = 0; i < 6; i++)
        good = good && seals_many(&s, random, 4, fragments[i], false) &&
               seals_many(&s, random, 8, fragments[i], false) &&
               seals_many(&s, random, 4, fragments[i], true) &&
               seals_many(&s, random, 8, fragments[i], true);
    return good;
}

/* Whether a program that prefers tenrounds gets this cipher from this provider. */
static bool is_from(const char *name, const char *provider)
{
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(sides[OURS].libctx, name, "?provider=tenrounds");
    const char *const found =
        cipher == NULL ? "none" : OSSL_PROVIDER_get0_name(EVP_CIPHER_get0_provider(cipher));
    const bool good = strcmp(found, provider) == 0;
    if (!good)
        tap_diag("%s is from %s, not from %s", name, found, provider);
    EVP_CIPHER_free(cipher);
    return good;
}

/* Whether the self-test of this hash has failed. Without the instructions, it does not run. */
static void require_failure(const char *hash)
{
    const char *const text = evp_provider_text(sides[OURS].provider, "passed-over");
    const char *const code =
        strcmp(hash, "sha1") == 0 ? "SHA-1 instructions" : "SHA-256 instructions";
    if (tap_cpu_lacks("sha_ni ssse3"))
        tap_skip(1, "sha_ni ssse3", "this processor lacks SHA instructions or SSSE3");
    else
        tap_ok(strstr(text, code) != NULL, "tenrounds has passed over %s: %s", code, text);
}

/* `sabotage` is the hash whose self-test fails, or NULL if a mask hides the instructions. */
static int absent(const char *sabotage)
{
    tap_plan(NAMES + 1 + (sabotage != NULL));
    sides[OURS] = evp_open("tenrounds");
    sides[THEIRS] = evp_open("default");
    OSSL_PROVIDER *const other = OSSL_PROVIDER_load(sides[OURS].libctx, "default");
    if (sabotage != NULL)
        require_failure(sabotage);
    for (unsigned i = 0; i < NAMES; i++)
        tap_ok(is_from(names[i], offers(THEIRS, names[i]) ? "default" : "none"),
               "%s: tenrounds leaves it to the default provider", names[i]);
    tap_ok(is_from("AES-128-CBC", "tenrounds"), "AES-128-CBC: still from tenrounds");
    OSSL_PROVIDER_unload(other);
    evp_close(&sides[OURS]);
    evp_close(&sides[THEIRS]);
    return tap_done();
}

/* OpenSSL has these ciphers only for 64-bit x86. */
#if defined(__i386__)
#    define COMPARISONS 0
#else
#    define COMPARISONS (3 * NAMES)
#endif

int main(int argc, char **argv)
{
    const char *const mask = getenv("TENROUNDS_MASK");
    const char *const sabotage = getenv("TENROUNDS_SABOTAGE");
    if (sabotage != NULL ||
        (mask != NULL && (strstr(mask, "nosha") != NULL || strstr(mask, "nossse3") != NULL)))
        return absent(sabotage);
    const time_t seconds = argc > 1 ? atoi(argv[1]) : 3;
    unsigned count[NAMES] = {0};
    bool good[NAMES];
    tap_plan(2 * NAMES + COMPARISONS);
    sides[OURS] = evp_open("tenrounds");
    sides[THEIRS] = evp_open("default");
    if (!offers(OURS, names[0])) {
        tap_skip(2 * NAMES + COMPARISONS, "sha_ni ssse3",
                 "this processor lacks SHA instructions or SSSE3");
        return tap_done();
    }
    const bool both = offers(THEIRS, names[0]);
    struct tap_random random = tap_random(0);
    tap_diag("backend: %s", evp_provider_text(sides[OURS].provider, "selected-backend"));
    for (unsigned i = 0; i < NAMES; i++) {
        tap_ok(all_compositions(names[i], &random),
               "%s: records equal AES-CBC and HMAC in separate calls", names[i]);
        tap_ok(by_hand(names[i], &random),
               "%s: a forgery leaves no plaintext, and a change of direction drops the AAD",
               names[i]);
    }
    if (!both)
        tap_skip(COMPARISONS, "aes", "the default provider has no such ciphers here");
    memset(good, both, sizeof(good));
    const time_t end = time(NULL) + seconds;
    do {
        for (unsigned i = 0; i < NAMES; i++) {
            if (good[i])
                good[i] = sequence_drawn(run, names[i], names[i], MAX_STEPS, WHATS,
                                         (uint32_t[]){0, 2}, 2, &random);
            count[i] += good[i];
        }
    } while (both && time(NULL) < end);
    for (unsigned i = 0; both && i < NAMES; i++) {
        struct state s = {.name = names[i]};
        tap_ok(good[i], "%s: %u sequences match the default provider", names[i], count[i]);
        tap_ok(all_many(names[i], &random),
               "%s: both providers open several records sealed in one call", names[i]);
        tap_ok(same_plans(&s, &random), "%s: plans several records like the default provider",
               names[i]);
    }
    evp_close(&sides[OURS]);
    evp_close(&sides[THEIRS]);
    return tap_done();
}
