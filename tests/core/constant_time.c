/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests that no branch and no memory index depends on a key or on data (secrets.h). Under valgrind,
 * the test runs the backends whose instructions valgrind knows. Under the tracker (crates/taint),
 * the test runs all backends that this processor can run. There it also makes each tag check with
 * two different wrong tags. Both calls must execute the same instructions and access the same
 * addresses.
 *
 *   test-constant-time [--whole] [--tuned] [BACKEND...]
 *   test-constant-time --leak
 *
 * --whole runs all lengths up to 600, which takes hours. --tuned runs only the calls that differ
 * with TENROUNDS_TUNE. --leak only branches on a secret, and uses one as an index, to show that the
 * checker reports both. Otherwise the checkers must report nothing. The modes are compiled with
 * TR_TEST_PUBLIC (core/util.h), which marks the result of each tag check as public. Code may branch
 * on such a result.
 *
 * The test does not watch the removal of correct padding, because the caller learns the length of
 * the padding. All kinds of wrong padding must execute the same instructions.
 */
#include "aead.h"
#include "secrets.h"

#define LONGEST   16500
/* Lengths of GCM texts, in bytes, for core/simd/gcm/long.h. LONG_RUN is long enough for aesni's
 * code for long messages. With TABLE_RUN, every backend uses its table of AES states. */
#define LONG_RUN  1843
#define TABLE_RUN 6211
/* Room for the data units of watch_xts(), in bytes. It suffices for core/simd/xts/long.h with
 * vectors of 128 and 512 bits. With vectors of 256 bits, xts/long.h needs the longer data units of
 * watch_long_messages(). */
#define LONG_UNIT 1600

/* The options. --whole: run all lengths up to 600 instead of some below 400. --tuned: run only the
 * calls that differ with TENROUNDS_TUNE (dispatch/tuning.h). */
static bool whole, tuned;

/* Fills memory with a value, and makes it secret. */
static void hide(void *p, int value, size_t len)
{
    memset(p, value, len);
    secret(p, len);
}

static size_t longest(void)
{
    return whole ? 601 : 400;
}

static size_t stride(size_t otherwise, size_t unit)
{
    return whole ? unit : otherwise;
}

/* Whether the backend has AES instructions and carry-less multiplication. A backend with only the
 * AES instructions shares the code of one that has both, except for GHASH. */
static bool is_fast(const struct tr_backend *b)
{
    const tr_features needed = TR_FEATURE_AES | TR_FEATURE_CLMUL;
    return (tr_backend_features(b) & needed) == needed;
}

/* Whether to test this backend less: software AES takes most of the time under the tracker. The
 * AEAD modes then have fewer lengths, and watch_messages() uses only one key size. */
static bool is_sparse(const struct tr_backend *b)
{
    return by_tracker() && !is_fast(b) && !whole;
}

/* Whether this backend has 512-bit vectors, and separate code for 1 to 4 blocks in a vector. */
static bool is_wide(const struct tr_backend *b)
{
    return (tr_backend_features(b) & TR_FEATURE_AVX512) != 0;
}

/* Encrypts or decrypts a message. watch_message() makes each call twice, and compares the outputs.
 * The second call has no secrets, and the tracker does not follow it (aside_begin()). */
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

/* SIV and GCM-SIV derive their first counter from the tag. The tag is public once it is computed
 * (TR_PUBLISH in core/util.h), so a branch on the counter is allowed. */

struct sealed {
    uint8_t key[64], iv[16], aad[40];
    uint8_t text[TABLE_RUN], ciphertext[TABLE_RUN], plaintext[TABLE_RUN];
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

/* Seals with streaming calls, and one-shot. If the mode takes data in pieces, seals a text of at
 * least 32 bytes in two pieces. For such a mode, also decrypts with streaming calls, and computes
 * the tag without checking it. */
static bool seal_and_open(const struct aead *a, struct aead_state *s, struct sealed *m)
{
    const size_t half = a->unit == 0 ? 0 : m->n.text / 32 * 16;
    uint8_t tag[16];
    bool good = a->start(s, m->iv, &m->n) == TR_OK && a->aad(s, m->aad, m->n.aad) == TR_OK &&
                (half == 0 || a->crypt(s, false, m->ciphertext, m->text, half, m->tag) == TR_OK) &&
                a->crypt(s, false, m->ciphertext + half, m->text + half, m->n.text - half,
                         m->tag) == TR_OK &&
                (a->end == NULL || a->end(s, false, m->tag, 16) == TR_OK);
    /* Also seals one-shot, which is separate code in GCM. */
    good &= a->whole(s, false, &m->n, m->iv, m->aad, m->plaintext, m->text, tag) == TR_OK;
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

/* Opens a valid message. Returns the number of uses of secrets. */
static unsigned check(const struct aead *a, struct aead_state *s, struct sealed *m, bool *right)
{
    const unsigned before = uses_of_secrets();
    enum tr_status status =
        a->whole(s, true, &m->n, m->iv, m->aad, m->plaintext, m->ciphertext, m->tag);
    published(&status, sizeof(status));
    published(m->plaintext, m->n.text);
    *right &= status == TR_OK && memcmp(m->plaintext, m->text, m->n.text) == 0;
    return uses_of_secrets() - before;
}

/* Opens a message whose tag has a flipped bit in byte `at`. Returns a hash of the addresses of all
 * executed instructions and accessed data (path_so_far()). */
__attribute__((noinline)) static uint64_t path_of_wrong_tag(const struct aead *a,
                                                            struct aead_state *s, struct sealed *m,
                                                            size_t at, bool *refused)
{
    m->tag[at] ^= 0x40;
    (void)path_so_far();
    enum tr_status status =
        a->whole(s, true, &m->n, m->iv, m->aad, m->plaintext, m->ciphertext, m->tag);
    const uint64_t path = path_so_far();
    published(&status, sizeof(status));
    published(m->plaintext, m->n.text);
    m->tag[at] ^= 0x40;
    *refused &= status == TR_ERR_TAG;
    return path;
}

/* Whether a call takes the same path for a tag with a wrong first byte as for one with a wrong last
 * byte. In SIV and GCM-SIV the first counter comes from the tag, and code may branch on a counter
 * wrap. For SIV, CTR branches on whether the counter's last byte, byte 15, wraps (simd/ctr.h). The
 * test therefore changes byte 8 of SIV's tag instead of byte 15. */
static bool same_path_for_wrong_tags(const struct aead *a, struct aead_state *s, struct sealed *m)
{
    bool refused = true;
    const uint64_t first = path_of_wrong_tag(a, s, m, 0, &refused);
    const size_t other = strcmp(a->name, "SIV") == 0 ? 8 : 15;
    const uint64_t last = path_of_wrong_tag(a, s, m, other, &refused);
    if (first != last)
        tap_diag("%s, %zu bytes: the path shows which byte of a tag is wrong", a->name, m->n.text);
    return refused && first == last;
}

/* Seals without secrets. */
__attribute__((noinline)) static bool seal_aside(const struct tr_backend *b, const struct aead *a,
                                                 struct aead_state *s, struct sealed *plain)
{
    aside_begin();
    bool good = a->set_key(s, b, plain->key, plain->n.key) == TR_OK && seal_and_open(a, s, plain);
    aside_end();
    return good;
}

static unsigned watch_aead(const struct tr_backend *b, const struct aead *a, size_t key_len,
                           size_t iv_len, size_t len, bool *right)
{
    struct sealed m = sealed_of(key_len, iv_len, len), plain = m;
    struct aead_state s;
    *right &= seal_aside(b, a, &s, &plain);
    const unsigned before = uses_of_secrets();
    secret(m.key, sizeof(m.key));
    secret(m.aad, sizeof(m.aad));
    secret(m.text, sizeof(m.text));
    *right &= a->set_key(&s, b, m.key, key_len) == TR_OK && seal_and_open(a, &s, &m);
    const unsigned uses = uses_of_secrets() - before;
    published(m.text, sizeof(m.text));
    *right &= tap_same(m.ciphertext, plain.ciphertext, len) && tap_same(m.tag, plain.tag, 16);
    const unsigned all = uses + check(a, &s, &m, right);
    return all + (same_path_for_wrong_tags(a, &s, &m) ? 0 : 1);
}

/* Returns the step between text lengths. Under the tracker, the step is small for GCM with AES
 * instructions, which has separate code for each number of blocks and each tail. The caller sets
 * `gcm` for 128-bit keys only. */
static size_t aead_stride(const struct tr_backend *b, bool gcm)
{
    if (is_sparse(b))
        return 114;
    return gcm && by_tracker() && is_fast(b) ? stride(5, 1) : stride(57, 1);
}

static unsigned watch_aeads(const struct tr_backend *b, bool *right)
{
    unsigned uses = 0;
    for (size_t i = 0; i < AEADS; i++) {
        const bool gcm = strcmp(all_aeads[i].name, "GCM") == 0;
        for (size_t key = all_aeads[i].key.min; key <= all_aeads[i].key.max;
             key += all_aeads[i].key.step)
            for (size_t len = 0; len < longest(); len += aead_stride(b, gcm && key == 16)) {
                const struct aead *a = &all_aeads[i];
                unsigned more = watch_aead(b, a, key, a->iv.usual, len, right);
                /* GCM derives J0 by GHASH from an IV of any length other than 12 bytes. */
                if (gcm)
                    more += watch_aead(b, a, key, 16, len, right);
                const size_t run = key == 16 && is_fast(b) ? TABLE_RUN : LONG_RUN;
                if (gcm && len == 0)
                    more += watch_aead(b, a, key, a->iv.usual, run, right) +
                            watch_aead(b, a, key, 16, run, right);
                if (more > 0)
                    tap_diag("%s, key of %zu bytes, text of %zu bytes: %u uses of secrets",
                             all_aeads[i].name, key, len, more);
                uses += more;
            }
    }
    return uses;
}

/* Seals and opens a message one-shot, and streaming in pieces that end within blocks. AAD, text and
 * tag have unusual lengths, and so has the IV where the mode allows it. */
static bool odd_shape(const struct aead *a, struct aead_state *s, size_t i)
{
    static uint8_t aad[48], text[96], sealed[96], opened[96];
    static const uint8_t iv[16] = {5};
    const size_t tags = (16 - a->tag_min) / a->tag_step + 1;
    const struct aead_lengths n = {.key = 16,
                                   .iv = i % 4 == 0       ? a->iv.usual
                                         : a->iv.max < 16 ? a->iv.max
                                                          : 16,
                                   .aad = i,
                                   .text = i * 7 % 80,
                                   .tag = a->tag_min + i % tags * a->tag_step};
    const size_t first = a->unit == 0 ? 0 : n.text / 3 / a->unit * a->unit;
    const size_t aad_first = a->aad_in_one_call ? 0 : i / 3;
    uint8_t tag[16];
    hide(aad, 0x44, sizeof(aad));
    hide(text, 0x55, sizeof(text));
    bool good = a->whole(s, false, &n, iv, aad, sealed, text, tag) == TR_OK;
    published(tag, sizeof(tag));
    published(sealed, sizeof(sealed));
    enum tr_status status = a->whole(s, true, &n, iv, aad, opened, sealed, tag);
    published(&status, sizeof(status));
    good &= status == TR_OK;
    for (int decrypt = 0; a->end != NULL && decrypt < 2; decrypt++) {
        good &= a->start(s, iv, &n) == TR_OK &&
                (aad_first == 0 || a->aad(s, aad, aad_first) == TR_OK) &&
                a->aad(s, aad + aad_first, n.aad - aad_first) == TR_OK &&
                a->crypt(s, decrypt, opened, decrypt ? sealed : text, first, tag) == TR_OK &&
                a->crypt(s, decrypt, opened + first, (decrypt ? sealed : text) + first,
                         n.text - first, tag) == TR_OK;
        status = a->end(s, decrypt, tag, n.tag);
        published(&status, sizeof(status));
        published(tag, sizeof(tag));
        good &= status == TR_OK;
    }
    return good;
}

static unsigned watch_odd_shapes(const struct tr_backend *b, bool *right)
{
    const unsigned before = uses_of_secrets();
    for (size_t m = 0; m < AEADS; m++) {
        static struct aead_state s;
        uint8_t raw[64];
        for (size_t i = 0; i < sizeof(raw); i++)
            raw[i] = (uint8_t)(3 * i);
        secret(raw, sizeof(raw));
        *right &= all_aeads[m].set_key(&s, b, raw, all_aeads[m].key.min) == TR_OK;
        for (size_t i = 0; i < 48; i += is_sparse(b) ? 7 : 1)
            *right &= odd_shape(&all_aeads[m], &s, i);
    }
    return uses_of_secrets() - before;
}

/* Makes calls that must be refused: wrong lengths of IV and tag, partial overlap, unset key. */
static bool refuses(const struct aead *a, struct aead_state *s)
{
    static struct aead_state unset;
    static const uint8_t iv[16] = {5};
    static uint8_t text[96], out[96];
    uint8_t tag[16] = {0};
    struct aead_lengths n = {.key = 16, .iv = a->iv.usual, .aad = 20, .text = 40, .tag = 16}, bad;
    hide(text, 0x55, sizeof(text));
    bool good = true;
    for (int decrypt = 0; decrypt < 2; decrypt++) {
        bad = n;
        bad.iv = a->iv.max < 16 ? a->iv.max + 1 : 0;
        /* The calls of SIV and GCM-SIV take no IV length. */
        good &= a->end == NULL ||
                a->whole(s, decrypt, &bad, iv, text, out, text, tag) == TR_ERR_IV_LENGTH;
        bad = n;
        bad.tag = 17;
        good &= a->tag_min == 16 ||
                a->whole(s, decrypt, &bad, iv, text, out, text, tag) == TR_ERR_TAG_LENGTH;
        good &= a->whole(s, decrypt, &n, iv, text, text + 8, text, tag) == TR_ERR_OVERLAP;
        good &= a->whole(&unset, decrypt, &n, iv, text, out, text, tag) == TR_ERR_STATE;
    }
    return good;
}

static unsigned watch_refusals(const struct tr_backend *b, bool *right)
{
    static uint8_t in[64];
    struct tr_aes_key key, unset;
    uint8_t raw[64];
    for (size_t i = 0; i < sizeof(raw); i++)
        raw[i] = (uint8_t)(3 * i);
    memset(&unset, 0, sizeof(unset));
    secret(raw, sizeof(raw));
    hide(in, 0x22, sizeof(in));
    const unsigned before = uses_of_secrets();
    *right &= tr_aes_set_key(&key, b, raw, 17) == TR_ERR_KEY_LENGTH &&
              tr_aes_set_key(&key, b, raw, 16) == TR_OK;
    for (int m = 0; m < ALL_MODES; m++)
        for (int way = 0; way < 2; way++) {
            const enum tr_mode mode = all_modes[m];
            struct position p = {.used = 0};
            *right &= mode_run(&key, mode, way, &p, in + 3, in, 48) == TR_ERR_OVERLAP;
            if (mode != TEST_XTS)
                *right &= mode_run(&unset, mode, way, &p, in, in, 48) == TR_ERR_STATE;
            if (mode_is_blocks(mode))
                *right &= mode_run(&key, mode, way, &p, in, in, 17) == TR_ERR_LENGTH;
        }
    static struct tr_xts_key x, no_xts;
    static const uint8_t number[16] = {1};
    *right &= tr_xts_set_key(&x, b, raw, 48) == TR_ERR_KEY_LENGTH &&
              tr_xts_set_key(&x, b, raw, 32) == TR_OK;
    for (int way = 0; way < 2; way++) {
        enum tr_status (*units)(const struct tr_xts_key *, const uint8_t *, uint8_t *,
                                const uint8_t *, size_t, size_t) =
            way ? tr_xts_decrypt_units : tr_xts_encrypt_units;
        *right &= units(&x, number, in, in, 15, 2) == TR_ERR_LENGTH &&
                  units(&x, number, in + 3, in, 20, 3) == TR_ERR_OVERLAP &&
                  units(&no_xts, number, in, in, 20, 3) == TR_ERR_STATE;
    }
    for (size_t m = 0; m < AEADS; m++) {
        static struct aead_state s;
        *right &= all_aeads[m].set_key(&s, b, raw, 17) == TR_ERR_KEY_LENGTH &&
                  all_aeads[m].set_key(&s, b, raw, all_aeads[m].key.min) == TR_OK &&
                  refuses(&all_aeads[m], &s);
    }
    return uses_of_secrets() - before;
}

/* Encrypts and decrypts with struct tr_cipher in pieces that end within blocks. */
static unsigned watch_pieces(const struct tr_backend *b, bool *right)
{
    static const size_t pieces[] = {0, 5, 11, 1, 33, 16, 15, 64, 7};
    static uint8_t in[160], out[192];
    uint8_t raw[16], iv[16] = {1};
    struct tr_aes_key key;
    memset(in, 0x22, sizeof(in));
    hide(raw, 0x11, sizeof(raw));
    const unsigned before = uses_of_secrets();
    *right &= tr_aes_set_key(&key, b, raw, sizeof(raw)) == TR_OK;
    for (unsigned i = 0; i < MODES * 4; i++) {
        const bool padded = i & 2;
        struct tr_cipher c;
        size_t done = 0, n = 0, last = 0;
        secret(in, sizeof(in));
        *right &= tr_cipher_start(&c, &key, all_modes[i / 4], i & 1, padded, iv) == TR_OK;
        for (size_t k = 0; k < sizeof(pieces) / sizeof(*pieces); k++) {
            *right &= tr_cipher_update(&c, out + n, &last, in + done, pieces[k]) == TR_OK;
            n += last;
            done += pieces[k];
        }
        /* 152 bytes are not whole blocks: ECB and CBC accept them only to encrypt with padding. */
        enum tr_status status = tr_cipher_final(&c, out + n, &last);
        published(&status, sizeof(status));
        const bool refused = mode_is_blocks(all_modes[i / 4]) && (!padded || (i & 1));
        *right &= status == (refused ? TR_ERR_LENGTH : TR_OK);
    }
    return uses_of_secrets() - before;
}

/* ---- Key wrap and CMAC ---------------------------------------------------------------------- */

/* A key or a text to wrap, its wrapped form, and the result of unwrapping. */
struct wrapping {
    struct tr_aes_key key;
    uint8_t in[40], wrapped[48], out[40];
    size_t len, wrapped_len, out_len;
    bool inverse, padded; /* padded: KWP */
};

/* Unwraps with the given integrity check value. Returns a hash of the path. */
__attribute__((noinline)) static uint64_t unwrap(struct wrapping *w, const uint8_t *icv,
                                                 enum tr_status *status)
{
    (void)path_so_far();
    *status = w->padded
                  ? tr_kwp_unwrap(&w->key, w->inverse, icv, w->out, &w->out_len, w->wrapped,
                                  w->wrapped_len)
                  : tr_kw_unwrap(&w->key, w->inverse, icv, w->out, w->wrapped, w->wrapped_len);
    const uint64_t path = path_so_far();
    published(status, sizeof(*status));
    published(w->out, sizeof(w->out));
    return path;
}

/* The integrity check values of KW, and of KWP for a text of 20 bytes (SP 800-38F section 6). In
 * KWP, the last 4 bytes are the length of the text. */
static const uint8_t kw_icv[8] = {0xa6, 0xa6, 0xa6, 0xa6, 0xa6, 0xa6, 0xa6, 0xa6},
                     kwp_icv[8] = {0xa6, 0x59, 0x59, 0xa6, 0, 0, 0, 20};

/* Whether unwrapping takes the same path for each error. One error is a wrong first or last byte of
 * the constant in the integrity check value. KWP has more: a length that is too short or too long,
 * and padding that is not zero. tr_kw_wrap() makes the input for KWP, too: it takes any integrity
 * check value. */
static bool same_path_for_wrong_wraps(struct wrapping *w)
{
    uint64_t path[5];
    const unsigned n = w->padded ? 5 : 2;
    bool refused = true;
    for (unsigned i = 0; i < n; i++) {
        uint8_t icv[8];
        enum tr_status status;
        memcpy(icv, w->padded ? kwp_icv : kw_icv, 8);
        if (i < 2)
            icv[i == 0 ? 0 : w->padded ? 3 : 7] ^= 0x40;
        else if (i < 4)
            icv[7] = i == 2 ? 16 : 25;
        /* In KWP, the length 20 makes the last 4 of 24 bytes padding. They are not zero. */
        refused &= tr_kw_wrap(&w->key, w->inverse, icv, w->wrapped, w->in, 24) == TR_OK;
        published(w->wrapped, sizeof(w->wrapped));
        w->wrapped_len = 32;
        path[i] = unwrap(w, NULL, &status);
        refused &= status == TR_ERR_TAG;
    }
    for (unsigned i = 1; i < n; i++)
        if (path[i] != path[0]) {
            tap_diag("%s: the path shows why unwrapping fails (%u)", w->padded ? "KWP" : "KW", i);
            return false;
        }
    return refused;
}

/* Wraps and unwraps texts of some lengths, and counts the uses of secrets. */
static unsigned watch_wrap(const struct tr_backend *b, size_t key_len, bool inverse, bool padded,
                           bool *right)
{
    struct wrapping w = {.inverse = inverse, .padded = padded};
    uint8_t raw[32], plain[40];
    const size_t step = stride(padded ? 11 : 8, padded ? 1 : 8);
    memset(plain, 0x22, sizeof(plain));
    hide(raw, 0x11, sizeof(raw));
    const unsigned before = uses_of_secrets();
    *right &= tr_aes_set_key(&w.key, b, raw, key_len) == TR_OK;
    for (w.len = padded ? 8 : 16; w.len <= (whole ? 40 : 24); w.len += step) {
        enum tr_status status;
        memcpy(w.in, plain, sizeof(w.in));
        secret(w.in, sizeof(w.in));
        *right &= (padded ? tr_kwp_wrap : tr_kw_wrap)(&w.key, inverse, NULL, w.wrapped, w.in,
                                                      w.len) == TR_OK;
        published(w.wrapped, sizeof(w.wrapped));
        w.wrapped_len = (w.len + 7) / 8 * 8 + 8;
        (void)unwrap(&w, NULL, &status);
        *right &=
            status == TR_OK && memcmp(w.out, plain, w.len) == 0 && (!padded || w.out_len == w.len);
    }
    return uses_of_secrets() - before + (same_path_for_wrong_wraps(&w) ? 0 : 1);
}

/* Checks a tag with a one-shot or streaming call. Returns a hash of the path. */
__attribute__((noinline)) static uint64_t path_of_cmac(const struct tr_cmac_key *m, bool streaming,
                                                       const uint8_t *in, size_t len,
                                                       const uint8_t tag[16],
                                                       enum tr_status *status)
{
    struct tr_cmac c;
    (void)path_so_far();
    if (streaming) {
        *status = tr_cmac_start(&c, m);
        if (*status == TR_OK)
            *status = tr_cmac_update(&c, in, len / 2);
        if (*status == TR_OK)
            *status = tr_cmac_update(&c, in + len / 2, len - len / 2);
        if (*status == TR_OK)
            *status = tr_cmac_check(&c, tag, 16);
    } else {
        *status = tr_cmac_verify(m, in, len, tag, 16);
    }
    const uint64_t path = path_so_far();
    published(status, sizeof(*status));
    return path;
}

static unsigned watch_cmac(const struct tr_backend *b, size_t key_len, bool *right)
{
    uint8_t raw[32], in[600], tag[16];
    struct tr_cmac_key m;
    hide(raw, 0x11, sizeof(raw));
    hide(in, 0x22, sizeof(in));
    const unsigned before = uses_of_secrets();
    unsigned differing = 0;
    *right &= tr_cmac_set_key(&m, b, raw, key_len) == TR_OK;
    for (size_t len = 0; key_len == 16 && len < 34; len++) {
        *right &= tr_cmac_sign(&m, in, len, tag, 1 + len % 16) == TR_OK &&
                  tr_cmac_sign(&m, in, len, tag, 17) == TR_ERR_TAG_LENGTH &&
                  tr_cmac_verify(&m, in, len, tag, 0) == TR_ERR_TAG_LENGTH;
        published(tag, sizeof(tag));
        enum tr_status status = tr_cmac_verify(&m, in, len, tag, 1 + len % 16);
        published(&status, sizeof(status));
        *right &= status == TR_OK;
    }
    for (size_t len = 0; len < longest(); len += stride(is_sparse(b) ? 99 : 33, 1)) {
        *right &= tr_cmac_sign(&m, in, len, tag, 16) == TR_OK;
        published(tag, sizeof(tag));
        for (unsigned way = 0; way < 2; way++) {
            enum tr_status status;
            (void)path_of_cmac(&m, way, in, len, tag, &status);
            *right &= status == TR_OK;
            tag[0] ^= 1;
            const uint64_t path = path_of_cmac(&m, way, in, len, tag, &status);
            *right &= status == TR_ERR_TAG;
            tag[0] ^= 1;
            tag[15] ^= 0x80;
            differing += path_of_cmac(&m, way, in, len, tag, &status) != path;
            *right &= status == TR_ERR_TAG;
            tag[15] ^= 0x80;
        }
    }
    if (differing != 0)
        tap_diag("CMAC: the path shows which byte of a tag is wrong");
    return uses_of_secrets() - before + differing;
}

/* ---- Calls for many messages and data units ------------------------------------------------- */

/* A number of messages for multi-buffer calls. It exceeds aesni's 8 lanes. */
#define MANY 20
/* More messages than any backend has lanes. */
#define MOST 40

/* Makes the first calls of many jobs without secrets. These also run known-answer tests, whose data
 * is public. */
__attribute__((noinline)) static bool many_without_secrets(const struct tr_backend *b)
{
    static uint8_t data[MANY][400], ivs[MANY][16];
    static struct tr_stream streams[MANY];
    static struct tr_aes_key key;
    static struct tr_mask_job masks[MANY];
    static const uint8_t raw[16] = {1};
    aside_begin();
    bool good = tr_aes_set_key(&key, b, raw, 16) == TR_OK;
    for (size_t i = 0; i < MANY; i++) {
        streams[i] = (struct tr_stream){&key, ivs[i], data[i], data[i], 16 * i};
        masks[i] = (struct tr_mask_job){&key, data[i], data[i]};
    }
    good =
        good && tr_cbc_encrypt_many(streams, MANY) == TR_OK && tr_ecb_masks(masks, MANY) == TR_OK;
    aside_end();
    return good;
}

/* The number of messages of a call, and their lengths in blocks (blocks_of()). The calls differ in
 * the width that the backends choose, in refills of lanes and in partial batches. They also differ
 * in how many messages are left at the end (simd/multibuffer/multibuffer.h). */
static const struct group {
    size_t messages, blocks[2]; /* the shortest length, and the number of different lengths */
} groups[] = {{MANY, {0, 20}}, {24, {25, 1}}, {24, {16, 1}},
              {MOST, {3, 17}}, {5, {22, 3}},  {10, {8, 1}}};

static size_t blocks_of(const struct group *g, size_t i)
{
    return g->blocks[0] + 7 * i % g->blocks[1];
}

/* Makes multi-buffer calls of three modes. Message i has key i % count. */
static void call_many(const struct group *g, struct tr_aes_key *keys, struct tr_cmac_key *cmacs,
                      size_t count, bool *right)
{
    static uint8_t data[MOST][448], ivs[MOST][16];
    static struct tr_stream streams[MOST];
    static struct tr_cmac_job macs[MOST];
    memset(ivs, 0x33, sizeof(ivs));
    hide(data, 0x22, sizeof(data));
    for (size_t i = 0; i < g->messages; i++) {
        const size_t n = blocks_of(g, i);
        streams[i] = (struct tr_stream){&keys[i % count], ivs[i], data[i], data[i], 16 * n};
        macs[i] = (struct tr_cmac_job){
            .key = &cmacs[i % count], .data = data[i], .len = 16 * n + i % 3 * 7};
    }
    *right &= tr_cbc_encrypt_many(streams, g->messages) == TR_OK &&
              tr_cfb128_encrypt_many(streams, g->messages) == TR_OK &&
              tr_cmac_sign_many(macs, g->messages) == TR_OK;
}

/* Returns the number of uses of secrets in multi-buffer calls. In some calls, the messages have one
 * key object. In the others, they have three, two of which hold the same key. Code may branch on
 * the equality of keys, which is public (tr_shared_key()). many.c checks the results. */
static unsigned watch_many(const struct tr_backend *b, size_t key_len, bool *right)
{
    static struct tr_aes_key keys[3];
    static struct tr_cmac_key cmacs[3];
    uint8_t raw[2][32];
    memset(raw[0], 0x11, sizeof(raw[0]));
    memset(raw[1], 0x12, sizeof(raw[1]));
    secret(raw, sizeof(raw));
    const unsigned before = uses_of_secrets();
    for (unsigned k = 0; k < 3; k++)
        *right &= tr_aes_set_key(&keys[k], b, raw[k == 2], key_len) == TR_OK &&
                  tr_cmac_set_key(&cmacs[k], b, raw[k == 2], key_len) == TR_OK;
    for (size_t i = 0; i < (by_tracker() && is_fast(b) ? sizeof(groups) / sizeof(*groups) : 1);
         i++) {
        call_many(&groups[i], keys, cmacs, 3, right);
        if (is_fast(b))
            call_many(&groups[i], keys, cmacs, 1, right);
    }
    return uses_of_secrets() - before;
}

/* Opens the messages. Returns a hash of the path. */
__attribute__((noinline)) static uint64_t open_many(struct tr_ccm_job *jobs, enum tr_status *status)
{
    (void)path_so_far();
    *status = tr_ccm_open_many(jobs, MANY);
    const uint64_t path = path_so_far();
    published(status, sizeof(*status));
    return path;
}

/* Seals and opens many CCM messages, also with a wrong tag among them. */
static unsigned watch_ccm_many(const struct tr_backend *b, size_t key_len, bool *right)
{
    static uint8_t data[MANY][300], sealed[MANY][300], opened[MANY][300], tags[MANY][16];
    static const uint8_t nonce[12] = {7};
    static struct tr_ccm_job jobs[MANY];
    uint8_t raw[32];
    struct tr_ccm_key key;
    enum tr_status status;
    hide(raw, 0x11, sizeof(raw));
    hide(data, 0x22, sizeof(data));
    const unsigned before = uses_of_secrets();
    *right &= tr_ccm_set_key(&key, b, raw, key_len) == TR_OK;
    for (size_t i = 0; i < MANY; i++)
        jobs[i] = (struct tr_ccm_job){.key = &key,
                                      .nonce = nonce,
                                      .nonce_len = 12,
                                      .aad = data[0],
                                      .aad_len = i,
                                      .out = sealed[i],
                                      .in = data[i],
                                      .len = 15 * i,
                                      .tag = tags[i],
                                      .tag_len = 16};
    *right &= tr_ccm_seal_many(jobs, MANY) == TR_OK;
    published(sealed, sizeof(sealed));
    published(tags, sizeof(tags));
    for (size_t i = 0; i < MANY; i++) {
        jobs[i].in = sealed[i];
        jobs[i].out = opened[i];
    }
    (void)open_many(jobs, &status);
    *right &= status == TR_OK;
    published(data, sizeof(data));
    published(opened, sizeof(opened));
    for (size_t i = 0; i < MANY; i++)
        *right &= memcmp(opened[i], data[i], 15 * i) == 0;
    tags[MANY / 2][0] ^= 1;
    const uint64_t path = open_many(jobs, &status);
    *right &= status == TR_ERR_TAG;
    tags[MANY / 2][0] ^= 1;
    tags[MANY / 2][15] ^= 1;
    const bool same = open_many(jobs, &status) == path;
    *right &= status == TR_ERR_TAG;
    if (!same)
        tap_diag("CCM, many messages: the path shows which byte of a tag is wrong");
    return uses_of_secrets() - before + (same ? 0 : 1);
}

/* Two groups of 16 messages of one block, and one of four. */
#define GCM_MANY 36

/* Opens the messages. Returns a hash of the path. */
__attribute__((noinline)) static uint64_t open_gcm(struct tr_gcm_job *jobs, enum tr_status *status)
{
    (void)path_so_far();
    *status = tr_gcm_open_many(jobs, GCM_MANY);
    const uint64_t path = path_so_far();
    published(status, sizeof(*status));
    return path;
}

/* Seals and opens GCM messages of one length under one key, or if own_keys under two, also with a
 * wrong tag among them. Returns 1 if the path shows which byte of the tag is wrong. */
static unsigned watch_gcm_many(const struct tr_gcm_key *key, bool own_keys, size_t len,
                               size_t aad_len, bool *right)
{
    static struct tr_gcm_key copy;
    static uint8_t data[2048], sealed[GCM_MANY][2048], opened[GCM_MANY][2048], tags[GCM_MANY][16];
    static const uint8_t iv[12] = {7};
    static struct tr_gcm_job jobs[GCM_MANY];
    enum tr_status status;
    copy = *key;
    hide(data, 0x22, sizeof(data));
    for (size_t i = 0; i < GCM_MANY; i++)
        jobs[i] = (struct tr_gcm_job){own_keys && i % 2 != 0 ? &copy : key,
                                      iv,
                                      12,
                                      data,
                                      aad_len,
                                      sealed[i],
                                      data,
                                      len,
                                      tags[i],
                                      16,
                                      TR_OK};
    *right &= tr_gcm_seal_many(jobs, GCM_MANY) == TR_OK;
    published(sealed, sizeof(sealed));
    published(tags, sizeof(tags));
    for (size_t i = 0; i < GCM_MANY; i++) {
        jobs[i].in = sealed[i];
        jobs[i].out = opened[i];
    }
    (void)open_gcm(jobs, &status);
    *right &= status == TR_OK;
    published(data, sizeof(data));
    published(opened, sizeof(opened));
    for (size_t i = 0; i < GCM_MANY; i++)
        *right &= memcmp(opened[i], data, len) == 0;
    uint8_t *const forged = tags[len % GCM_MANY]; /* in any quad and lane */
    forged[0] ^= 1;
    const uint64_t path = open_gcm(jobs, &status);
    *right &= status == TR_ERR_TAG;
    forged[0] ^= 1;
    forged[15] ^= 1;
    const bool same = open_gcm(jobs, &status) == path;
    *right &= status == TR_ERR_TAG;
    if (!same)
        tap_diag("GCM, many messages: the path shows which byte of a tag is wrong");
    return same ? 0 : 1;
}

/* Watches many GCM messages of several lengths, and masks of header protection. Messages of
 * one block have separate code for groups of 16 and of four. So have one vector, and odd and even
 * numbers of vectors (simd/gcm/many.h). */
static unsigned watch_short_jobs(const struct tr_backend *b, size_t key_len, bool *right)
{
    static const struct {
        size_t text, aad;
        bool own_keys;
    } lengths[] = {{64, 13, false},  {5, 0, false},    {16, 20, false},  {100, 64, false},
                   {128, 16, false}, {191, 20, false}, {192, 7, false},  {300, 33, false},
                   {333, 40, false}, {1234, 0, false}, {2048, 1, false}, {9, 0, true},
                   {16, 13, true},   {12, 64, true},   {3, 13, false},   {16, 0, false},
                   {14, 40, false},  {10, 64, false},  {15, 7, false}};
    static uint8_t samples[MANY][16], masks[MANY][16];
    struct tr_mask_job jobs[MANY];
    struct tr_gcm_key key;
    uint8_t raw[32];
    hide(raw, 0x11, sizeof(raw));
    const unsigned before = uses_of_secrets();
    unsigned differing = 0;
    *right &= tr_gcm_set_key(&key, b, raw, key_len) == TR_OK;
    const size_t count = is_sparse(b) ? 1 : sizeof(lengths) / sizeof(*lengths);
    for (size_t i = 0; i < count; i++)
        differing +=
            watch_gcm_many(&key, lengths[i].own_keys, lengths[i].text, lengths[i].aad, right);
    const struct tr_gcm_key copy = key;
    for (int own_keys = 0; own_keys < 2; own_keys++) {
        for (size_t i = 0; i < MANY; i++)
            jobs[i] = (struct tr_mask_job){own_keys && i % 2 != 0 ? &copy.aes : &key.aes,
                                           samples[i], masks[i]};
        secret(samples, sizeof(samples));
        *right &= tr_ecb_masks(jobs, MANY) == TR_OK;
        published(masks, sizeof(masks));
    }
    return uses_of_secrets() - before + differing;
}

/* Encrypts and decrypts several data units in one call. */
static unsigned watch_units(const struct tr_backend *b, size_t key_len, bool *right)
{
    static const size_t lengths[] = {16, 33, 64, 512}, counts[] = {1, 3, 9};
    static uint8_t in[9 * 512], out[9 * 512], back[9 * 512];
    const size_t n = is_sparse(b) ? 2 : 4;
    uint8_t raw[64], number[16] = {0xff};
    struct tr_xts_key x;
    for (size_t i = 0; i < sizeof(raw); i++)
        raw[i] = (uint8_t)(7 * i);
    memset(in, 0x33, sizeof(in));
    secret(raw, sizeof(raw));
    const unsigned before = uses_of_secrets();
    *right &= tr_xts_set_key(&x, b, raw, key_len) == TR_OK;
    for (size_t i = 0; i < n * 3; i++) {
        const size_t len = lengths[i / 3], units = counts[i % 3];
        secret(in, sizeof(in));
        *right &= tr_xts_encrypt_units(&x, number, out, in, len, units) == TR_OK &&
                  tr_xts_decrypt_units(&x, number, back, out, len, units) == TR_OK;
        published(in, sizeof(in));
        published(back, sizeof(back));
        *right &= memcmp(back, in, len * units) == 0;
    }
    published(out, sizeof(out));
    return uses_of_secrets() - before;
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
    bool good = tr_xts_set_key(&x, b, raw, key_len) == TR_OK &&
                tr_xts_encrypt(&x, number, out, in, len) == TR_OK &&
                tr_xts_decrypt(&x, number, back, out, len) == TR_OK;
    /* Marks whole buffers, because memcmp() may also read bytes after the first `len`. */
    published(out, LONG_UNIT);
    published(back, sizeof(back));
    published(in, sizeof(in));
    return good && tap_same(back, in, len);
}

__attribute__((noinline)) static bool watch_unit(const struct tr_backend *b, size_t key_len,
                                                 size_t len)
{
    uint8_t watched[LONG_UNIT], plain[LONG_UNIT];
    bool right = xts(b, key_len, len, true, watched);
    aside_begin();
    right = right && xts(b, key_len, len, false, plain) && tap_same(watched, plain, len);
    aside_end();
    return right;
}

/* Returns a copy of the backend without whole calls except those of few blocks
 * (dispatch/backend.h). The modes then use bulk operations and the functions for few blocks. Hosts
 * run that code, too: counting tables (dispatch/counting.c) lack these functions, and calls for
 * several data units do not use xts_unit. */
static struct tr_backend by_operations(const struct tr_backend *b)
{
    struct tr_backend table = *b;
    memset(table.whole.more, 0, sizeof(table.whole.more));
    memset(table.whole.xts_unit, 0, sizeof(table.whole.xts_unit));
    table.whole.cts_decrypt = NULL;
    table.whole.cfb_decrypt = NULL;
    memset(table.whole.gcm, 0, sizeof(table.whole.gcm));
    return table;
}

static bool has_whole_calls(const struct tr_backend *b)
{
    return b->whole.xts_unit[0] != NULL || b->whole.xts_unit[1] != NULL ||
           b->whole.cts_decrypt != NULL || b->whole.cfb_decrypt != NULL ||
           b->whole.gcm[0][TR_GCM_ANY] != NULL;
}

static unsigned watch_xts(const struct tr_backend *b, bool *right)
{
    static const size_t lengths[] = {16,  17,  31,  48,  64,  100, 128,
                                     200, 256, 272, 300, 512, 700, LONG_UNIT - 3};
    const unsigned before = uses_of_secrets();
    for (size_t key_len = 32; key_len <= 64; key_len += 32) {
        for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
            *right &= watch_unit(b, key_len, lengths[i]);
        for (size_t len = 16; whole && len < longest(); len++)
            *right &= watch_unit(b, key_len, len);
        for (size_t n = 1; by_tracker() && is_fast(b) && n <= 40; n++)
            *right &= watch_unit(b, key_len, 16 * n) && watch_unit(b, key_len, 16 * n + n % 15 + 1);
    }
    return uses_of_secrets() - before;
}

__attribute__((noinline)) static void watch_message(const struct tr_backend *b, enum tr_mode mode,
                                                    bool decrypt, size_t key_len, size_t len,
                                                    bool *right)
{
    static uint8_t watched[LONGEST], plain[LONGEST];
    *right &= message(b, mode, decrypt, key_len, len, true, watched);
    aside_begin();
    *right &=
        message(b, mode, decrypt, key_len, len, false, plain) && tap_same(watched, plain, len);
    aside_end();
}

/* Watches messages long enough for every loop over groups of blocks. In ECB and CFB, aesni's
 * longest groups need calls of 256 blocks (LONG_GROUP_FROM). message() makes two calls, so these
 * groups need a message of 2 * 256 * 16 bytes: the one of 8416. The longest message is for
 * core/simd/ctr_states.h. Only the tracker runs this, because valgrind would take minutes. */
static void watch_long_messages(const struct tr_backend *b, enum tr_mode mode, bool *right)
{
    static const size_t lengths[] = {688, 1040, 2096, 4176, 8416, 16400};
    const size_t n = !is_fast(b)                           ? 2
                     : mode == TR_CTR                      ? 6
                     : mode == TR_ECB || mode == TR_CFB128 ? 5
                                                           : 4;
    for (int way = 0; way < 2; way++)
        for (size_t i = 0; i < n; i++)
            if (lengths[i] < mode_longest(mode, LONGEST))
                watch_message(b, mode, way, 16, lengths[i], right);
}

/* Watches calls of each number of blocks up to 40, with and without a tail. After the loops, wide
 * vectors have separate code for each number of blocks. In most modes, message() makes two calls,
 * so a message has twice as many blocks. */
static void watch_block_counts(const struct tr_backend *b, enum tr_mode mode, bool *right)
{
    const size_t calls = mode_is_whole(mode) ? 1 : 2;
    for (int way = 0; way < 2; way++)
        for (size_t k = 0; k < (is_fast(b) ? 3 : 1); k++)
            for (size_t n = 1; n <= 40; n += k == 0 ? 1 : 3)
                for (size_t tail = 0; tail < (mode_is_blocks(mode) ? 1 : 2); tail++) {
                    const size_t len = calls * 16 * n + tail * (n % 15 + 1);
                    if (len < mode_longest(mode, LONGEST))
                        watch_message(b, mode, way, key_lengths[k], len, right);
                }
}

static void watch_messages(const struct tr_backend *b, bool *right)
{
    for (int m = 0; m < ALL_MODES; m++) {
        const enum tr_mode mode = all_modes[m];
        const size_t step = mode_is_blocks(mode) ? stride(48, 16) : stride(45, 1);
        for (int way = 0; way < 2; way++)
            for (size_t k = 0; k < (is_sparse(b) ? 1 : 3); k++) {
                /* Below a block: all lengths if `whole`, else a few for the first key size. */
                const size_t first = mode_is_whole(mode) || mode_is_blocks(mode) ? 16 : 0;
                for (size_t len = first; len < 16 && (whole || k == 0); len += stride(7, 1))
                    watch_message(b, mode, way, key_lengths[k], len, right);
                for (size_t len = 16; len < mode_longest(mode, longest()); len += step)
                    watch_message(b, mode, way, key_lengths[k], len, right);
            }
        if (by_tracker())
            watch_long_messages(b, mode, right);
        if (by_tracker() && (is_fast(b) || (is_wide(b) && mode <= TR_CTR && mode != TR_OFB)))
            watch_block_counts(b, mode, right);
    }
}

static void watch_padded(const struct tr_backend *b, bool *right)
{
    uint8_t watched[LONGEST], plain[LONGEST];
    for (size_t len = whole ? 0 : 55; len < (whole ? longest() : 56); len++) {
        *right &= padded(b, len, true, watched);
        aside_begin();
        *right &= padded(b, len, false, plain) && tap_same(watched, plain, len / 16 * 16 + 16);
        aside_end();
    }
}

/* Decrypts a block of 16 padding bytes, of which byte `at` has the value `value`, so that the
 * padding is wrong. Returns the number of uses of secrets, and sets *path to the hash of the path
 * (path_so_far()). */
__attribute__((noinline)) static unsigned remove_wrong(const struct tr_backend *b, unsigned at,
                                                       uint8_t value, uint64_t *path, bool *refused)
{
    uint8_t raw[16], block[16], out[16], iv[16] = {0};
    struct tr_aes_key key;
    struct tr_cipher c;
    size_t n = 0;
    memset(raw, 0x11, sizeof(raw));
    memset(block, 16, sizeof(block));
    block[at] = value;
    aside_begin();
    *refused &= tr_aes_set_key(&key, b, raw, sizeof(raw)) == TR_OK &&
                tr_ecb_encrypt(&key, block, block, sizeof(block)) == TR_OK;
    aside_end();
    secret(raw, sizeof(raw));
    *refused &= tr_aes_set_key(&key, b, raw, sizeof(raw)) == TR_OK &&
                tr_cipher_start(&c, &key, TR_CBC, 1, 1, iv) == TR_OK &&
                tr_cipher_update(&c, out, &n, block, sizeof(block)) == TR_OK && n == 0;
    const unsigned before = uses_of_secrets();
    (void)path_so_far();
    enum tr_status status = tr_cipher_final(&c, out, &n);
    *path = path_so_far();
    const unsigned uses = uses_of_secrets() - before;
    published(&status, sizeof(status));
    published(&n, sizeof(n));
    *refused &= status == TR_ERR_PADDING && n == 0;
    return uses;
}

/* Tests that the removal of wrong padding reveals neither which byte is wrong nor the number of
 * padding bytes. The case {0, 0} is refused only if the check reaches the block's first byte. */
static unsigned watch_wrong_padding(const struct tr_backend *b, bool *right)
{
    static const struct {
        unsigned at;
        uint8_t value;
    } wrong[] = {{14, 0}, {0, 0}, {7, 17}, {15, 0}, {15, 17}, {15, 15}, {15, 255}};
    unsigned uses = 0;
    uint64_t first = 0, path;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        uses += remove_wrong(b, wrong[i].at, wrong[i].value, i == 0 ? &first : &path, right);
        if (i > 0 && path != first) {
            tap_diag("the path shows why padding is wrong: byte %u is %u", wrong[i].at,
                     wrong[i].value);
            uses++;
        }
    }
    return uses;
}

/* Watches CFB and CTS decryption, and XTS, in the copy that by_operations() returns. */
static unsigned watch_without_whole_calls(const struct tr_backend *b, bool *right)
{
    static const enum tr_mode modes[] = {TR_CFB128, TEST_CS1, TEST_CS2, TEST_CS3};
    const unsigned before = uses_of_secrets();
    const struct tr_backend table = by_operations(b);
    if (!has_whole_calls(b))
        return 0;
    for (size_t m = 0; m < sizeof(modes) / sizeof(modes[0]); m++)
        for (size_t len = 16; len < longest(); len += stride(45, 1))
            watch_message(&table, modes[m], true, 16, len, right);
    const unsigned uses = uses_of_secrets() - before;
    return uses + watch_xts(&table, right);
}

/* Watches key wrap, CMAC and the calls for many messages or data units. */
static unsigned watch_others(const struct tr_backend *b, bool *right)
{
    unsigned uses = 0;
    for (size_t k = 0; k < 3; k++) {
        const size_t key_len = key_lengths[k];
        for (unsigned form = 0; form < 4; form++) /* half of the forms if AES is slow */
            if (!is_sparse(b) || form == k || form == k + 1)
                uses += watch_wrap(b, key_len, form & 1, form & 2, right);
        uses += watch_cmac(b, key_len, right) + watch_many(b, key_len, right);
        if (!is_sparse(b) || k == 0)
            uses += watch_ccm_many(b, key_len, right) + watch_short_jobs(b, key_len, right);
        if (key_len != 24)
            uses += watch_units(b, 2 * key_len, right);
    }
    return uses;
}

/* ---- Every number of blocks ----------------------------------------------------------------- */

/* A backend has separate vector code for each number of blocks after the loops, and for the blocks
 * before the first aligned counter. The calls below cover all these numbers. Other tests check the
 * results; here a wrong tag is the only sign of a wrong result. */

#define PAGE 4096
static uint8_t all_in[LONGEST + PAGE] __attribute__((aligned(PAGE)));
static uint8_t all_out[LONGEST + PAGE] __attribute__((aligned(PAGE)));

/* Seals and opens one-shot. The data end at the end of a page if `at_end` is set: masked code then
 * handles the last vector in pieces. */
static bool both_ways(const struct aead *a, struct aead_state *s, size_t key_len, size_t len,
                      size_t aad, bool at_end)
{
    static uint8_t back[LONGEST];
    static const uint8_t iv[16] = {9};
    const size_t at = at_end ? PAGE - 1 - (len + PAGE - 1) % PAGE : 0;
    const struct aead_lengths n = {
        .key = key_len, .iv = a->iv.usual, .aad = aad, .text = len, .tag = 16};
    uint8_t tag[16];
    hide(all_in, 0x44, at + len < aad ? aad : at + len);
    bool good = a->whole(s, false, &n, iv, all_in, all_out + at, all_in + at, tag) == TR_OK;
    published(tag, sizeof(tag));
    published(all_out + at, len);
    return good && a->whole(s, true, &n, iv, all_in, back, all_out + at, tag) == TR_OK;
}

/* Encrypts in two pieces, of which the first has `first` bytes, and decrypts in the same pieces. */
static bool in_pieces(const struct aead *a, struct aead_state *s, size_t key_len, size_t first,
                      size_t len)
{
    static const uint8_t iv[16] = {9};
    const struct aead_lengths n = {
        .key = key_len, .iv = a->iv.usual, .aad = len / 2, .text = len, .tag = 16};
    uint8_t tag[16];
    bool good = true;
    hide(all_in, 0x44, len);
    for (int decrypt = 0; decrypt < 2; decrypt++) {
        good &= a->start(s, iv, &n) == TR_OK && a->aad(s, all_in, n.aad) == TR_OK &&
                a->crypt(s, decrypt, all_out, all_in, first, tag) == TR_OK &&
                a->crypt(s, decrypt, all_out + first, all_in + first, len - first, tag) == TR_OK &&
                a->end(s, false, tag, 16) == TR_OK;
        published(tag, sizeof(tag));
    }
    return good;
}

/* Watches messages of each number of blocks up to `most`, and of some up to `longest`. Some
 * messages have long AAD. */
static void watch_every_aead(const struct tr_backend *b, const struct aead *a, size_t most,
                             size_t longest, bool *right)
{
    static struct aead_state s;
    for (size_t k = 0; k < 3; k++) {
        uint8_t raw[64];
        const size_t key_len = key_lengths[k] * (a->key.max / 32);
        hide(raw, 0x21, sizeof(raw));
        *right &= a->set_key(&s, b, raw, key_len) == TR_OK;
        for (size_t n = 0; n <= longest; n += n < most ? 1 : 29) {
            const size_t len = 16 * n + (n + k) % 3 * (n % 16);
            const size_t aad = len % 4 == 3 ? len : len % 3 * 8;
            *right &= both_ways(a, &s, key_len, len, aad, false);
            if (n < most)
                *right &= both_ways(a, &s, key_len, len, aad, true) &&
                          both_ways(a, &s, key_len, n, aad, n % 2) &&
                          both_ways(a, &s, key_len, len, 17 + n % 48, false);
            if (a->end != NULL && n % 3 == k)
                *right &= in_pieces(a, &s, key_len, n % 5 * 16, 16 * n + n % 5 * 16);
        }
    }
}

/* The one-shot calls of SIV, which all_aeads does not have. */
static unsigned watch_siv(const struct tr_backend *b, bool *right)
{
    static struct tr_siv_key key;
    static uint8_t back[64];
    uint8_t raw[32], tag[16];
    hide(raw, 0x21, sizeof(raw));
    const unsigned before = uses_of_secrets();
    *right &= tr_siv_set_key(&key, b, raw, sizeof(raw)) == TR_OK;
    for (size_t len = 5; len <= 35; len += 30) {
        hide(all_in, 0x44, 64);
        *right &= tr_siv_seal(&key, all_in, 20, all_out, all_in, len, tag) == TR_OK;
        published(tag, sizeof(tag));
        published(all_out, len);
        *right &= tr_siv_open(&key, all_in, 20, back, all_out, len, tag) == TR_OK;
    }
    return uses_of_secrets() - before;
}

static void watch_ctr(const struct tr_backend *b, size_t key_len, uint8_t counter[16], size_t len,
                      bool *right)
{
    struct tr_aes_key key;
    uint8_t raw[32], keystream[16];
    unsigned used = 0;
    hide(raw, 0x21, sizeof(raw));
    hide(all_in, 0x44, len);
    *right &= tr_aes_set_key(&key, b, raw, key_len) == TR_OK &&
              tr_ctr(&key, counter, keystream, &used, all_out, all_in, len) == TR_OK;
}

/* Watches long CTR calls that begin at each counter from 0 to 31. Vector code may align counters to
 * groups of at most 32 blocks. The call from counter i ends before counter 400 + 5 * i. Modulo 32,
 * these end counters all differ, so each number of blocks occurs after the last group. */
static void watch_every_counter(const struct tr_backend *b, bool *right)
{
    for (size_t k = 0; k < 3; k++)
        for (uint8_t i = 0; i < 32; i++) {
            uint8_t counter[16] = {[15] = i};
            watch_ctr(b, key_lengths[k], counter, 16 * (400 + 4 * (size_t)i), right);
        }
}

/* Watches CTR calls with each number of blocks before, in and after the first group. */
static void watch_every_rest(const struct tr_backend *b, bool *right)
{
    for (size_t k = 0; k < 3; k++)
        for (size_t blocks = 1; blocks < 64; blocks++) {
            uint8_t counter[16] = {0};
            watch_ctr(b, key_lengths[k], counter, 16 * blocks, right);
        }
}

/* Watches CTR calls in which the counter wraps after some number of blocks. Vector code adds to the
 * low bits of the counter, and handles their carry separately (simd/ctr.h). */
static void watch_wraps(const struct tr_backend *b, bool *right)
{
    static const uint8_t before[] = {1, 2, 7, 16, 17, 40, 75, 130, 200};
    for (size_t k = 0; k < 3; k++)
        for (size_t i = 0; i < sizeof(before); i++) {
            uint8_t counter[16];
            memset(counter, 0xff, sizeof(counter));
            counter[15] = (uint8_t)(0x100 - before[i]);
            watch_ctr(b, key_lengths[k], counter,
                      16 * (i % 2 == 0 ? before[i] + 20u : 450u) + 5 * i, right);
        }
}

static unsigned watch_every_length(const struct tr_backend *b, bool *right)
{
    const unsigned before = uses_of_secrets();
    for (size_t i = 0; i < AEADS; i++) {
        const struct aead *a = &all_aeads[i];
        if (tuned && strcmp(a->name, "GCM") == 0)
            watch_every_aead(b, a, 40, 40, right);
        if (tuned)
            continue;
        if (strcmp(a->name, "GCM") == 0) {
            const struct tr_backend table = by_operations(b);
            watch_every_aead(b, a, 200, 1000, right);
            watch_every_aead(&table, a, 40, 40, right);
        }
        if (strcmp(a->name, "OCB") == 0 || strcmp(a->name, "GCM-SIV") == 0)
            watch_every_aead(b, a, 70, 150, right);
    }
    if (!tuned) {
        watch_every_counter(b, right);
        watch_every_rest(b, right);
        watch_wraps(b, right);
    }
    return uses_of_secrets() - before;
}

/* Watches the calls that differ with TENROUNDS_TUNE. */
static unsigned watch_tuned(const struct tr_backend *b, bool *right)
{
    unsigned uses = watch_xts(b, right) + watch_every_length(b, right);
    for (size_t k = 0; k < 3; k++)
        uses += watch_many(b, key_lengths[k], right);
    return uses;
}

/* Watches the setting of a GHASH key while the vector registers are refused, as in a kernel. */
static unsigned watch_refused_hash_key(const struct tr_backend *b)
{
    static struct tr_ghash_key key;
    const unsigned before = uses_of_secrets();
    hide(key.h, 0x21, sizeof(key.h));
    if (b->ghash_key_refused != NULL)
        b->ghash_key_refused(&key);
    return uses_of_secrets() - before;
}

static unsigned watch(const struct tr_backend *b, bool *right)
{
    const unsigned before = uses_of_secrets();
    watch_messages(b, right);
    watch_padded(b, right);
    const unsigned uses = uses_of_secrets() - before;
    return uses + watch_wrong_padding(b, right) + watch_aeads(b, right) + watch_others(b, right) +
           watch_xts(b, right) + watch_without_whole_calls(b, right) + watch_siv(b, right) +
           watch_refused_hash_key(b) + watch_odd_shapes(b, right) + watch_refusals(b, right) +
           watch_pieces(b, right) + (by_tracker() && is_fast(b) ? watch_every_length(b, right) : 0);
}

/* Shows that the checker reports a branch and an index on a secret. */
static void test_watcher(void)
{
    static uint8_t table[256];
    volatile uint8_t hidden = 3;
    secret((void *)(uintptr_t)&hidden, 1);
    unsigned before = uses_of_secrets();
    if (hidden & 1)
        table[0]++;
    tap_ok(uses_of_secrets() > before, "the checker reports a branch on a secret");
    before = uses_of_secrets();
    ((volatile uint8_t *)table)[hidden & 0x7f] = 1;
    tap_ok(uses_of_secrets() > before, "the checker reports an index derived from a secret");
}

/* Whether valgrind knows all instructions of a backend. */
static bool valgrind_runs(const char *name)
{
    static const char *const known[] = {
#if !defined(__i386__) /* valgrind for i386 knows no AES instructions */
        "aesni",
#endif
        "vperm",
        "bitslice"
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (strcmp(name, known[i]) == 0)
            return true;
    return false;
}

static bool asked_for(const char *name, char *const names[])
{
    if (*names == NULL)
        return by_tracker() || valgrind_runs(name);
    for (; *names != NULL; names++)
        if (strcmp(name, *names) == 0)
            return true;
    return false;
}

static void test_backend(const struct tr_backend *b)
{
    bool right = true;
    if (backend_skip(b, 1))
        return;
    right &= many_without_secrets(b);
    unsigned uses = (tuned ? watch_tuned : watch)(b, &right);
    /* The tracker may take these for secrets: it sees no writes between aside_begin() and
     * aside_end(). */
    published(&right, sizeof(right));
    published(&uses, sizeof(uses));
    tap_ok(uses == 0 && right, "%s: %u branches or addresses that depend on a secret",
           tr_backend_name(b), uses);
}

int main(int argc, char **argv)
{
    const bool leak = argc > 1 && strcmp(argv[1], "--leak") == 0;
    whole = argc > 1 && strcmp(argv[1], "--whole") == 0;
    tuned = argc > 1 + whole && strcmp(argv[1 + whole], "--tuned") == 0;
    char *const *names = argv + 1 + whole + tuned;
    const struct tr_backend *b;
    unsigned n = 0;
    for (unsigned i = 0; !leak && (b = tr_backend_at(i)) != NULL; i++)
        n += asked_for(tr_backend_name(b), names);
    tap_plan(leak ? 2 : n);
    if (RUNNING_ON_VALGRIND == 0) {
        tap_skip(leak ? 2 : n, NULL, "this test runs only under valgrind or crates/taint");
        return tap_done();
    }
    if (leak)
        test_watcher();
    for (unsigned i = 0; !leak && (b = tr_backend_at(i)) != NULL; i++)
        if (asked_for(tr_backend_name(b), names))
            test_backend(b);
    return tap_done();
}
