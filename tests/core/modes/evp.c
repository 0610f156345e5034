/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compares the modes outside struct tr_cipher with libcrypto's default provider, for each backend
 * and key size. OpenSSL 3.0 lacks GCM-SIV, so gcm_siv_reference.h computes it. Messages have random
 * lengths and are processed in place and out of place, CMAC and CFB in pieces; ../aead.c has the
 * authenticated modes in pieces. The test also decrypts each message. In modes with a tag or a
 * check value, the test then flips a bit and decrypts again. The mode must detect the change and
 * leave zeros in the output.
 */
#include "../aead.h"
#include "gcm_siv_reference.h"
#include "libcrypto.h"

#define MOST  (9 * 1024)
#define CASES 60u

/* A random message and its results. */
struct the_case {
    struct tap_random *rng;
    const struct tr_backend *backend;
    size_t key_len, len, aad_len, iv_len, tag_len;
    uint8_t key[64], iv[16], tag[16], expected_tag[16], aad[3 * 600];
    uint8_t in[MOST], out[MOST + 32], expected[MOST + 32], back[MOST + 32];
    char name[48];
};

/* A random length, mostly small. */
static size_t random_length(struct tap_random *rng, size_t most)
{
    static const size_t limits[] = {34, 300, 1100, MOST};
    const size_t limit = limits[tap_below(rng, 4)];
    return tap_below(rng, (limit < most ? limit : most) + 1);
}

static struct lc_message message(struct the_case *c, const char *form, size_t bits)
{
    snprintf(c->name, sizeof(c->name), "AES-%zu-%s", bits, form);
    return (struct lc_message){.name = c->name,
                               .key = c->key,
                               .iv = c->iv,
                               .iv_len = c->iv_len,
                               .in = c->in,
                               .len = c->len,
                               .aad = {c->aad},
                               .aad_len = {c->aad_len},
                               .components = c->tag_len != 0,
                               .tag_len = c->tag_len};
}

/* Returns the input of a call. At random, this is `in`, or a copy of it in `out` for a call in
 * place. */
static const uint8_t *input(struct the_case *c, uint8_t *out, const uint8_t *in, size_t len)
{
    if (tap_below(c->rng, 2) == 0)
        return in;
    memcpy(out, in, len);
    return out;
}

static bool flip(struct the_case *c, uint8_t *bytes, size_t len)
{
    if (len != 0)
        bytes[tap_below(c->rng, len)] ^= (uint8_t)(1u << tap_below(c->rng, 8));
    return len != 0;
}

static bool is_zero(const uint8_t *bytes, size_t len)
{
    uint8_t any = 0;
    for (size_t i = 0; i < len; i++)
        any |= bytes[i];
    return any == 0;
}

/* ---- XTS, CTS, CFB, key wrap, CMAC ----------------------------------------------------------- */

static bool xts(struct the_case *c)
{
    struct tr_xts_key x;
    if (c->key_len == 24)
        return tr_xts_set_key(&x, c->backend, c->key, 48) == TR_ERR_KEY_LENGTH;
    c->len += 16;
    if (c->len > MOST)
        c->len = MOST;
    c->tag_len = 0;
    const struct lc_message m = message(c, "XTS", c->key_len * 8);
    if (!lc_encrypt(&m, c->expected, NULL, NULL) ||
        tr_xts_set_key(&x, c->backend, c->key, 2 * c->key_len) != TR_OK)
        return false;
    return tr_xts_encrypt(&x, c->iv, c->out, input(c, c->out, c->in, c->len), c->len) == TR_OK &&
           tap_same(c->out, c->expected, c->len) &&
           tr_xts_decrypt(&x, c->iv, c->back, input(c, c->back, c->out, c->len), c->len) == TR_OK &&
           tap_same(c->back, c->in, c->len);
}

static bool cts(struct the_case *c)
{
    static const char *const forms[] = {"CS1", "CS2", "CS3"};
    const unsigned form = (unsigned)tap_below(c->rng, 3);
    const struct tr_aes_key key = key_for(c->backend, c->key, c->key_len);
    uint8_t iv[2][16];
    c->len += 16;
    if (c->len > MOST)
        c->len = MOST;
    if (tap_below(c->rng, 2) == 0)
        c->len -= c->len % 16;
    c->tag_len = 0;
    struct lc_message m = message(c, "CBC-CTS", c->key_len * 8);
    m.cts = forms[form];
    for (unsigned i = 0; i < 2; i++)
        memcpy(iv[i], c->iv, 16);
    return lc_encrypt(&m, c->expected, NULL, NULL) &&
           tr_cbc_cts_encrypt(&key, TR_CS1 + form, iv[0], c->out, input(c, c->out, c->in, c->len),
                              c->len) == TR_OK &&
           tap_same(c->out, c->expected, c->len) &&
           tr_cbc_cts_decrypt(&key, TR_CS1 + form, iv[1], c->back,
                              input(c, c->back, c->out, c->len), c->len) == TR_OK &&
           tap_same(c->back, c->in, c->len) && tap_same(iv[0], iv[1], 16);
}

typedef enum tr_status cfb_fn(const struct tr_aes_key *key, uint8_t iv[16], uint8_t *out,
                              const uint8_t *in, size_t len);

/* Encrypts and decrypts in two pieces. Pass 8 as `unit` if the functions take lengths in bits, else
 * 1. */
static bool cfb_small(struct the_case *c, const char *form, cfb_fn *encrypt, cfb_fn *decrypt,
                      size_t unit)
{
    const struct tr_aes_key key = key_for(c->backend, c->key, c->key_len);
    uint8_t iv[2][16];
    c->len %= 400;
    c->tag_len = 0;
    const size_t first = tap_below(c->rng, c->len + 1);
    const struct lc_message m = message(c, form, c->key_len * 8);
    for (unsigned i = 0; i < 2; i++)
        memcpy(iv[i], c->iv, 16);
    if (!lc_encrypt(&m, c->expected, NULL, NULL))
        return false;
    const uint8_t *in = input(c, c->out, c->in, c->len);
    if (encrypt(&key, iv[0], c->out, in, first * unit) != TR_OK ||
        encrypt(&key, iv[0], c->out + first, in + first, (c->len - first) * unit) != TR_OK)
        return false;
    in = input(c, c->back, c->out, c->len);
    return tap_same(c->out, c->expected, c->len) &&
           decrypt(&key, iv[1], c->back, in, first * unit) == TR_OK &&
           decrypt(&key, iv[1], c->back + first, in + first, (c->len - first) * unit) == TR_OK &&
           tap_same(c->back, c->in, c->len) && tap_same(iv[0], iv[1], 16);
}

static bool cfb8(struct the_case *c)
{
    return cfb_small(c, "CFB8", tr_cfb8_encrypt, tr_cfb8_decrypt, 1);
}

static bool cfb1(struct the_case *c)
{
    return cfb_small(c, "CFB1", tr_cfb1_encrypt, tr_cfb1_decrypt, 8);
}

/* CFB1 with any number of bits. Bits after the message must stay unchanged. */
static bool cfb1_bits(struct the_case *c)
{
    const struct tr_aes_key key = key_for(c->backend, c->key, c->key_len);
    const size_t bits = tap_below(c->rng, 300), bytes = (bits + 7) / 8;
    uint8_t iv[2][16];
    c->len = bytes;
    c->tag_len = 0;
    struct lc_message m = message(c, "CFB1", c->key_len * 8);
    m.bits = true;
    m.len = bits;
    for (unsigned i = 0; i < 2; i++)
        memcpy(iv[i], c->iv, 16);
    memset(c->expected, 0x5a, bytes);
    memset(c->out, 0x5a, bytes);
    memcpy(c->back, c->in, bytes);
    return lc_encrypt(&m, c->expected, NULL, NULL) &&
           tr_cfb1_encrypt(&key, iv[0], c->out, c->in, bits) == TR_OK &&
           tap_same(c->out, c->expected, bytes) &&
           tr_cfb1_decrypt(&key, iv[1], c->back, c->out, bits) == TR_OK &&
           tap_same(c->back, c->in, bytes) && tap_same(iv[0], iv[1], 16);
}

static bool kw(struct the_case *c)
{
    const struct tr_aes_key key = key_for(c->backend, c->key, c->key_len);
    const bool inverse = tap_below(c->rng, 2) == 0, own_iv = tap_below(c->rng, 2) == 0;
    c->len = 16 + c->len % 1024 / 8 * 8;
    c->tag_len = 0;
    struct lc_message m = message(c, inverse ? "WRAP-INV" : "WRAP", c->key_len * 8);
    m.iv = own_iv ? c->iv : NULL;
    size_t n = 0;
    if (!lc_encrypt(&m, c->expected, &n, NULL) || n != c->len + 8 ||
        tr_kw_wrap(&key, inverse, m.iv, c->out, input(c, c->out, c->in, c->len), c->len) != TR_OK ||
        !tap_same(c->out, c->expected, n) ||
        tr_kw_unwrap(&key, inverse, m.iv, c->back, input(c, c->back, c->out, n), n) != TR_OK ||
        !tap_same(c->back, c->in, c->len))
        return false;
    return flip(c, c->out, n) &&
           tr_kw_unwrap(&key, inverse, m.iv, c->back, c->out, n) == TR_ERR_TAG &&
           is_zero(c->back, c->len);
}

static bool kwp(struct the_case *c)
{
    const struct tr_aes_key key = key_for(c->backend, c->key, c->key_len);
    const bool inverse = tap_below(c->rng, 2) == 0, own_iv = tap_below(c->rng, 2) == 0;
    c->len = 1 + c->len % 1024;
    c->tag_len = 0;
    struct lc_message m = message(c, inverse ? "WRAP-PAD-INV" : "WRAP-PAD", c->key_len * 8);
    m.iv = own_iv ? c->iv : NULL;
    size_t n = 0, back = 0;
    if (!lc_encrypt(&m, c->expected, &n, NULL) || n != (c->len + 7) / 8 * 8 + 8 ||
        tr_kwp_wrap(&key, inverse, m.iv, c->out, input(c, c->out, c->in, c->len), c->len) !=
            TR_OK ||
        !tap_same(c->out, c->expected, n) ||
        tr_kwp_unwrap(&key, inverse, m.iv, c->back, &back, input(c, c->back, c->out, n), n) !=
            TR_OK ||
        back != c->len || !tap_same(c->back, c->in, c->len))
        return false;
    return flip(c, c->out, n) &&
           tr_kwp_unwrap(&key, inverse, m.iv, c->back, &back, c->out, n) == TR_ERR_TAG &&
           back == 0 && is_zero(c->back, n - 8);
}

static bool cmac(struct the_case *c)
{
    struct tr_cmac_key key;
    struct tr_cmac mac;
    char cipher[32];
    snprintf(cipher, sizeof(cipher), "AES-%zu-CBC", c->key_len * 8);
    if (!lc_cmac(cipher, c->key, c->key_len, c->in, c->len, c->expected_tag) ||
        tr_cmac_set_key(&key, c->backend, c->key, c->key_len) != TR_OK ||
        tr_cmac_start(&mac, &key) != TR_OK)
        return false;
    for (size_t at = 0, n; at < c->len; at += n) {
        n = tap_below(c->rng, tap_below(c->rng, 3) == 0 ? 20 : c->len) + 1;
        n = n < c->len - at ? n : c->len - at;
        if (tr_cmac_update(&mac, c->in + at, n) != TR_OK)
            return false;
    }
    return tr_cmac_tag(&mac, c->tag, c->tag_len) == TR_OK &&
           tap_same(c->tag, c->expected_tag, c->tag_len) &&
           tr_cmac_verify(&key, c->in, c->len, c->tag, c->tag_len) == TR_OK &&
           flip(c, c->tag, c->tag_len) &&
           tr_cmac_verify(&key, c->in, c->len, c->tag, c->tag_len) == TR_ERR_TAG;
}

/* ---- Authenticated modes --------------------------------------------------------------------- */

/* Encrypts or decrypts in one call, or SIV with its components. The tag is c->tag. */
static enum tr_status aead_crypt(struct the_case *c, const struct aead *a,
                                 const struct lc_message *m, bool decrypt, uint8_t *out,
                                 const uint8_t *in)
{
    static struct aead_state s;
    const struct aead_lengths n = {0, c->iv_len, c->aad_len, c->len, c->tag_len};
    enum tr_status status = a->set_key(&s, c->backend, c->key, c->key_len * a->key.min / 16);
    if (status != TR_OK || !a->aad_in_one_call)
        return status != TR_OK ? status : a->whole(&s, decrypt, &n, c->iv, c->aad, out, in, c->tag);
    status = a->start(&s, c->iv, &n);
    for (unsigned i = 0; i < m->components && status == TR_OK; i++)
        status = a->aad(&s, m->aad[i], m->aad_len[i]);
    return status == TR_OK ? a->crypt(&s, decrypt, out, in, c->len, c->tag) : status;
}

/* Encrypts with the other implementation. */
static bool aead_expect(struct the_case *c, const struct aead *a, const struct lc_message *m)
{
    if (a != &all_aeads[AEAD_gcm_siv])
        return lc_encrypt(m, c->expected, NULL, c->expected_tag);
    gcm_siv_reference(c->key, c->key_len, c->iv, c->aad, c->aad_len, c->expected, c->in, c->len,
                      c->expected_tag);
    return true;
}

static bool aead(struct the_case *c, const struct aead *a)
{
    const size_t iv_most = a->iv.max < 16 ? a->iv.max : 16;
    c->iv_len = a->aad_in_one_call ? 0 : a->iv.min + tap_below(c->rng, iv_most - a->iv.min + 1);
    c->tag_len = a->tag_min + a->tag_step * tap_below(c->rng, (16 - a->tag_min) / a->tag_step + 1);
    if (a->aad_in_one_call && c->len == 0) /* OpenSSL before 3.2 ignores an empty SIV message */
        c->len = 1;
    struct lc_message m = message(c, a->name, c->key_len * 8);
    if (a->aad_in_one_call) {
        m.iv = NULL;
        m.components = (unsigned)tap_below(c->rng, 4);
        for (unsigned i = 0; i < m.components; i++) {
            m.aad[i] = c->aad + (size_t)i * 600;
            m.aad_len[i] = 1 + random_length(c->rng, 599);
        }
    }
    if (!aead_expect(c, a, &m) ||
        aead_crypt(c, a, &m, false, c->out, input(c, c->out, c->in, c->len)) != TR_OK ||
        !tap_same(c->out, c->expected, c->len) || !tap_same(c->tag, c->expected_tag, c->tag_len) ||
        aead_crypt(c, a, &m, true, c->back, input(c, c->back, c->out, c->len)) != TR_OK ||
        !tap_same(c->back, c->in, c->len))
        return false;
    /* A short tag can be right for another ciphertext, by chance. */
    if (tap_below(c->rng, 2) == 0 || c->len == 0 || c->tag_len < 12)
        flip(c, c->tag, c->tag_len);
    else
        flip(c, c->out, c->len);
    return aead_crypt(c, a, &m, true, c->back, c->out) == TR_ERR_TAG && is_zero(c->back, c->len);
}

/* ---- All of them ----------------------------------------------------------------------------- */

static const struct {
    const char *name;
    bool (*run)(struct the_case *c);
} modes[] = {
    {"XTS", xts}, {"CBC-CTS", cts}, {"CFB8", cfb8}, {"CFB1", cfb1}, {"CFB1 bits", cfb1_bits},
    {"KW", kw},   {"KWP", kwp},     {"CMAC", cmac},
};
#define PLAIN (sizeof(modes) / sizeof(modes[0]))
#define COUNT (PLAIN + AEADS)

static void test_mode(const struct tr_backend *b, unsigned mode, struct tap_random *rng)
{
    static struct the_case c;
    bool good = true;
    size_t len = 0;
    for (unsigned i = 0; i < CASES && good; i++) {
        c.rng = rng;
        c.backend = b;
        c.key_len = key_lengths[i % 3];
        c.len = len = random_length(rng, MOST);
        c.aad_len = random_length(rng, sizeof(c.aad));
        c.iv_len = 12;
        c.tag_len = 1 + tap_below(rng, 16);
        tap_fill(rng, c.key, sizeof(c.key));
        tap_fill(rng, c.iv, sizeof(c.iv));
        tap_fill(rng, c.in, sizeof(c.in));
        tap_fill(rng, c.aad, sizeof(c.aad));
        good = mode < PLAIN ? modes[mode].run(&c) : aead(&c, &all_aeads[mode - PLAIN]);
    }
    if (!good)
        tap_diag("wrong result: key %zu, data %zu, AAD %zu, IV %zu, tag %zu bytes", c.key_len, len,
                 c.aad_len, c.iv_len, c.tag_len);
    tap_ok(good, "%s: %s equals the reference", tr_backend_name(b),
           mode < PLAIN ? modes[mode].name : all_aeads[mode - PLAIN].name);
}

int main(void)
{
    tap_plan(1 + backend_count() * COUNT);
    tap_ok(lc_start(), "libcrypto's default provider is loaded");
    for (unsigned i = 0; i < backend_count(); i++) {
        const struct tr_backend *b = tr_backend_at(i);
        struct tap_random rng = tap_random(i);
        if (backend_skip(b, COUNT))
            continue;
        for (unsigned mode = 0; mode < COUNT; mode++)
            test_mode(b, mode, &rng);
    }
    lc_end();
    return tap_done();
}
