/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs random sequences of EVP calls in the default provider and in tenrounds. The ciphers are GCM,
 * CCM, OCB, XTS, CBC-CTS, CFB1, CFB8 and key wrap. After each step, return values, lengths, bytes,
 * parameters and errors must match. A failing sequence is shortened before it is printed. The
 * argument is the duration in seconds (default 5).
 *
 * In some states, tenrounds refuses calls on purpose (OSSL_PROVIDER-tenrounds(7), DIFFERENCES), and
 * the test checks these refusals. The sequences leave out output that begins inside the input,
 * which only tenrounds refuses. After the end of a CCM message, the sequences also leave out final,
 * empty data and AAD. Random IVs differ between the providers, so generated_iv() tests them
 * separately.
 */
#define MAX_DATA 2000
#include "sequences.h"
#include "steps.h"

#include <openssl/crypto.h>

#define MAX_STEPS 40

/* Traits of a cipher, which select the calls that the test makes. */
enum {
    AEAD = 1,
    LONG_IV = 2,      /* takes IVs of more than 16 bytes */
    TLS = 4,          /* processes TLS 1.2 records (do_record()) */
    IV_GEN = 8,       /* draws random IVs, and has controls that increment the IV (do_iv_gen()) */
    LENGTHS = 16,     /* CCM: the caller announces the length of the message */
    KEYED = 32,       /* data without a key crashes the default provider */
    ONE_WAY = 64,     /* a change of direction needs the key again */
    WHOLE_ONCE = 128, /* EVP_Cipher() takes only whole blocks */
    HOLDS = 512,      /* OCB: the context buffers partial blocks; see also look_at_ocb() */
    GROWS = 256       /* key wrap: the output is longer; errors differ between versions */
};

static const struct family {
    const char *name;
    unsigned traits;
} families[] = {
    {"AES-128-GCM", AEAD | LONG_IV | TLS | IV_GEN},
    {"AES-192-GCM", AEAD | LONG_IV | TLS | IV_GEN},
    {"AES-256-GCM", AEAD | LONG_IV | TLS | IV_GEN},
    {"AES-128-CCM", AEAD | TLS | LENGTHS | ONE_WAY},
    {"AES-192-CCM", AEAD | TLS | LENGTHS | ONE_WAY},
    {"AES-256-CCM", AEAD | TLS | LENGTHS | ONE_WAY},
    {"AES-128-OCB", AEAD | ONE_WAY | HOLDS},
    {"AES-192-OCB", AEAD | ONE_WAY | HOLDS},
    {"AES-256-OCB", AEAD | ONE_WAY | HOLDS},
    {"AES-128-XTS", KEYED | ONE_WAY},
    {"AES-256-XTS", KEYED | ONE_WAY},
    {"AES-128-CBC-CTS", KEYED | ONE_WAY | WHOLE_ONCE},
    {"AES-192-CBC-CTS", KEYED | ONE_WAY | WHOLE_ONCE},
    {"AES-256-CBC-CTS", KEYED | ONE_WAY | WHOLE_ONCE},
    {"AES-128-CFB1", KEYED},
    {"AES-192-CFB1", KEYED},
    {"AES-256-CFB1", KEYED},
    {"AES-128-CFB8", KEYED},
    {"AES-192-CFB8", KEYED},
    {"AES-256-CFB8", KEYED},
    {"AES-128-WRAP", KEYED | ONE_WAY | GROWS},
    {"AES-192-WRAP", KEYED | ONE_WAY | GROWS},
    {"AES-256-WRAP", KEYED | ONE_WAY | GROWS},
    {"AES-128-WRAP-PAD", KEYED | ONE_WAY | GROWS},
    {"AES-192-WRAP-PAD", KEYED | ONE_WAY | GROWS},
    {"AES-256-WRAP-PAD", KEYED | ONE_WAY | GROWS},
    {"AES-128-WRAP-INV", KEYED | ONE_WAY | GROWS},
    {"AES-192-WRAP-INV", KEYED | ONE_WAY | GROWS},
    {"AES-256-WRAP-INV", KEYED | ONE_WAY | GROWS},
    {"AES-128-WRAP-PAD-INV", KEYED | ONE_WAY | GROWS},
    {"AES-192-WRAP-PAD-INV", KEYED | ONE_WAY | GROWS},
    {"AES-256-WRAP-PAD-INV", KEYED | ONE_WAY | GROWS},
};
#define FAMILIES (sizeof(families) / sizeof(families[0]))

/* The state in which both providers must be after the calls so far. */
struct state {
    const struct family *family;
    bool started, key_set;
    bool iv_set; /* an IV is set, so the provider draws no random IV */
    bool begun;  /* data or AAD was passed under this IV */
    bool open;   /* a message has begun and has not ended */
    bool stuck;  /* the test skips data, AAD and final until the next IV */
    /* tenrounds must refuse data, AAD and final until the next IV (see refuses()). */
    bool refused;
    /* CCM: the test skips AAD, final and empty data until an init with a cipher. Data, final,
     * do_length() and a second key set this flag. */
    bool spent;
    /* The test skips AAD, because EVP_Cipher() with 0 bytes made the default provider pad the
     * AAD. */
    bool no_aad;
    /* Keeps `stuck` set until an init with a cipher. A failed init without a cipher sets `dead`.
     * With CCM, three more events set `dead`: data, AAD or final fails; the direction changes; a
     * new key comes while `spent` is set. */
    bool dead;
    bool wrapped; /* key wrap: an update came since the last init */
    bool record;  /* the provider may treat the next data as a TLS record */
    /* Whether a tag was set or computed. MAYBE: a call that can set a tag was made. For OCB, always
     * GIVEN. */
    enum { NONE, MAYBE, GIVEN } tag;
    /* OCB: EVP_Cipher() ended the data with a partial block, so the test skips data. */
    bool partial;
    unsigned waits, aad_waits; /* OCB: buffered bytes of data and AAD */
    /* OCB: the current tag length, and the tag length at the start of the message. */
    size_t tag_len, message_tag_len;
    /* The current IV length, and the IV length at the time when the key was set. */
    unsigned iv_len, key_iv_len;
    int encrypt;
    EVP_CIPHER *cipher[SIDES];
    EVP_CIPHER_CTX *ctx[SIDES];
};

/*
 * What GCM and key wrap of this default provider do. The version number does not show it, because
 * patch releases and distributions change it.
 */
static struct {
    bool knows_generated;  /* has the parameter "iv-generated" */
    bool resets_generated; /* an IV from the caller resets "iv-generated" */
    bool answers_sizes;    /* returns the size of IV and tag if the buffer is NULL */
    bool in_call_order;    /* takes several parameters in the order of the call */
    bool wraps_once;       /* wraps only one key after an init */
} stock;

/* Whether this is OpenSSL 3.0. tenrounds returns the error reasons of 3.0, but later versions have
 * other reasons. */
static bool same_errors_expected;

/* Whether the cipher under test has the trait GROWS. The test then does not compare errors. */
static bool growing;

/* Whether the default provider's CCM checks the tag of an empty message in final. OpenSSL 3.0.22,
 * 3.5.8 and 4.0 do, and so does tenrounds. */
static bool ccm_final_checks;

static bool final_checks(void)
{
    DIFFERS("ccm-final-without-data");
    uint8_t key[16] = {0}, iv[7] = {0}, out[16];
    int len;
    EVP_CIPHER *cipher = evp_fetch(&sides[THEIRS], "AES-128-CCM");
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    const bool checks = EVP_CipherInit_ex2(ctx, cipher, key, iv, 0, NULL) > 0 &&
                        EVP_CipherFinal_ex(ctx, out, &len) <= 0;
    EVP_CIPHER_CTX_free(ctx);
    EVP_CIPHER_free(cipher);
    ERR_clear_error();
    return checks;
}

/* Whether EVP_Cipher() of the default provider ends an OCB message (since OpenSSL 3.0.22 and
 * 3.5.8), and whether EVP_Cipher() uses the IV (since OpenSSL 3.0.21, 3.5.7 and 4.0.1). In
 * tenrounds, EVP_Cipher() does both with every version. */
static bool ocb_ends, ocb_takes_iv;

static void look_at_ocb(void)
{
    DIFFERS("ocb-one-shot-final");
    DIFFERS("ocb-one-shot-iv");
    static const uint8_t key[16] = {0}, iv[2][12] = {{0}, {1}}, block[16] = {0};
    uint8_t out[2][32];
    EVP_CIPHER *cipher = evp_fetch(&sides[THEIRS], "AES-128-OCB");
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    EVP_CipherInit_ex2(ctx, cipher, key, iv[0], 0, NULL);
    ocb_ends = EVP_Cipher(ctx, out[0], NULL, 0) < 0;
    for (int i = 0; i < 2; i++) {
        EVP_CipherInit_ex2(ctx, cipher, key, iv[i], 1, NULL);
        EVP_Cipher(ctx, out[i], block, 16);
    }
    ocb_takes_iv = memcmp(out[0], out[1], 16) != 0;
    EVP_CIPHER_CTX_free(ctx);
    EVP_CIPHER_free(cipher);
    ERR_clear_error();
}

/* Reads "iv-generated", or returns 2 if there is no such parameter. */
static unsigned generated(EVP_CIPHER_CTX *ctx)
{
    unsigned value = 2;
    OSSL_PARAM get[] = {OSSL_PARAM_construct_uint("iv-generated", &value), OSSL_PARAM_END};
    (void)EVP_CIPHER_CTX_get_params(ctx, get);
    return value;
}

/* Begins a GCM message with a random IV. Then sets an IV, as a whole fixed part or in an init. */
static void set_iv_after_random(EVP_CIPHER_CTX *ctx, const EVP_CIPHER *cipher, bool fixed)
{
    static const uint8_t key[16] = {1}, iv[12] = {2};
    uint8_t out[16];
    int n;
    EVP_CipherInit_ex2(ctx, cipher, key, NULL, 1, NULL);
    EVP_CipherUpdate(ctx, out, &n, key, 16);
    if (fixed)
        EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_IV_FIXED, -1, (void *)iv);
    else
        EVP_CipherInit_ex2(ctx, NULL, NULL, iv, 1, NULL);
}

/* Whether a fixed part and, later in the same list, a new IV length give an IV that can be used. */
static bool takes_fixed_before_length(EVP_CIPHER_CTX *ctx, const EVP_CIPHER *cipher)
{
    static const uint8_t key[16] = {1};
    uint8_t fixed[4] = {2}, out[16];
    size_t iv_len = 16;
    int n;
    const OSSL_PARAM set[] = {
        OSSL_PARAM_construct_octet_string(OSSL_CIPHER_PARAM_AEAD_TLS1_IV_FIXED, fixed, 4),
        OSSL_PARAM_construct_size_t(OSSL_CIPHER_PARAM_AEAD_IVLEN, &iv_len), OSSL_PARAM_END};
    return EVP_CipherInit_ex2(ctx, cipher, key, NULL, 1, NULL) > 0 &&
           EVP_CIPHER_CTX_set_params(ctx, set) > 0 && EVP_CipherUpdate(ctx, out, &n, key, 16) > 0;
}

/* The size of the IV according to a query with a NULL buffer, or 0 if the query fails. */
static size_t size_of_iv(EVP_CIPHER_CTX *ctx)
{
    OSSL_PARAM get[] = {OSSL_PARAM_construct_octet_string(OSSL_CIPHER_PARAM_IV, NULL, 0),
                        OSSL_PARAM_END};
    return EVP_CIPHER_CTX_get_params(ctx, get) > 0 ? get->return_size : 0;
}

static bool wraps_two_keys(EVP_CIPHER_CTX *ctx, const EVP_CIPHER *cipher)
{
    static const uint8_t key[16] = {1};
    uint8_t out[2][24];
    int n, m;
    return EVP_CipherInit_ex2(ctx, cipher, key, NULL, 1, NULL) > 0 &&
           EVP_CipherUpdate(ctx, out[0], &n, key, 16) > 0 &&
           EVP_CipherUpdate(ctx, out[1], &m, key, 16) > 0 && n == 24 && m == 24 &&
           memcmp(out[0], out[1], 24) == 0;
}

/* Checks that tenrounds does the same with every version, and notes what the default provider
 * does. */
static bool look_at_gcm_and_wrap(void)
{
    DIFFERS("gcm-iv-generated");
    DIFFERS("gcm-order");
    DIFFERS("gcm-sizes");
    DIFFERS("wrap-several-keys");
    bool resets[SIDES], sizes[SIDES], any_order[SIDES], wraps[SIDES], knows[SIDES];
    for (int i = 0; i < SIDES; i++) {
        EVP_CIPHER *gcm = evp_fetch(&sides[i], "AES-128-GCM");
        EVP_CIPHER *wrap = evp_fetch(&sides[i], "AES-128-WRAP");
        EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
        set_iv_after_random(ctx, gcm, true);
        knows[i] = generated(ctx) != 2;
        resets[i] = generated(ctx) == 0;
        sizes[i] = size_of_iv(ctx) == 12;
        EVP_CIPHER_CTX_reset(ctx);
        set_iv_after_random(ctx, gcm, false);
        resets[i] = resets[i] && generated(ctx) == 0;
        EVP_CIPHER_CTX_reset(ctx);
        any_order[i] = takes_fixed_before_length(ctx, gcm);
        EVP_CIPHER_CTX_reset(ctx);
        wraps[i] = wraps_two_keys(ctx, wrap);
        EVP_CIPHER_CTX_free(ctx);
        EVP_CIPHER_free(gcm);
        EVP_CIPHER_free(wrap);
    }
    ERR_clear_error();
    stock.knows_generated = knows[THEIRS];
    stock.resets_generated = resets[THEIRS];
    stock.answers_sizes = sizes[THEIRS];
    stock.in_call_order = !any_order[THEIRS];
    stock.wraps_once = !wraps[THEIRS];
    tap_diag("the default provider: iv-generated %d, reset %d, sizes %d, order of the call %d, "
             "one key per init %d",
             knows[THEIRS], resets[THEIRS], sizes[THEIRS], !any_order[THEIRS], !wraps[THEIRS]);
    return knows[OURS] && resets[OURS] && sizes[OURS] && any_order[OURS] && wraps[OURS];
}

static bool alike(struct result r[SIDES])
{
    if (!same_errors_expected || growing)
        r[OURS].error = r[THEIRS].error;
    return same(r);
}

static bool has(const struct state *s, unsigned trait)
{
    return (s->family->traits & trait) != 0;
}

static bool ready(const struct state *s)
{
    /* The last line excludes a GCM record with an IV below 8 bytes (see refuses_record()). */
    return s->started && (s->key_set || !has(s, KEYED)) && !s->stuck &&
           (s->iv_set || !s->encrypt || !s->key_set || has(s, HOLDS | LENGTHS)) &&
           !(s->record && has(s, IV_GEN) && s->iv_len < 8);
}

/* The number of calls that tenrounds refused on purpose. */
static unsigned refusals;

/* Checks that tenrounds refuses data, AAD and final until the next IV, and writes no output. Makes
 * the calls in a copy of the context, so that the context stays unchanged. Does not call the
 * default provider, which would accept the calls and continue with an undefined state. */
static bool refuses(const struct state *s)
{
    static const uint8_t in[32];
    uint8_t out[64], before[64];
    int len;
    EVP_CIPHER_CTX *const ctx = EVP_CIPHER_CTX_new();
    EVP_CIPHER_CTX_copy(ctx, s->ctx[OURS]);
    memset(out, 0xa5, sizeof(out));
    memcpy(before, out, sizeof(out));
    refusals++;
    tell("tenrounds must refuse all calls until the next IV");
    const bool good = EVP_CipherUpdate(ctx, out, &len, in, 32) <= 0 &&
                      EVP_CipherUpdate(ctx, NULL, &len, in, 32) <= 0 &&
                      EVP_CipherFinal_ex(ctx, out, &len) <= 0 &&
                      memcmp(out, before, sizeof(out)) == 0;
    EVP_CIPHER_CTX_free(ctx);
    ERR_clear_error();
    return good;
}

/* Checks that tenrounds refuses a GCM record if the IV has fewer than 8 bytes. A record contains 8
 * bytes of its IV. With a shorter IV, the default provider writes before its IV buffer. */
static bool refuses_record(const struct state *s)
{
    DIFFERS("gcm-short-iv");
    static const uint8_t key[32] = {1};
    uint8_t aad[13] = {[12] = 64}, iv[8] = {0}, record[64] = {0}, before[64] = {0};
    int len;
    EVP_CIPHER_CTX *const ctx = EVP_CIPHER_CTX_new();
    refusals++;
    tell("tenrounds must refuse a record with an IV of %u bytes", s->iv_len);
    const bool good = EVP_CipherInit_ex2(ctx, s->cipher[OURS], key, NULL, s->encrypt, NULL) > 0 &&
                      EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_IVLEN, (int)s->iv_len, NULL) > 0 &&
                      EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_IV_FIXED, -1, iv) > 0 &&
                      EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_TLS1_AAD, 13, aad) > 0 &&
                      EVP_CipherUpdate(ctx, record, &len, record, 64) <= 0 &&
                      memcmp(record, before, sizeof(record)) == 0;
    EVP_CIPHER_CTX_free(ctx);
    ERR_clear_error();
    return good;
}

/* Whether a CCM IV is longer than the nonce. Setting the key fixes the nonce length. When
 * encrypting, the default provider truncates a longer IV, so two IVs can give the same nonce.
 * tenrounds must refuse a longer IV. */
static bool nonce_is_cut(const struct state *s)
{
    return has(s, LENGTHS) && s->encrypt && s->key_set && s->iv_len > s->key_iv_len;
}

static bool refuses_cut_nonce(const struct state *s)
{
    DIFFERS("ccm-long-iv");
    int len;
    refusals++;
    tell("tenrounds must refuse an IV of %u bytes for a nonce of %u bytes", s->iv_len,
         s->key_iv_len);
    const bool good = EVP_CipherUpdate(s->ctx[OURS], NULL, &len, NULL, 16) <= 0;
    ERR_clear_error();
    return good;
}

/* ---- The steps ------------------------------------------------------------------------------ */

/* Reads the lengths of IV and tag from the provider, because libcrypto's cached lengths may be
 * outdated. */
static void ask_lengths(struct state *s)
{
    size_t len = 0, tag_len = 0;
    OSSL_PARAM ask[] = {OSSL_PARAM_construct_size_t(OSSL_CIPHER_PARAM_IVLEN, &len),
                        OSSL_PARAM_construct_size_t(OSSL_CIPHER_PARAM_AEAD_TAGLEN, &tag_len),
                        OSSL_PARAM_END};
    EVP_CIPHER_CTX_get_params(s->ctx[THEIRS], ask);
    if (len != s->iv_len)
        s->open = false; /* a new IV length invalidates the IV */
    s->iv_len = (unsigned)len;
    s->tag_len = tag_len;
}

static bool do_init(struct state *s, struct tap_random *random)
{
    uint8_t key[64], iv[160];
    struct result r[SIDES] = {0};
    const bool fresh = !s->started || tap_below(random, 6) == 0;
    const int enc = !s->started ? (int)tap_below(random, 2) : (int)tap_below(random, 3) - 1;
    bool with_key = tap_below(random, 3) != 0, with_iv = tap_below(random, 3) != 0;
    tap_fill(random, key, sizeof(key));
    tap_fill(random, iv, sizeof(iv));
    if (has(s, ONE_WAY) && enc >= 0 && enc != s->encrypt)
        with_key = true;
    if (with_key && !fresh && s->begun && (!has(s, AEAD) || has(s, LENGTHS) || s->record))
        with_iv = true;
    tell("init: %s, key %s, iv %s, enc %d", fresh ? "cipher" : "no cipher",
         with_key ? "new" : "NULL", with_iv ? "new" : "NULL", enc);
    for (int i = 0; i < SIDES; i++)
        end_call(&r[i], EVP_CipherInit_ex2(s->ctx[i], fresh ? s->cipher[i] : NULL,
                                           with_key ? key : NULL, with_iv ? iv : NULL, enc, NULL));
    DIFFERS("after-failed-call");
    s->dead = !fresh && (s->dead || (s->spent && with_key) ||
                         (has(s, LENGTHS) && enc >= 0 && enc != s->encrypt) || r[THEIRS].ret <= 0);
    s->stuck |= s->dead;
    s->spent = !fresh && (s->spent || (has(s, LENGTHS) && s->key_set && with_key));
    if (fresh) {
        s->begun = s->stuck = s->key_set = s->iv_set = s->refused = s->open = s->partial = false;
        s->record = false;
        s->tag = has(s, HOLDS) ? GIVEN : NONE;
    }
    DIFFERS("gcm-new-key");
    DIFFERS("ocb-new-key");
    /* A new key ends the message. So does an init that drops buffered bytes of OCB. */
    if (!fresh && !with_iv && s->open && !has(s, LENGTHS) &&
        ((with_key && r[THEIRS].ret > 0) || s->waits != 0 || s->aad_waits != 0)) {
        s->refused = has(s, AEAD);
        s->open = false;
    }
    s->waits = s->aad_waits = 0;
    s->wrapped = false;
    s->started = true;
    if (enc >= 0)
        s->encrypt = enc;
    s->key_set |= with_key;
    if (with_iv) {
        s->iv_set = true;
        s->begun = s->no_aad = s->refused = s->open = s->partial = false;
        s->stuck = s->dead;
    }
    if (with_key) {
        ask_lengths(s);
        s->key_iv_len = s->iv_len;
    }
    return alike(r);
}

static void begins(struct state *s)
{
    if (!s->open)
        s->message_tag_len = s->tag_len;
    s->open = true;
}

/* Passes data or AAD to EVP_CipherUpdate() or EVP_Cipher(). */
static bool do_update(struct state *s, struct tap_random *random, bool aad)
{
    static uint8_t data[MAX_DATA], in[MAX_DATA + 64], apart[MAX_DATA + 64];
    static struct result r[SIDES];
    size_t len = aad ? tap_below(random, 80) : any_length(random);
    const size_t offset = tap_below(random, 17);
    const bool ragged = tap_below(random, 4) == 0;
    const bool once = tap_below(random, 4) == 0 && !has(s, GROWS) &&
                      (!has(s, WHOLE_ONCE) || len % 16 == 0) &&
                      (!has(s, HOLDS) || (!aad && s->waits == 0 && (s->open || ocb_takes_iv)));
    if (once && has(s, HOLDS) && !ragged)
        len -= len % 16;
    DIFFERS("ocb-one-shot-in-place");
    /* OCB: for a partial block in place, the default provider's EVP_Cipher() gives a wrong tag. */
    const bool in_place =
        tap_below(random, 2) == 0 && !has(s, GROWS) && (!has(s, HOLDS) || (once && len % 16 == 0));
    tap_fill(random, data, len);
    if (s->refused)
        return refuses(s);
    if (!ready(s) || (aad && (s->no_aad || s->spent)) || (!aad && len == 0 && s->spent) ||
        (!aad && s->partial))
        return true;
    if (nonce_is_cut(s))
        return refuses_cut_nonce(s);
    if (has(s, GROWS) && stock.wraps_once && s->wrapped)
        return true;
    s->wrapped = true;
    DIFFERS("ccm-empty-update");
    s->spent |= has(s, LENGTHS) && !aad;
    DIFFERS("gcm-aad-after-empty");
    s->no_aad |= !aad && once && len == 0 && !has(s, HOLDS);
    tell("%s: %zu bytes%s%s", aad ? "aad" : "update", len, in_place ? " in place" : "",
         once ? ", EVP_Cipher" : "");
    for (int i = 0; i < SIDES; i++) {
        uint8_t *const out = aad ? NULL : in_place ? in + offset : apart + offset;
        memcpy(in + offset, data, len);
        r[i].len = -1;
        if (once) {
            r[i].len = EVP_Cipher(s->ctx[i], out, in + offset, (unsigned)len);
            end_call(&r[i], r[i].len >= 0 ? 1 : r[i].len);
        } else {
            end_call(&r[i], EVP_CipherUpdate(s->ctx[i], out, &r[i].len, in + offset, (int)len));
        }
        memset(r[i].out, 0, sizeof(r[i].out));
        if (out != NULL && r[i].len > 0)
            memcpy(r[i].out, out, (size_t)r[i].len);
    }
    s->begun |= s->key_set && s->iv_set;
    if (r[THEIRS].ret > 0 && (has(s, HOLDS) || len != 0 || once))
        begins(s);
    if (has(s, HOLDS) && r[THEIRS].ret > 0) {
        unsigned *const waits = aad ? &s->aad_waits : &s->waits;
        s->partial |= once && len % 16 != 0;
        *waits = once ? *waits : (unsigned)((*waits + len) % 16);
    }
    DIFFERS("ccm-failed-data");
    s->dead = s->dead || (has(s, LENGTHS) && r[THEIRS].ret <= 0);
    s->stuck = s->stuck || s->dead;
    return alike(r);
}

static bool do_final(struct state *s, struct tap_random *random)
{
    struct result r[SIDES] = {0};
    const bool once = tap_below(random, 4) == 0;
    if (s->refused)
        return refuses(s);
    if (has(s, LENGTHS) && s->started && !s->key_set && !s->stuck) {
        tell("tenrounds must refuse final without a key");
        refusals++;
        end_call(&r[OURS], EVP_CipherFinal_ex(s->ctx[OURS], r[OURS].out, &r[OURS].len));
        return r[OURS].ret <= 0;
    }
    if (!ready(s) || s->spent || (has(s, LENGTHS) && !ccm_final_checks))
        return true;
    if (nonce_is_cut(s))
        return refuses_cut_nonce(s);
    /* The nonce of OCB contains the tag length, so tenrounds must refuse a tag of another
     * length. */
    if (has(s, HOLDS) && s->open && s->tag_len != s->message_tag_len) {
        DIFFERS("ocb-tag-length");
        tell("tenrounds must refuse final after a change of the tag length");
        refusals++;
        s->stuck = true;
        end_call(&r[OURS], EVP_CipherFinal_ex(s->ctx[OURS], r[OURS].out, &r[OURS].len));
        return r[OURS].ret <= 0;
    }
    s->spent |= has(s, LENGTHS);
    tell("final%s", once ? ", EVP_Cipher" : "");
    for (int i = 0; i < SIDES; i++) {
        r[i].len = -1;
        if (once && has(s, HOLDS) && !ocb_ends && i == THEIRS) {
            /* With this OpenSSL, only tenrounds ends the message in EVP_Cipher(). */
            if (EVP_CipherFinal_ex(s->ctx[i], r[i].out, &r[i].len) <= 0)
                r[i].len = -1;
            end_call(&r[i], r[i].len >= 0 ? 1 : r[i].len);
        } else if (once) {
            r[i].len = EVP_Cipher(s->ctx[i], has(s, HOLDS) ? r[i].out : NULL, NULL, 0);
            end_call(&r[i], r[i].len >= 0 ? 1 : r[i].len);
        } else {
            end_call(&r[i], EVP_CipherFinal_ex(s->ctx[i], r[i].out, &r[i].len));
        }
    }
    /* Without a tag, final of GCM fails and the message continues. A wrong tag ends the message. */
    if (r[THEIRS].ret <= 0 && s->open && has(s, AEAD) && !has(s, LENGTHS) && s->tag != MAYBE &&
        !s->record) {
        DIFFERS("gcm-after-mismatch");
        DIFFERS("ocb-after-mismatch");
        s->refused = s->tag == GIVEN;
    } else {
        s->stuck = r[THEIRS].ret <= 0;
    }
    s->open = r[THEIRS].ret <= 0 && s->open && !s->refused;
    if (r[THEIRS].ret > 0 && s->encrypt)
        s->tag = GIVEN;
    if (r[THEIRS].ret > 0)
        s->waits = s->aad_waits = 0;
    s->dead |= s->stuck && has(s, LENGTHS);
    return alike(r);
}

/* Whether the last control succeeded. */
static bool controlled;

/* Runs a control with the same bytes in both providers, and compares the results and the bytes. */
static bool control(struct state *s, const char *what, int type, int arg, const void *bytes,
                    size_t len)
{
    struct result r[SIDES] = {0};
    tell("%s: %d, %s", what, arg, bytes != NULL ? "with data" : "NULL");
    for (int i = 0; i < SIDES; i++) {
        if (bytes != NULL)
            memcpy(r[i].out, bytes, len);
        end_call(&r[i], EVP_CIPHER_CTX_ctrl(s->ctx[i], type, arg, bytes != NULL ? r[i].out : NULL));
        r[i].len = (int)len;
    }
    controlled = r[THEIRS].ret > 0;
    return alike(r);
}

static bool do_iv_length(struct state *s, struct tap_random *random)
{
    const int len = tap_below(random, 3) == 0   ? 12
                    : tap_below(random, 8) == 0 ? (int)tap_below(random, 200) - 10
                                                : (int)tap_below(random, has(s, LONG_IV) ? 60 : 17);
    if (!s->started)
        return true;
    return control(s, "iv length", EVP_CTRL_AEAD_SET_IVLEN, len, NULL, 0);
}

static bool do_set_tag(struct state *s, struct tap_random *random)
{
    uint8_t tag[32];
    const int len = tap_below(random, 2) == 0 ? 16 : (int)tap_below(random, 20);
    const bool with_data = tap_below(random, 4) != 0;
    tap_fill(random, tag, sizeof(tag));
    if (!s->started)
        return true;
    if (s->tag == NONE)
        s->tag = MAYBE;
    return control(s, "set tag", EVP_CTRL_AEAD_SET_TAG, len, with_data ? tag : NULL, 20);
}

static bool do_get_tag(struct state *s, struct tap_random *random)
{
    static const uint8_t room[32];
    const int len = tap_below(random, 2) == 0 ? 16 : (int)tap_below(random, 20);
    return !s->started || s->stuck || s->refused ||
           control(s, "get tag", EVP_CTRL_AEAD_GET_TAG, len, room, sizeof(room));
}

/* Sets or increments an IV with controls, as SSH and TLS 1.2 do. When encrypting, the control that
 * sets a fixed part draws the other bytes of the IV at random. The test therefore sets a whole IV
 * afterwards, so that both providers have the same IV. */
static bool do_iv_gen(struct state *s, struct tap_random *random)
{
    uint8_t iv[160];
    tap_fill(random, iv, sizeof(iv));
    if (!has(s, IV_GEN) || !s->started || s->stuck || s->refused)
        return true;
    switch (tap_below(random, 4)) {
    case 0:
        /* With a fixed part longer than the IV, the default provider writes past the IV. */
        if (!control(s, "fixed iv", EVP_CTRL_AEAD_SET_IV_FIXED,
                     (int)tap_below(random, s->iv_len + 1), iv, 64))
            return false;
        /* fall through */
    case 1:
        if (!control(s, "whole iv", EVP_CTRL_AEAD_SET_IV_FIXED, -1, iv, 140))
            return false;
        s->iv_set = true;
        s->begun = s->no_aad = s->open = false;
        return true;
    case 2:
        /* With an IV below 8 bytes, the default provider increments bytes before the IV. */
        if (s->iv_len < 8)
            return true;
        s->begun |= s->key_set && s->iv_set;
        if (!control(s, "next iv", EVP_CTRL_GCM_IV_GEN, (int)tap_below(random, 20), iv, 140))
            return false;
        s->open |= controlled;
        return true;
    default:
        s->begun |= s->key_set && s->iv_set;
        if (!control(s, "take iv", EVP_CTRL_GCM_SET_IV_INV, (int)tap_below(random, s->iv_len + 1),
                     iv, 60))
            return false;
        s->open |= controlled;
        return true;
    }
}

/* Processes a TLS 1.2 record. A control passes the AAD, and one call then processes the whole
 * record in place. */
static bool do_record(struct state *s, struct tap_random *random)
{
    static uint8_t data[MAX_DATA];
    static struct result r[SIDES];
    uint8_t aad[13];
    const size_t len = tap_below(random, 400);
    const size_t aad_len = tap_below(random, 8) == 0 ? tap_below(random, 14) : 13;
    tap_fill(random, data, len);
    tap_fill(random, aad, sizeof(aad));
    aad[11] = (uint8_t)(len >> 8);
    aad[12] = (uint8_t)len;
    if (has(s, IV_GEN) && s->started && s->iv_len < 8)
        return refuses_record(s);
    if (!has(s, TLS) || !ready(s) || s->iv_len < 8 || s->refused || nonce_is_cut(s))
        return true;
    /* If the provider refuses the AAD, it treats the record as ordinary data. After the end of a
     * CCM message, data of 0 bytes makes the default provider start a second message under the same
     * nonce. */
    if (aad_len != 13 && len == 0)
        return true;
    s->record = true; /* even if the provider refuses the AAD */
    if (!control(s, "tls aad", EVP_CTRL_AEAD_TLS1_AAD, (int)aad_len, aad, 13))
        return false;
    tell("record: %zu bytes", len);
    for (int i = 0; i < SIDES; i++) {
        memcpy(r[i].out, data, len);
        r[i].len = -1;
        end_call(&r[i], EVP_CipherUpdate(s->ctx[i], r[i].out, &r[i].len, r[i].out, (int)len));
    }
    s->begun |= s->key_set && s->iv_set;
    s->open = aad_len != 13 && (s->open || r[THEIRS].ret > 0);
    if (aad_len == 13 && len != 0 && has(s, IV_GEN))
        s->record = false; /* the data was the record */
    if (s->tag == NONE)
        s->tag = MAYBE;
    s->dead |= has(s, LENGTHS) && r[THEIRS].ret <= 0;
    s->stuck |= s->dead;
    return alike(r);
}

/* CCM: announces the length of a message, then passes AAD and data. */
static bool do_length(struct state *s, struct tap_random *random)
{
    static uint8_t data[MAX_DATA];
    static struct result r[SIDES];
    const size_t len = any_length(random);
    uint8_t aad[40];
    const size_t aad_len = tap_below(random, sizeof(aad));
    tap_fill(random, data, len);
    tap_fill(random, aad, sizeof(aad));
    if (!has(s, LENGTHS) || !ready(s))
        return true;
    if (nonce_is_cut(s))
        return refuses_cut_nonce(s);
    /* After a second message without data, the default provider's tag matches neither message. */
    DIFFERS("ccm-empty-message");
    if (len == 0 && s->spent)
        return true;
    s->spent = true;
    tell("message length %zu bytes, AAD %zu bytes", len, aad_len);
    for (int i = 0; i < SIDES; i++)
        end_call(&r[i], EVP_CipherUpdate(s->ctx[i], NULL, &r[i].len, NULL, (int)len));
    memset(r[OURS].out, 0, sizeof(r[0].out));
    memset(r[THEIRS].out, 0, sizeof(r[0].out));
    if (!alike(r))
        return false;
    for (int i = 0; i < SIDES; i++)
        end_call(&r[i], EVP_CipherUpdate(s->ctx[i], NULL, &r[i].len, aad, (int)aad_len));
    if (!alike(r) || len == 0)
        return r[OURS].len == r[THEIRS].len;
    for (int i = 0; i < SIDES; i++)
        end_call(&r[i], EVP_CipherUpdate(s->ctx[i], r[i].out, &r[i].len, data, (int)len));
    s->stuck = s->dead = r[THEIRS].ret <= 0;
    return alike(r);
}

/* Whether tenrounds returns the size of this parameter for a NULL buffer, or fails if the parameter
 * cannot be read into a buffer of `size` bytes either. */
static bool our_size(const struct state *s, const char *key, size_t size)
{
    uint8_t value[160];
    OSSL_PARAM get[] = {OSSL_PARAM_construct_octet_string(key, value, size), OSSL_PARAM_END};
    OSSL_PARAM ask[] = {OSSL_PARAM_construct_octet_string(key, NULL, 0), OSSL_PARAM_END};
    const bool readable = EVP_CIPHER_CTX_get_params(s->ctx[OURS], get) > 0;
    const bool answers = EVP_CIPHER_CTX_get_params(s->ctx[OURS], ask) > 0;
    ERR_clear_error();
    return answers == readable && (!answers || ask->return_size == size);
}

/* Compares "iv-generated". Where an IV from the caller does not reset the parameter in the default
 * provider, it may be 1 there and must be 0 in tenrounds. */
static bool same_generated(const struct state *s, unsigned type, size_t size)
{
    return same_param(s->ctx, "iv-generated", type, size) ||
           (!stock.resets_generated && generated(s->ctx[OURS]) == 0 &&
            generated(s->ctx[THEIRS]) == 1);
}

static bool do_get_params(struct state *s, struct tap_random *random)
{
    static const char *const numbers[] = {OSSL_CIPHER_PARAM_KEYLEN, OSSL_CIPHER_PARAM_IVLEN,
                                          OSSL_CIPHER_PARAM_AEAD_TAGLEN,
                                          OSSL_CIPHER_PARAM_AEAD_TLS1_AAD_PAD, "unknown-to-all"};
    static const char *const bytes[] = {OSSL_CIPHER_PARAM_IV, OSSL_CIPHER_PARAM_UPDATED_IV,
                                        OSSL_CIPHER_PARAM_CTS_MODE};
    static const unsigned types[] = {OSSL_PARAM_OCTET_STRING, OSSL_PARAM_OCTET_PTR,
                                     OSSL_PARAM_UTF8_STRING, OSSL_PARAM_UTF8_PTR};
    DIFFERS("gcm-early-iv");
    /* GCM: if no IV is set, reading the IV makes OpenSSL 4.0 and tenrounds draw a random IV. */
    if (!ready(s) || s->refused || (s->encrypt && !s->iv_set && has(s, IV_GEN)))
        return true;
    tell("get params");
    DIFFERS("ccm-iv-size");
    bool good = true;
    for (unsigned i = 0; good && i < 5; i++)
        good = same_param(s->ctx, numbers[i], OSSL_PARAM_INTEGER + (unsigned)tap_below(random, 2),
                          (size_t)1 << tap_below(random, 4));
    for (unsigned i = 0; good && i < 3; i++)
        good = same_param(s->ctx, bytes[i], OSSL_PARAM_OCTET_STRING, s->iv_len) &&
               same_param(s->ctx, bytes[i], OSSL_PARAM_OCTET_STRING,
                          tap_below(random, has(s, LENGTHS) ? 17 : 132)) &&
               same_param(s->ctx, bytes[i], OSSL_PARAM_OCTET_PTR, sizeof(void *)) &&
               same_param(s->ctx, bytes[i], OSSL_PARAM_OCTET_PTR, s->iv_len) &&
               same_param(s->ctx, bytes[i], OSSL_PARAM_UTF8_STRING, 16) &&
               same_param(s->ctx, bytes[i], OSSL_PARAM_UTF8_STRING, tap_below(random, 6));
    for (unsigned i = 0; good && i < 5; i++)
        good = same_size(s->ctx, numbers[i], OSSL_PARAM_INTEGER + (unsigned)tap_below(random, 2),
                         tap_below(random, 9));
    const bool only_ours = has(s, IV_GEN) && !stock.answers_sizes;
    for (unsigned i = 0; good && i < 2; i++)
        good = only_ours ? our_size(s, bytes[i], s->iv_len)
                         : same_size(s->ctx, bytes[i], types[tap_below(random, 4)],
                                     tap_below(random, 2) == 0
                                         ? 0
                                         : tap_below(random, has(s, LENGTHS) ? 17 : 132));
    DIFFERS("null-tag");
    /* The default provider writes the tag of CCM and OCB to a NULL buffer if the size is right. */
    if (good && !has(s, LENGTHS | HOLDS))
        good = only_ours ? our_size(s, OSSL_CIPHER_PARAM_AEAD_TAG, s->tag_len)
                         : same_size(s->ctx, OSSL_CIPHER_PARAM_AEAD_TAG,
                                     types[tap_below(random, same_errors_expected ? 1 : 4)],
                                     tap_below(random, 20));
    if (good && has(s, IV_GEN) && stock.knows_generated)
        good = same_generated(s, OSSL_PARAM_INTEGER + (unsigned)tap_below(random, 2),
                              (size_t)1 << tap_below(random, 4));
    return good &&
           same_param(s->ctx, OSSL_CIPHER_PARAM_AEAD_TAG, OSSL_PARAM_OCTET_STRING,
                      tap_below(random, 20)) &&
           EVP_CIPHER_CTX_get_iv_length(s->ctx[OURS]) ==
               EVP_CIPHER_CTX_get_iv_length(s->ctx[THEIRS]);
}

/* Whether the table of GCM's parameters has `a` before `b`. */
static bool comes_before(const OSSL_PARAM *a, const OSSL_PARAM *b)
{
    static const char *const table[] = {OSSL_CIPHER_PARAM_AEAD_TAG, OSSL_CIPHER_PARAM_AEAD_IVLEN,
                                        OSSL_CIPHER_PARAM_AEAD_TLS1_AAD};
    unsigned of_a = 0, of_b = 0;
    while (of_a < 3 && strcmp(table[of_a], a->key) != 0)
        of_a++;
    while (of_b < 3 && strcmp(table[of_b], b->key) != 0)
        of_b++;
    return of_a < of_b && of_b < 3;
}

/* Sets one or two parameters of any type and size in one call. */
static bool do_set_params(struct state *s, struct tap_random *random)
{
    static const char *const keys[] = {OSSL_CIPHER_PARAM_KEYLEN,
                                       OSSL_CIPHER_PARAM_AEAD_IVLEN,
                                       OSSL_CIPHER_PARAM_AEAD_TAG,
                                       OSSL_CIPHER_PARAM_AEAD_TLS1_AAD,
                                       OSSL_CIPHER_PARAM_PADDING,
                                       OSSL_CIPHER_PARAM_USE_BITS,
                                       "unknown-to-all"};
    static const unsigned types[] = {OSSL_PARAM_INTEGER, OSSL_PARAM_UNSIGNED_INTEGER,
                                     OSSL_PARAM_OCTET_STRING, OSSL_PARAM_UTF8_STRING};
    struct result r[SIDES] = {0};
    uint8_t value[2][32] = {{0}};
    OSSL_PARAM params[3];
    const unsigned n = 1 + (unsigned)tap_below(random, 2);
    const char *const first = keys[tap_below(random, sizeof(keys) / sizeof(keys[0]))];
    for (unsigned i = 0; i < 2; i++) {
        const unsigned type = types[tap_below(random, 4)];
        const char *const key =
            i == 0 ? first : keys[tap_below(random, sizeof(keys) / sizeof(keys[0]))];
        const size_t size = type <= OSSL_PARAM_UNSIGNED_INTEGER ? 1u << tap_below(random, 4)
                                                                : tap_below(random, 18);
        value[i][0] = (uint8_t)tap_below(random, 34);
        /* A NULL tag sets the tag length, or does nothing. */
        const bool no_bytes = tap_below(random, 4) == 0 && type == OSSL_PARAM_OCTET_STRING &&
                              strcmp(key, OSSL_CIPHER_PARAM_AEAD_TAG) == 0;
        params[i] = (OSSL_PARAM){key, type, no_bytes ? NULL : value[i], size, 0};
    }
    params[n] = OSSL_PARAM_construct_end();
    if (!s->started || s->stuck || (n == 2 && params[1].key == first))
        return true;
    if (n == 2 && has(s, IV_GEN) && stock.in_call_order && comes_before(&params[1], &params[0]))
        return true;
    DIFFERS("after-failed-call");
    /* The default provider ignores use-bits in a call in which it refuses the padding. */
    if (n == 2 && (strcmp(first, OSSL_CIPHER_PARAM_USE_BITS) == 0 ||
                   strcmp(params[1].key, OSSL_CIPHER_PARAM_USE_BITS) == 0))
        return true;
    for (unsigned i = 0; i < n; i++) {
        tell("set %s, type %u, %zu bytes, first %02x%s", params[i].key, params[i].data_type,
             params[i].data_size, value[i][0], params[i].data == NULL ? ", NULL" : "");
        s->record |= strcmp(params[i].key, OSSL_CIPHER_PARAM_AEAD_TLS1_AAD) == 0;
        if (s->tag == NONE && strcmp(params[i].key, OSSL_CIPHER_PARAM_AEAD_TAG) == 0)
            s->tag = MAYBE;
    }
    for (int i = 0; i < SIDES; i++)
        end_call(&r[i], EVP_CIPHER_CTX_set_params(s->ctx[i], params));
    return alike(r);
}

/* Continues with a copy, or with the original after a copy was used and freed. tenrounds can copy
 * in some states in which the default provider cannot, so only the copy of tenrounds must
 * succeed. */
static bool do_copy(struct state *s, struct tap_random *random)
{
    struct result r[SIDES] = {0};
    EVP_CIPHER_CTX *copy[SIDES];
    const bool keep = tap_below(random, 2) == 0;
    if (!s->started)
        return true;
    tell("copy, continue with the %s", keep ? "copy" : "original");
    DIFFERS("copy-more-states");
    for (int i = 0; i < SIDES; i++) {
        copy[i] = EVP_CIPHER_CTX_new();
        end_call(&r[i], EVP_CIPHER_CTX_copy(copy[i], s->ctx[i]));
    }
    const bool both = r[OURS].ret > 0 && r[THEIRS].ret > 0;
    for (int i = 0; i < SIDES; i++) {
        uint8_t junk[96] = {0}; /* 64 bytes of data; key wrap adds 8 */
        int len;
        if (keep && both) {
            EVP_CIPHER_CTX *const original = s->ctx[i];
            s->ctx[i] = copy[i];
            copy[i] = original;
        }
        if (both && ready(s) && !s->refused)
            EVP_CipherUpdate(copy[i], junk, &len, junk, 64);
        EVP_CIPHER_CTX_free(copy[i]);
    }
    ERR_clear_error();
    return r[OURS].ret > 0;
}

/* Seals a message in a third context and opens it in both providers, sometimes with a wrong tag. */
static bool do_message(struct state *s, struct tap_random *random)
{
    static uint8_t text[MAX_DATA];
    uint8_t key[64], iv[160], aad[64], tag[16];
    struct result r[SIDES] = {0};
    int n;
    const size_t len = any_length(random), aad_len = tap_below(random, 64);
    const int tag_len =
        has(s, HOLDS) || tap_below(random, 2) == 0 ? 16 : 1 + (int)tap_below(random, 16);
    const bool wrong = tap_below(random, 3) == 0, early = tap_below(random, 2) == 0;
    tap_fill(random, key, sizeof(key));
    tap_fill(random, iv, sizeof(iv));
    tap_fill(random, aad, sizeof(aad));
    tap_fill(random, text, len);
    if (!has(s, AEAD) || has(s, LENGTHS))
        return true;
    tell("message: %zu bytes, %zu bytes of AAD, tag of %d bytes%s%s", len, aad_len, tag_len,
         wrong ? ", spoiled" : "", early ? ", tag first" : "");
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    EVP_CipherInit_ex2(ctx, s->cipher[THEIRS], key, iv, 1, NULL);
    EVP_CipherUpdate(ctx, NULL, &n, aad, (int)aad_len);
    EVP_CipherUpdate(ctx, text, &n, text, (int)len);
    EVP_CipherFinal_ex(ctx, text, &n);
    EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, 16, tag);
    EVP_CIPHER_CTX_free(ctx);
    if (wrong)
        tag[tap_below(random, (uint64_t)tag_len)] ^= 0x40;
    for (int i = 0; i < SIDES; i++)
        end_call(&r[i], EVP_CipherInit_ex2(s->ctx[i], s->cipher[i], key, iv, 0, NULL));
    s->started = s->key_set = s->iv_set = s->begun = true;
    s->stuck = s->refused = s->open = s->partial = false;
    s->waits = s->aad_waits = 0;
    s->encrypt = 0;
    s->tag = GIVEN;
    s->iv_len = s->key_iv_len = (unsigned)EVP_CIPHER_get_iv_length(s->cipher[THEIRS]);
    bool good = alike(r);
    if (early)
        good = good && control(s, "set tag", EVP_CTRL_AEAD_SET_TAG, tag_len, tag, 16);
    ask_lengths(s);
    for (int i = 0; i < SIDES; i++)
        end_call(&r[i], EVP_CipherUpdate(s->ctx[i], NULL, &r[i].len, aad, (int)aad_len));
    begins(s);
    for (size_t done = 0, piece; good && done < len; done += piece) {
        static struct result piece_r[SIDES];
        piece = 1 + tap_below(random, len - done);
        for (int i = 0; i < SIDES; i++)
            end_call(&piece_r[i], EVP_CipherUpdate(s->ctx[i], piece_r[i].out, &piece_r[i].len,
                                                   text + done, (int)piece));
        good = alike(piece_r);
    }
    if (!early)
        good = good && control(s, "set tag", EVP_CTRL_AEAD_SET_TAG, tag_len, tag, 16);
    return good && do_final(s, random);
}

/* Compares the parameter "iv-generated" after an encryption with a random IV, and after an explicit
 * IV. */
static bool do_random_iv(struct state *s, struct tap_random *random)
{
    uint8_t key[64], iv[16], text[32];
    struct result r[SIDES] = {0};
    const bool whole = tap_below(random, 2) == 0, ends = tap_below(random, 2) == 0;
    tap_fill(random, key, sizeof(key));
    tap_fill(random, iv, sizeof(iv));
    tap_fill(random, text, sizeof(text));
    if (!has(s, IV_GEN) || !stock.knows_generated)
        return true;
    tell("a random IV, then an explicit one%s%s", ends ? " after final" : "",
         whole ? " as a fixed IV" : "");
    for (int i = 0; i < SIDES; i++)
        end_call(&r[i], EVP_CipherInit_ex2(s->ctx[i], s->cipher[i], key, NULL, 1, NULL));
    for (int i = 0; i < SIDES; i++) {
        end_call(&r[i], EVP_CipherUpdate(s->ctx[i], r[i].out, &r[i].len, text, sizeof(text)));
        memset(r[i].out, 0, sizeof(text));
        if (ends)
            EVP_CipherFinal_ex(s->ctx[i], text, &r[i].len);
    }
    bool good = alike(r) && r[OURS].ret > 0 &&
                same_param(s->ctx, "iv-generated", OSSL_PARAM_UNSIGNED_INTEGER, sizeof(unsigned));
    for (int i = 0; i < SIDES; i++)
        end_call(&r[i], whole ? EVP_CIPHER_CTX_ctrl(s->ctx[i], EVP_CTRL_AEAD_SET_IV_FIXED, -1, iv)
                              : EVP_CipherInit_ex2(s->ctx[i], NULL, NULL, iv, -1, NULL));
    good = good && alike(r) && generated(s->ctx[OURS]) == 0 &&
           same_generated(s, OSSL_PARAM_UNSIGNED_INTEGER, sizeof(unsigned));
    /* The random IVs differ between the providers, so both providers restart with the same IV. */
    for (int i = 0; i < SIDES; i++)
        end_call(&r[i], EVP_CipherInit_ex2(s->ctx[i], s->cipher[i], key, iv, 1, NULL));
    s->started = s->key_set = s->iv_set = true;
    s->begun = s->stuck = s->refused = s->open = s->no_aad = s->record = false;
    s->encrypt = 1;
    s->tag = NONE;
    return good && alike(r);
}

static bool do_padding(struct state *s, struct tap_random *random)
{
    const int padding = (int)tap_below(random, 2);
    return !s->started || same_padding(s->ctx, padding);
}

static bool do_data(struct state *s, struct tap_random *random)
{
    return do_update(s, random, false);
}

static bool do_aad(struct state *s, struct tap_random *random)
{
    return !has(s, AEAD) || do_update(s, random, true);
}

/* The kinds of steps. Repeated entries are drawn more often. */
static bool (*const whats[])(struct state *, struct tap_random *) = {
    do_init,    do_init,       do_init,       do_init,      do_data,    do_data,
    do_data,    do_data,       do_aad,        do_aad,       do_aad,     do_final,
    do_final,   do_set_tag,    do_get_tag,    do_iv_length, do_iv_gen,  do_copy,
    do_message, do_get_params, do_set_params, do_record,    do_iv_gen,  do_get_tag,
    do_record,  do_length,     do_iv_length,  do_set_tag,   do_padding, do_random_iv};
#define WHATS (sizeof(whats) / sizeof(whats[0]))

/* ---- Sequences ------------------------------------------------------------------------------ */

static bool run(const void *subject, const struct step *steps, unsigned n, bool print)
{
    const struct family *family = subject;
    struct state s = {.family = family};
    printing = print;
    growing = (family->traits & GROWS) != 0;
    open_contexts(family->name, s.cipher, s.ctx);
    bool good = true;
    for (unsigned i = 0; good && i < n; i++) {
        struct tap_random random = tap_random(steps[i].seed);
        good = whats[steps[i].what](&s, &random);
        if (s.started)
            ask_lengths(&s);
    }
    close_contexts(s.cipher, s.ctx);
    return good;
}

/* Encrypts two messages without setting an IV. tenrounds must draw a different IV for each message.
 * With this IV, the default provider must open the message. */
static bool generated_iv(const struct family *family)
{
    uint8_t key[64] = {1}, iv[2][16], text[100] = {0}, tag[16];
    const struct evp_side *const us = &sides[OURS], *const them = &sides[THEIRS];
    EVP_CIPHER *ours = evp_fetch(us, family->name), *theirs = evp_fetch(them, family->name);
    bool good = true;
    for (int i = 0; good && i < 2; i++) {
        int n;
        EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
        good = EVP_CipherInit_ex2(ctx, ours, key, NULL, 1, NULL) > 0 &&
               EVP_CipherUpdate(ctx, text, &n, text, sizeof(text)) > 0 && n == sizeof(text) &&
               EVP_CipherFinal_ex(ctx, text, &n) > 0 &&
               EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, 16, tag) > 0 &&
               EVP_CIPHER_CTX_get_original_iv(ctx, iv[i], 16) > 0;
        EVP_CIPHER_CTX_free(ctx);
        ctx = EVP_CIPHER_CTX_new();
        good = good && EVP_CipherInit_ex2(ctx, theirs, key, iv[i], 0, NULL) > 0 &&
               EVP_CipherUpdate(ctx, text, &n, text, sizeof(text)) > 0 &&
               EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, 16, tag) > 0 &&
               EVP_CipherFinal_ex(ctx, text, &n) > 0 && text[0] == 0;
        EVP_CIPHER_CTX_free(ctx);
    }
    EVP_CIPHER_free(ours);
    EVP_CIPHER_free(theirs);
    return good && memcmp(iv[0], iv[1], 12) != 0;
}

int main(int argc, char **argv)
{
    const time_t seconds = argc > 1 ? atoi(argv[1]) : 5;
    unsigned count[FAMILIES] = {0}, generating = 0;
    bool good[FAMILIES];
    for (unsigned f = 0; f < FAMILIES; f++)
        generating += (families[f].traits & IV_GEN) != 0;
    tap_plan(FAMILIES + generating + 1);
    sides[OURS] = evp_open("tenrounds");
    sides[THEIRS] = evp_open("default");
    same_errors_expected = OPENSSL_version_major() == 3 && OPENSSL_version_minor() == 0;
    ccm_final_checks = final_checks();
    look_at_ocb();
    tap_ok(look_at_gcm_and_wrap(),
           "GCM and key wrap do the same with every version of OpenSSL where versions differ");
    tap_diag("backend: %s", evp_provider_text(sides[OURS].provider, "selected-backend"));
    struct tap_random random = tap_random(0);
    memset(good, 1, sizeof(good));
    const time_t end = time(NULL) + seconds;
    do {
        for (unsigned f = 0; f < FAMILIES; f++) {
            if (good[f])
                good[f] = sequence_drawn(run, &families[f], families[f].name, MAX_STEPS, WHATS,
                                         (uint32_t[]){0}, 1, &random);
            count[f] += good[f];
        }
    } while (time(NULL) < end);
    for (unsigned f = 0; f < FAMILIES; f++)
        tap_ok(good[f], "%s: %u sequences match the default provider", families[f].name, count[f]);
    tap_diag("tenrounds refused %u calls on purpose", refusals);
    for (unsigned f = 0; f < FAMILIES; f++) {
        if ((families[f].traits & IV_GEN) != 0)
            tap_ok(generated_iv(&families[f]), "%s: draws a new IV for each message",
                   families[f].name);
    }
    evp_close(&sides[OURS]);
    evp_close(&sides[THEIRS]);
    return tap_done();
}
