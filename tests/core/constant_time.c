/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests that no branch and no memory index depends on a key or on data. Runs under valgrind: the
 * test declares secrets undefined, and memcheck reports each branch or index on one (A. Langley's
 * ctgrind). Valgrind has no VAES and no AVX-512, so it cannot run the backends that need them.
 * Except for vperm512, these backends compile the same C source for wider vectors.
 *
 * The test does not watch the removal of padding, because the caller learns its result and the
 * length anyway. For the same reason a tag check may branch on its result once or twice, to report
 * it and to cleanse the output. A comparison that stops at the first difference would branch more
 * often.
 */
#include "aead.h"

#include <valgrind/memcheck.h>

#define LONGEST   400
#define LONG_RUN  1843 /* long enough for aesni's long GCM messages (core/simd/gcm_long.h) */
/* Long enough for the XTS code for long data units (core/simd/xts_long.h). */
#define LONG_UNIT 1600

static void secret(void *p, size_t len)
{
    VALGRIND_MAKE_MEM_UNDEFINED(p, len);
}

static void published(void *p, size_t len)
{
    VALGRIND_MAKE_MEM_DEFINED(p, len);
}

/* Encrypts or decrypts a message. The test repeats the call without secrets and compares the
 * results, which shows that the watched code computes AES. */
static bool message(const struct tr_backend *b, enum tr_mode mode, bool decrypt, size_t key_len,
                    size_t len, bool is_secret, uint8_t out[LONGEST])
{
    uint8_t raw[32], in[LONGEST], iv[16];
    struct tr_aes_key key;
    memset(raw, 0x11, sizeof(raw));
    memset(iv, 0xfe, sizeof(iv));
    memset(in, 0x22, sizeof(in));
    if (is_secret) {
        secret(raw, sizeof(raw));
        secret(in, sizeof(in));
        if (mode != TR_CTR) /* a counter is public */
            secret(iv, sizeof(iv));
    }
    bool good = tr_aes_set_key(&key, b, raw, key_len) == TR_OK;
    struct position p = {.used = 0};
    memcpy(p.iv, iv, sizeof(iv));
    const size_t half = mode_is_whole(mode) ? 0 : mode_is_blocks(mode) ? len / 32 * 16 : len / 2;
    good &= (half == 0 || mode_run(&key, mode, decrypt, &p, out, in, half) == TR_OK) &&
            mode_run(&key, mode, decrypt, &p, out + half, in + half, len - half) == TR_OK;
    published(out, len);
    return good;
}

static bool padded(const struct tr_backend *b, size_t len, bool is_secret, uint8_t out[LONGEST])
{
    uint8_t raw[16], in[LONGEST], iv[16] = {0};
    struct tr_cipher c;
    struct tr_aes_key key;
    size_t n = 0, last = 0;
    memset(&c, 0, sizeof(c));
    memset(raw, 0x11, sizeof(raw));
    memset(in, 0x22, sizeof(in));
    if (is_secret) {
        secret(raw, sizeof(raw));
        secret(in, sizeof(in));
    }
    const bool good = tr_aes_set_key(&key, b, raw, sizeof(raw)) == TR_OK &&
                      tr_cipher_start(&c, &key, TR_CBC, 0, 1, iv) == TR_OK &&
                      tr_cipher_update(&c, out, &n, in, len) == TR_OK &&
                      tr_cipher_final(&c, out + n, &last) == TR_OK;
    published(out, n + last);
    return good;
}

/* ---- Authenticated modes: key, AAD and text are secret, IV and tag are not ---------------- */

#define VERDICT 2 /* branches that a tag check may make on its result */

/*
 * Functions that call the backend `behind`, and mark public values as defined for memcheck. SIV and
 * GCM-SIV derive their counter from the tag. The tag is public once computed, so a branch on the
 * counter is allowed. For SIV, publishing_ctr() marks the counter. For GCM-SIV, publishing_ecb()
 * marks the tag, which is one block encrypted by ECB. Both mark values only while the test seals.
 */
static const struct tr_backend *behind;
static bool sealing;

static void publishing_ctr(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                           size_t blocks, void *state)
{
    if (sealing)
        published(state, TR_BLOCK);
    tr_backend_doing(behind, TR_OP_CTR)->bulk[TR_OP_CTR](key, out, in, blocks, state);
}

static void publishing_ecb(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                           size_t blocks, void *state)
{
    const enum tr_op op = TR_OP_ECB_ENCRYPT;
    tr_backend_doing(behind, op)->bulk[op](key, out, in, blocks, state);
    if (sealing && blocks == 1)
        published(out, TR_BLOCK);
}

static struct tr_backend publishing(const struct tr_backend *b, const struct aead *a)
{
    struct tr_backend front = *b;
    behind = b;
    /* Without functions for few blocks, every call goes through the bulk operations. */
    memset(front.few, 0, sizeof(front.few));
    if (strcmp(a->name, "SIV") == 0)
        front.bulk[TR_OP_CTR] = publishing_ctr;
    if (strcmp(a->name, "GCM-SIV") == 0)
        front.bulk[TR_OP_ECB_ENCRYPT] = publishing_ecb;
    return front;
}

struct sealed {
    uint8_t key[64], iv[16], aad[40];
    uint8_t text[LONG_RUN], ciphertext[LONG_RUN], plaintext[LONG_RUN];
    uint8_t tag[16];
    struct aead_lengths n;
};

static struct sealed sealed_of(size_t key_len, size_t iv_len, size_t len)
{
    struct sealed m;
    memset(&m, 0x33, sizeof(m));
    m.n = (struct aead_lengths){
        .key = key_len, .iv = iv_len, .aad = len % 2 == 0 ? 37 : 13, .text = len, .tag = 16};
    for (size_t i = 0; i < sizeof(m.key); i++)
        m.key[i] = (uint8_t)i;
    return m;
}

/* Seals in two pieces and one-shot. In modes that stream, also decrypts, and computes the tag
 * without a check. */
static bool seal_and_open(const struct aead *a, struct aead_state *s, struct sealed *m)
{
    const size_t half = a->unit == 0 ? 0 : m->n.text / 32 * 16;
    uint8_t tag[16];
    sealing = true;
    bool good = a->start(s, m->iv, &m->n) == TR_OK && a->aad(s, m->aad, m->n.aad) == TR_OK &&
                (half == 0 || a->crypt(s, false, m->ciphertext, m->text, half, m->tag) == TR_OK) &&
                a->crypt(s, false, m->ciphertext + half, m->text + half, m->n.text - half,
                         m->tag) == TR_OK &&
                (a->end == NULL || a->end(s, false, m->tag, 16) == TR_OK);
    /* Also seals one-shot, which is separate code in GCM. */
    good &= a->whole(s, false, &m->n, m->iv, m->aad, m->plaintext, m->text, tag) == TR_OK;
    sealing = false;
    published(m->tag, 16);
    published(m->ciphertext, m->n.text);
    published(tag, 16);
    published(m->plaintext, m->n.text);
    good &= memcmp(tag, m->tag, 16) == 0 && memcmp(m->plaintext, m->ciphertext, m->n.text) == 0;
    if (a->end == NULL) /* decryption always checks the tag */
        return good;
    good &= a->start(s, m->iv, &m->n) == TR_OK && a->aad(s, m->aad, m->n.aad) == TR_OK &&
            a->crypt(s, true, m->plaintext, m->ciphertext, m->n.text, m->tag) == TR_OK &&
            a->end(s, false, tag, 16) == TR_OK;
    published(tag, 16);
    return good && memcmp(tag, m->tag, 16) == 0;
}

/* Counts the uses of secrets in the check of a valid tag, without the VERDICT branches that are
 * allowed. */
static unsigned check(const struct aead *a, struct aead_state *s, struct sealed *m, bool *right)
{
    const unsigned before = VALGRIND_COUNT_ERRORS;
    enum tr_status status =
        a->whole(s, true, &m->n, m->iv, m->aad, m->plaintext, m->ciphertext, m->tag);
    published(&status, sizeof(status));
    published(m->plaintext, m->n.text);
    *right &= status == TR_OK && memcmp(m->plaintext, m->text, m->n.text) == 0;
    const unsigned uses = VALGRIND_COUNT_ERRORS - before;
    return uses > VERDICT ? uses - VERDICT : 0;
}

static unsigned watch_aead(const struct tr_backend *b, const struct aead *a, size_t key_len,
                           size_t iv_len, size_t len, bool *right)
{
    struct sealed m = sealed_of(key_len, iv_len, len), plain = m;
    const struct tr_backend front = publishing(b, a);
    struct aead_state s;
    *right &= a->set_key(&s, b, plain.key, key_len) == TR_OK && seal_and_open(a, &s, &plain);
    const unsigned before = VALGRIND_COUNT_ERRORS;
    secret(m.key, sizeof(m.key));
    secret(m.aad, sizeof(m.aad));
    secret(m.text, sizeof(m.text));
    *right &= a->set_key(&s, &front, m.key, key_len) == TR_OK && seal_and_open(a, &s, &m);
    const unsigned uses = VALGRIND_COUNT_ERRORS - before;
    published(m.text, sizeof(m.text));
    *right &= tap_same(m.ciphertext, plain.ciphertext, len) && tap_same(m.tag, plain.tag, 16);
    return uses + check(a, &s, &m, right);
}

static unsigned watch_aeads(const struct tr_backend *b, bool *right)
{
    unsigned uses = 0;
    for (size_t i = 0; i < AEADS; i++)
        for (size_t key = all_aeads[i].key.min; key <= all_aeads[i].key.max;
             key += all_aeads[i].key.step)
            for (size_t len = 0; len < LONGEST; len += 57) {
                const struct aead *a = &all_aeads[i];
                const bool gcm = strcmp(a->name, "GCM") == 0;
                unsigned more = watch_aead(b, a, key, a->iv.usual, len, right);
                /* GCM derives J0 by GHASH from an IV of any length other than 12 bytes. */
                if (gcm)
                    more += watch_aead(b, a, key, 16, len, right);
                if (gcm && len == 0)
                    more += watch_aead(b, a, key, a->iv.usual, LONG_RUN, right) +
                            watch_aead(b, a, key, 16, LONG_RUN, right);
                if (more > 0)
                    tap_diag("%s, key of %zu bytes, %zu bytes: %u", all_aeads[i].name, key, len,
                             more);
                uses += more;
            }
    return uses;
}

/* ---- CMAC and key wrap ---------------------------------------------------------------------- */

static unsigned watch_wrap(const struct tr_backend *b, bool inverse, bool *right)
{
    uint8_t raw[32], in[24], wrapped[32], unwrapped[24];
    struct tr_aes_key key;
    memset(raw, 0x11, sizeof(raw));
    memset(in, 0x22, sizeof(in));
    secret(raw, sizeof(raw));
    secret(in, sizeof(in));
    const unsigned before = VALGRIND_COUNT_ERRORS;
    *right &= tr_aes_set_key(&key, b, raw, 32) == TR_OK &&
              tr_kw_wrap(&key, inverse, NULL, wrapped, in, 24) == TR_OK;
    const unsigned uses = VALGRIND_COUNT_ERRORS - before;
    published(wrapped, sizeof(wrapped));
    enum tr_status status = tr_kw_unwrap(&key, inverse, NULL, unwrapped, wrapped, 32);
    published(&status, sizeof(status));
    const unsigned all = VALGRIND_COUNT_ERRORS - before;
    *right &= status == TR_OK;
    return uses + (all > uses + VERDICT ? all - uses - VERDICT : 0);
}

static unsigned watch_cmac(const struct tr_backend *b, bool *right)
{
    uint8_t raw[32], in[LONGEST], tag[16];
    struct tr_cmac_key m;
    memset(raw, 0x11, sizeof(raw));
    memset(in, 0x22, sizeof(in));
    secret(raw, sizeof(raw));
    secret(in, sizeof(in));
    const unsigned before = VALGRIND_COUNT_ERRORS;
    *right &= tr_cmac_set_key(&m, b, raw, 32) == TR_OK;
    for (size_t len = 0; len < LONGEST; len += 33)
        *right &= tr_cmac_sign(&m, in, len, tag, 16) == TR_OK;
    const unsigned uses = VALGRIND_COUNT_ERRORS - before;
    published(tag, sizeof(tag));
    *right &= tr_cmac_sign(&m, in, 16, tag, 16) == TR_OK;
    published(tag, sizeof(tag));
    enum tr_status status = tr_cmac_verify(&m, in, 16, tag, 16);
    published(&status, sizeof(status));
    *right &= status == TR_OK;
    const unsigned all = VALGRIND_COUNT_ERRORS - before;
    return uses + (all > uses + VERDICT ? all - uses - VERDICT : 0);
}

/* The number of messages in each multi-buffer call, more than aesni's 8 lanes. Only the test many.c
 * checks the results. */
#define MANY 20

static unsigned watch_many(const struct tr_backend *b, bool *right)
{
    static uint8_t data[MANY][LONGEST];
    uint8_t raw[16], ivs[MANY][16];
    struct tr_stream streams[MANY];
    struct tr_cmac_job macs[MANY];
    struct tr_aes_key key;
    struct tr_cmac_key m;
    memset(raw, 0x11, sizeof(raw));
    memset(data, 0x22, sizeof(data));
    memset(ivs, 0x33, sizeof(ivs));
    secret(raw, sizeof(raw));
    secret(data, sizeof(data));
    const unsigned before = VALGRIND_COUNT_ERRORS;
    *right &= tr_aes_set_key(&key, b, raw, 16) == TR_OK && tr_cmac_set_key(&m, b, raw, 16) == TR_OK;
    for (size_t i = 0; i < MANY; i++) {
        streams[i] = (struct tr_stream){&key, ivs[i], data[i], data[i], 16 * i};
        macs[i] = (struct tr_cmac_job){.key = &m, .data = data[i], .len = 13 * i};
    }
    *right &= tr_cbc_encrypt_many(streams, MANY) == TR_OK &&
              tr_cfb128_encrypt_many(streams, MANY) == TR_OK &&
              tr_cmac_sign_many(macs, MANY) == TR_OK;
    return VALGRIND_COUNT_ERRORS - before;
}

/* Encrypts and decrypts a data unit. The data-unit number is public. */
static bool xts(const struct tr_backend *b, size_t key_len, size_t len, bool is_secret,
                uint8_t out[LONG_UNIT])
{
    uint8_t raw[64], in[LONG_UNIT], back[LONG_UNIT], number[16] = {1};
    struct tr_xts_key x;
    for (size_t i = 0; i < sizeof(raw); i++)
        raw[i] = (uint8_t)(7 * i);
    memset(in, 0x33, sizeof(in));
    if (is_secret) {
        secret(raw, sizeof(raw));
        secret(in, sizeof(in));
    }
    bool good = tr_xts_set_key(&x, b, raw, key_len) == TR_OK;
    published(&x.equal, sizeof(x.equal));
    good = good && tr_xts_encrypt(&x, number, out, in, len) == TR_OK &&
           tr_xts_decrypt(&x, number, back, out, len) == TR_OK;
    published(out, len);
    published(back, len);
    published(in, len);
    return good && tap_same(back, in, len);
}

static unsigned watch_xts(const struct tr_backend *b, bool *right)
{
    static const size_t lengths[] = {16,  17,  31,  48,  64,  100, 128,
                                     200, 256, 272, 300, 512, 700, LONG_UNIT - 3};
    uint8_t watched[LONG_UNIT], plain[LONG_UNIT];
    const unsigned before = VALGRIND_COUNT_ERRORS;
    for (size_t key_len = 32; key_len <= 64; key_len += 32)
        for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
            *right &= xts(b, key_len, lengths[i], true, watched) &&
                      xts(b, key_len, lengths[i], false, plain) &&
                      tap_same(watched, plain, lengths[i]);
    return VALGRIND_COUNT_ERRORS - before;
}

static unsigned watch(const struct tr_backend *b, bool *right)
{
    uint8_t watched[LONGEST], plain[LONGEST];
    const unsigned before = VALGRIND_COUNT_ERRORS;
    for (int m = 0; m < ALL_MODES; m++)
        for (int way = 0; way < 2; way++)
            for (size_t k = 0; k < 3; k++)
                for (size_t len = 16; len < mode_longest(all_modes[m], LONGEST);
                     len += mode_is_blocks(all_modes[m]) ? 48 : 45)
                    *right &= message(b, all_modes[m], way, key_lengths[k], len, true, watched) &&
                              message(b, all_modes[m], way, key_lengths[k], len, false, plain) &&
                              tap_same(watched, plain, len);
    *right &=
        padded(b, 55, true, watched) && padded(b, 55, false, plain) && tap_same(watched, plain, 64);
    const unsigned uses = VALGRIND_COUNT_ERRORS - before;
    return uses + watch_aeads(b, right) + watch_wrap(b, false, right) + watch_wrap(b, true, right) +
           watch_cmac(b, right) + watch_many(b, right) + watch_xts(b, right);
}

/* Shows that memcheck reports a branch and an index on a secret. */
static void test_watcher(void)
{
    static uint8_t table[256];
    volatile uint8_t hidden = 3;
    secret((void *)(uintptr_t)&hidden, 1);
    unsigned before = VALGRIND_COUNT_ERRORS;
    if (hidden & 1)
        table[0]++;
    tap_ok(VALGRIND_COUNT_ERRORS > before, "a branch on a secret is reported");
    before = VALGRIND_COUNT_ERRORS;
    ((volatile uint8_t *)table)[hidden & 0x7f] = 1;
    tap_ok(VALGRIND_COUNT_ERRORS > before, "an index derived from a secret is reported");
}

int main(void)
{
    static const char *const watched[] = {
#if !defined(__i386__) /* valgrind's 32-bit processor has no AES instructions */
        "aesni",
#endif
#if TR_WIDE_BITSLICE /* bitslice512 compiles the same code; vperm512 is not tested */
        "bitslice256",
        "vperm256",
        "bitslice128",
#endif
        "vperm",
        "bitslice"
    };
    const size_t n = sizeof(watched) / sizeof(*watched);
    tap_plan(2 + (unsigned)n);
    if (RUNNING_ON_VALGRIND == 0) {
        tap_skip(2 + (unsigned)n, NULL, "not run under valgrind");
        return tap_done();
    }
    test_watcher();
    for (size_t i = 0; i < n; i++) {
        const struct tr_backend *b = tr_backend_by_name(watched[i]);
        bool right = true;
        if (backend_skip(b, 1))
            continue;
        const unsigned errors = watch(b, &right);
        tap_ok(errors == 0 && right, "%s: %u uses of secrets that time could show", watched[i],
               errors);
    }
    return tap_done();
}
