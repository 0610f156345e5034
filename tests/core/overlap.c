/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests output that begins before the input, for every mode and backend. Tests short messages at
 * each distance, and long ones at random distances up to 128 bytes and at some up to 4 KiB. The
 * output must equal that of separate buffers, and no byte outside it may change. Covers lengths up
 * to the loops of long calls, one-shot and streaming calls, and multi-buffer calls. With
 * TENROUNDS_STRIDE (tap.h), covers a random part of the lengths and distances. */
#include "aead.h"

#define NEAR     128  /* bytes between the beginnings of output and input in most calls */
#define FURTHEST 4200 /* and in some calls */
#define SHORT    50   /* bytes: the test covers every length up to this one */
#define LONGEST  16401

static const size_t longer[] = {63,   64,   65,   79,   80,   81,   95,   96,   97,     112,
                                127,  128,  129,  160,  191,  193,  255,  256,  257,    320,
                                384,  500,  512,  513,  560,  640,  768,  1000, 1024,   1350,
                                1551, 2048, 2320, 3000, 4096, 4111, 6415, 9001, LONGEST};
#define LENGTHS (SHORT + sizeof(longer) / sizeof(*longer))

static struct tap_random rng;
static uint8_t memory[FURTHEST + LONGEST + 64], message[LONGEST], expected[LONGEST], text[LONGEST];

static size_t length_at(size_t i)
{
    return i < SHORT ? i + 1 : longer[i - SHORT];
}

/* The step to the next distance. Long messages are tested at fewer distances. */
static size_t step(size_t k, size_t len)
{
    return k >= NEAR ? k : len > SHORT ? 1 + tap_below(&rng, 32) : tap_stride(&rng);
}

/* Whether output at this distance overlaps the input. */
static bool overlaps(size_t k, size_t len)
{
    return k < len && k <= FURTHEST;
}

/* Puts the input into the memory, and returns its address. */
static uint8_t *place(const uint8_t *input, size_t len)
{
    memset(memory, 0xc3, sizeof(memory));
    return memcpy(memory + FURTHEST, input, len);
}

/* Whether the output is right, with a tag after it if tag_len is not 0. Everything around output
 * and input must be unchanged. */
static bool is_right(const uint8_t *output, const uint8_t *input, size_t len, size_t k,
                     const uint8_t *tag, size_t tag_len)
{
    static uint8_t whole[sizeof(memory)];
    memset(whole, 0xc3, sizeof(whole));
    memcpy(whole + FURTHEST, input, len);
    memcpy(whole + FURTHEST - k, output, len);
    memcpy(whole + FURTHEST - k + len, tag, tag_len);
    return tap_same(memory, whole, sizeof(whole));
}

/* The next piece of a streaming call. A unit of 0 takes everything. */
static size_t piece(size_t left, size_t unit)
{
    if (unit == 0 || left <= unit)
        return left;
    const size_t n = unit * (1 + tap_below(&rng, tap_below(&rng, 4) == 0 ? 40 : 1 + 300 / unit));
    return n < left ? n : left;
}

/* ---- Modes without a tag ---- */

static bool one_distance(const struct tr_aes_key *key, enum tr_mode mode, bool decrypt,
                         const struct position *start, const struct position *end, size_t len,
                         size_t k, size_t unit)
{
    struct position p = *start;
    const uint8_t *in = place(message, len);
    uint8_t *out = memory + FURTHEST - k;
    bool good = true;
    for (size_t at = 0, n; good && at < len; at += n) {
        n = piece(len - at, unit);
        good = mode_run(key, mode, decrypt, &p, out + at, in + at, n) == TR_OK;
    }
    good = is_right(expected, message, len, k, message, 0) && good && position_same(mode, &p, end);
    if (!good)
        tap_diag("%s, %zu bytes, output %zu bytes before the input, %s", mode_name(mode), len, k,
                 unit == 0 ? "one call" : "in pieces");
    return good;
}

static void plain_mode(const struct tr_backend *b, enum tr_mode mode, bool decrypt)
{
    uint8_t raw[32], iv[16];
    bool good = true;
    tap_fill(&rng, raw, sizeof(raw));
    const struct tr_aes_key key = key_for(b, raw, key_lengths[tap_below(&rng, 3)]);
    const size_t unit = mode_is_blocks(mode) ? 16 : 1;
    for (size_t i = 0; good && i < LENGTHS; i += tap_stride(&rng)) {
        const size_t len = length_at(i) / unit * unit;
        if (len < mode_shortest(mode) || len == 0 ||
            len > mode_longest(mode, mode == TEST_CFB1 ? 20 : LONGEST))
            continue;
        random_iv(&rng, mode, iv);
        struct position start = position_at(iv);
        /* Most calls begin within a block. */
        if (mode_is_stream(mode))
            good =
                mode_run(&key, mode, decrypt, &start, text, message, tap_below(&rng, 16)) == TR_OK;
        struct position end = start;
        good = good && mode_run(&key, mode, decrypt, &end, expected, message, len) == TR_OK;
        for (size_t k = 1; good && overlaps(k, len); k += step(k, len))
            good = one_distance(&key, mode, decrypt, &start, &end, len, k, 0) &&
                   (mode_is_whole(mode) ||
                    one_distance(&key, mode, decrypt, &start, &end, len, k, unit));
    }
    tap_ok(good, "%s: %s %s is right if the output begins before the input", tr_backend_name(b),
           mode_name(mode), decrypt ? "decryption" : "encryption");
}

/* XTS: several data units in one call. */
static void xts_units(const struct tr_backend *b, bool decrypt)
{
    static const size_t units[] = {16, 31, 32, 48, 64, 128, 512, 520, 1024, 2048, 4096};
    struct tr_xts_key key;
    uint8_t raw[64], iv[16];
    tap_fill(&rng, raw, sizeof(raw));
    bool good = tr_xts_set_key(&key, b, raw, 64) == TR_OK;
    for (size_t i = 0; good && i < sizeof(units) / sizeof(*units); i++)
        for (size_t n = 2; good && n <= 17 && n * units[i] <= LONGEST; n += 1 + n / 4) {
            const size_t len = n * units[i];
            tap_fill(&rng, iv, 16);
            good = (decrypt ? tr_xts_decrypt_units : tr_xts_encrypt_units)(
                       &key, iv, expected, message, units[i], n) == TR_OK;
            for (size_t k = 1; good && overlaps(k, len); k += step(k, len)) {
                const uint8_t *in = place(message, len);
                good = (decrypt ? tr_xts_decrypt_units : tr_xts_encrypt_units)(
                           &key, iv, memory + FURTHEST - k, in, units[i], n) == TR_OK &&
                       is_right(expected, message, len, k, message, 0);
                if (!good)
                    tap_diag("%zu units of %zu bytes, output %zu bytes before", n, units[i], k);
            }
        }
    tap_ok(good, "%s: %s of XTS units is right if the output begins before the input",
           tr_backend_name(b), decrypt ? "decryption" : "encryption");
}

/* ---- Authenticated modes ---- */

static bool one_message(const struct aead *a, struct aead_state *s, bool decrypt, bool stream,
                        const struct aead_lengths *n, const uint8_t *iv, const uint8_t *aad,
                        uint8_t *out, const uint8_t *in, uint8_t *tag)
{
    if (!stream)
        return a->whole(s, decrypt, n, iv, aad, out, in, tag) == TR_OK;
    bool good = a->start(s, iv, n) == TR_OK && (n->aad == 0 || a->aad(s, aad, n->aad) == TR_OK);
    for (size_t at = 0, count; good && at < n->text; at += count) {
        count = piece(n->text - at, a->unit);
        good = a->crypt(s, decrypt, out + at, in + at, count, tag) == TR_OK;
    }
    return good && (a->end == NULL || a->end(s, decrypt, tag, n->tag) == TR_OK);
}

static void aead_mode(const struct tr_backend *b, const struct aead *a, bool decrypt)
{
    static struct aead_state s;
    uint8_t raw[64], iv[128], aad[700], tag[16];
    bool good = true;
    for (size_t i = 0; good && i < LENGTHS; i += tap_stride(&rng)) {
        const size_t len = length_at(i);
        const struct aead_lengths n = aead_random_lengths(&rng, a, len);
        tap_fill(&rng, raw, sizeof(raw));
        tap_fill(&rng, iv, sizeof(iv));
        tap_fill(&rng, aad, sizeof(aad));
        good = a->set_key(&s, b, raw, n.key) == TR_OK &&
               a->whole(&s, false, &n, iv, aad, text, message, tag) == TR_OK;
        const uint8_t *input = decrypt ? text : message, *output = decrypt ? message : text;
        for (size_t k = 1; good && overlaps(k, len); k += step(k, len))
            for (int stream = 0; good && stream < 2; stream++) {
                const uint8_t *in = place(input, len);
                uint8_t *out = memory + FURTHEST - k;
                /* Encryption writes the tag after the ciphertext, over the end of the input. */
                good = one_message(a, &s, decrypt, stream, &n, iv, aad, out, in,
                                   decrypt ? tag : out + len);
                good = is_right(output, input, len, k, tag, decrypt ? 0 : n.tag) && good;
                if (!good)
                    tap_diag("%s, %zu bytes, output %zu bytes before the input, %s", a->name, len,
                             k, stream ? "in pieces" : "one call");
            }
    }
    tap_ok(good, "%s: %s %s is right if the output begins before the input", tr_backend_name(b),
           a->name, decrypt ? "decryption" : "encryption");
}

/* ---- Multi-buffer calls ---- */

#define JOBS 11

/* One call for jobs, each with its output before its input. Jobs have several lengths, but those of
 * GCM have one, because only then do they run together. */
struct batch {
    size_t at[JOBS], len[JOBS], k;
    uint8_t iv[JOBS][16], tag[JOBS][16];
};

static struct batch batch(size_t k, size_t unit, bool equal)
{
    struct batch m = {.k = k};
    size_t at = NEAR;
    const size_t of_all = tap_below(&rng, 1300);
    for (size_t i = 0; i < JOBS; i++) {
        m.at[i] = at;
        m.len[i] = equal ? of_all : tap_below(&rng, 1300) / unit * unit;
        at += m.len[i] + NEAR;
        tap_fill(&rng, m.iv[i], 16);
        tap_fill(&rng, m.tag[i], 16);
    }
    return m;
}

enum many { MANY_CBC, MANY_CFB, MANY_CCM_SEAL, MANY_CCM_OPEN, MANY_GCM_SEAL, MANY_GCM_OPEN, MANY };

struct many_keys {
    struct tr_aes_key aes;
    struct tr_ccm_key ccm;
    struct tr_gcm_key gcm;
};

static enum tr_status many_call(enum many call, const struct many_keys *keys, struct batch *m,
                                uint8_t *to, const uint8_t *from, size_t k)
{
    struct tr_stream streams[JOBS];
    static struct tr_ccm_job jobs[JOBS];
    static struct tr_gcm_job gcm[JOBS];
    for (size_t i = 0; i < JOBS; i++) {
        uint8_t *out = to + m->at[i] - k;
        const uint8_t *in = from + m->at[i];
        streams[i] = (struct tr_stream){&keys->aes, m->iv[i], out, in, m->len[i]};
        gcm[i] = (struct tr_gcm_job){&keys->gcm, m->iv[i],  12,        m->iv[i], 13,   out,
                                     in,         m->len[i], m->tag[i], 16,       TR_OK};
        jobs[i] = (struct tr_ccm_job){.key = &keys->ccm,
                                      .nonce = m->iv[i],
                                      .nonce_len = 12,
                                      .aad = m->iv[i],
                                      .aad_len = i,
                                      .out = out,
                                      .in = in,
                                      .len = m->len[i],
                                      .tag = m->tag[i],
                                      .tag_len = 16};
    }
    switch (call) {
    case MANY_CBC:
        return tr_cbc_encrypt_many(streams, JOBS);
    case MANY_CFB:
        return tr_cfb128_encrypt_many(streams, JOBS);
    case MANY_CCM_SEAL:
        return tr_ccm_seal_many(jobs, JOBS);
    case MANY_CCM_OPEN:
        return tr_ccm_open_many(jobs, JOBS);
    case MANY_GCM_SEAL:
        return tr_gcm_seal_many(gcm, JOBS);
    default:
        return tr_gcm_open_many(gcm, JOBS);
    }
}

static void many(const struct tr_backend *b, enum many call)
{
    static const char *const names[] = {"CBC",         "CFB",         "CCM sealing",
                                        "CCM opening", "GCM sealing", "GCM opening"};
    static struct many_keys keys;
    const bool equal = call >= MANY_GCM_SEAL,
               opens = call == MANY_CCM_OPEN || call == MANY_GCM_OPEN;
    uint8_t raw[32];
    tap_fill(&rng, raw, sizeof(raw));
    keys.aes = key_for(b, raw, 16);
    bool good = tr_ccm_set_key(&keys.ccm, b, raw, 32) == TR_OK &&
                tr_gcm_set_key(&keys.gcm, b, raw, 24) == TR_OK;
    for (size_t k = 1; good && k <= NEAR; k += tap_stride(&rng)) {
        struct batch m = batch(k, call == MANY_CBC ? 16 : 1, equal), again = m;
        const uint8_t *input = message, *output = expected;
        if (opens) {
            good = many_call((enum many)(call - 1), &keys, &m, text, message, 0) == TR_OK;
            again = m;
            input = text;
            output = message;
        } else {
            good = many_call(call, &keys, &m, expected, message, 0) == TR_OK;
        }
        memcpy(memory, input, sizeof(message));
        good = good && many_call(call, &keys, &again, memory, memory, k) == TR_OK;
        for (size_t i = 0; good && i < JOBS; i++)
            good = tap_same(memory + m.at[i] - k, output + m.at[i], m.len[i]) &&
                   tap_same(again.tag[i], m.tag[i], 16) && tap_same(again.iv[i], m.iv[i], 16);
        if (!good)
            tap_diag("output %zu bytes before the input", k);
    }
    tap_ok(good, "%s: multi-buffer %s is right if outputs begin before inputs", tr_backend_name(b),
           names[call]);
}

int main(void)
{
    const struct tr_backend *b;
    const unsigned results = 2 * ALL_MODES + 2 + 2 * (unsigned)AEADS + MANY;
    tap_plan(backend_count() * results);
    rng = tap_random(0);
    tap_fill(&rng, message, sizeof(message));
    for (unsigned i = 0; (b = tr_backend_at(i)) != NULL; i++) {
        if (backend_skip(b, results))
            continue;
        for (int decrypt = 0; decrypt < 2; decrypt++) {
            for (unsigned m = 0; m < ALL_MODES; m++)
                plain_mode(b, all_modes[m], decrypt);
            xts_units(b, decrypt);
            for (unsigned m = 0; m < AEADS; m++)
                aead_mode(b, &all_aeads[m], decrypt);
        }
        for (enum many call = 0; call < MANY; call++)
            many(b, call);
    }
    return tap_done();
}
