/* SPDX-License-Identifier: BSD-2-Clause */
/* Compares the authenticated modes of every backend with bitslice. Covers every text length from 0
 * to 600 bytes and some longer ones, with random lengths of key, IV, AAD and tag. Each message is
 * encrypted and decrypted, one-shot and streaming, in place and out of place, at random alignments.
 * Also tests forged tags, AAD, IVs and ciphertexts, and calls out of order.
 * With TENROUNDS_STRIDE (tap.h), covers a random part of the lengths. */
#include "aead.h"

#define LONGEST   600
#define VERYLONG  20480
#define LONG_RUNS 12
#define MARGIN    64

static struct tap_random rng;
static unsigned long runs;

struct message {
    const struct aead *aead;
    struct aead_lengths n;
    uint8_t key[64], iv[128], aad[VERYLONG], tag[16];
    uint8_t plaintext[VERYLONG], ciphertext[VERYLONG];
};

static bool keyed(const struct message *m, const struct tr_backend *b, struct aead_state *s)
{
    return m->aead->set_key(s, b, m->key, m->n.key) == TR_OK;
}

/* Makes a random message. The backend bitslice computes the ciphertext and the tag. */
static bool make_message(struct message *m, const struct aead *a, const struct aead_lengths *n)
{
    struct aead_state s;
    m->aead = a;
    m->n = *n;
    tap_fill(&rng, m->key, n->key);
    tap_fill(&rng, m->iv, n->iv);
    tap_fill(&rng, m->aad, n->aad);
    tap_fill(&rng, m->plaintext, n->text);
    return keyed(m, &tr_bitslice, &s) &&
           a->whole(&s, false, n, m->iv, m->aad, m->ciphertext, m->plaintext, m->tag) == TR_OK;
}

static size_t piece(size_t left, size_t unit, bool wanted)
{
    if (!wanted || unit == 0)
        return left;
    const size_t limit = tap_below(&rng, 3) == 0 || left < 48 ? left : 48;
    const size_t n = tap_below(&rng, limit + 1) / unit * unit;
    return n == 0 && left < unit ? left : n;
}

static enum tr_status in_pieces(const struct message *m, struct aead_state *s, bool decrypt,
                                bool pieces, uint8_t *out, const uint8_t *in, uint8_t *tag)
{
    const struct aead *a = m->aead;
    enum tr_status status = a->start(s, m->iv, &m->n);
    for (size_t at = 0, n; at < m->n.aad && status == TR_OK; at += n) {
        n = piece(m->n.aad - at, 1, pieces && !a->aad_in_one_call);
        status = a->aad(s, m->aad + at, n);
    }
    if (a->unit == 0)
        return status == TR_OK ? a->crypt(s, decrypt, out, in, m->n.text, tag) : status;
    for (size_t at = 0, n; at < m->n.text && status == TR_OK; at += n) {
        n = piece(m->n.text - at, a->unit, pieces);
        status = a->crypt(s, decrypt, out + at, in + at, n, tag);
    }
    return status == TR_OK ? a->end(s, decrypt, tag, m->n.tag) : status;
}

/* ---- All backends against bitslice ---------------------------------------------------------- */

enum way { IN_PLACE = 1, DECRYPT = 2, STREAM = 4, PIECES = 8, WAYS = 16 };

static bool run(const struct message *m, const struct tr_backend *b, unsigned way)
{
    static uint8_t in_area[VERYLONG + 2 * MARGIN], out_area[VERYLONG + 2 * MARGIN];
    const bool decrypt = way & DECRYPT;
    const size_t len = m->n.text;
    const uint8_t *from = decrypt ? m->ciphertext : m->plaintext;
    uint8_t *base = way & IN_PLACE ? in_area : out_area, *in = in_area + tap_below(&rng, 64);
    uint8_t *out = way & IN_PLACE ? in : out_area + tap_below(&rng, 64);
    uint8_t tag[24];
    struct aead_state s;
    memset(base, 0x5a, len + 2 * MARGIN);
    memset(tag, 0x5a, sizeof(tag));
    memcpy(in, from, len);
    if (decrypt)
        memcpy(tag, m->tag, m->n.tag);
    runs++;
    if (!keyed(m, b, &s) ||
        (way & STREAM ? in_pieces(m, &s, decrypt, way & PIECES, out, in, tag)
                      : m->aead->whole(&s, decrypt, &m->n, m->iv, m->aad, out, in, tag)) != TR_OK)
        return false;
    bool good = tap_same(out, decrypt ? m->plaintext : m->ciphertext, len) &&
                tap_same(tag, m->tag, m->n.tag) && tag[m->n.tag] == 0x5a;
    good = good && (way & IN_PLACE || tap_same(in, from, len));
    for (const uint8_t *q = base; q < base + len + 2 * MARGIN && good; q++)
        good = (q >= out && q < out + len) || *q == 0x5a;
    return good;
}

static bool all_ways(const struct message *m, const struct tr_backend *b)
{
    for (unsigned way = 0; way < WAYS; way++) {
        if ((way & PIECES && !(way & STREAM)) || run(m, b, way))
            continue;
        tap_diag("text %zu, key %zu, IV %zu, AAD %zu, tag %zu bytes: %s, %s, %s", m->n.text,
                 m->n.key, m->n.iv, m->n.aad, m->n.tag, way & DECRYPT ? "decryption" : "encryption",
                 way & IN_PLACE ? "in place" : "to a separate buffer",
                 way & PIECES   ? "in pieces"
                 : way & STREAM ? "streaming"
                                : "in one call");
        return false;
    }
    return true;
}

/* The lengths of run i: each short text length in turn, then long texts, half with long AAD. */
static struct aead_lengths lengths_of(const struct aead *a, size_t i)
{
    if (i <= LONGEST)
        return aead_random_lengths(&rng, a, i);
    struct aead_lengths n = aead_random_lengths(&rng, a, tap_below(&rng, VERYLONG + 1));
    if (i % 2 == 1)
        n.aad = tap_below(&rng, VERYLONG + 1);
    return n;
}

static void crosscheck(const struct tr_backend *b, const struct aead *a)
{
    static struct message m;
    unsigned good = 0, n = 0;
    for (size_t i = 0; i <= LONGEST + LONG_RUNS && good == n; i += tap_stride(&rng), n++) {
        const struct aead_lengths lengths = lengths_of(a, i);
        good += make_message(&m, a, &lengths) && all_ways(&m, b);
    }
    tap_ok(good == n, "%s: %s equals bitslice at %u text lengths", tr_backend_name(b), a->name, n);
}

/* Tests every IV length from a->iv.min to a->iv.max. GCM accepts longer IVs, too. */
static void every_iv(const struct tr_backend *b, const struct aead *a)
{
    static struct message m;
    unsigned good = 0, n = 0;
    for (size_t iv = a->iv.min; iv <= a->iv.max && good == n; iv++, n++) {
        struct aead_lengths lengths = aead_random_lengths(&rng, a, 100);
        lengths.iv = iv;
        good += make_message(&m, a, &lengths) && all_ways(&m, b);
    }
    tap_ok(good == n, "%s: %s equals bitslice for IVs of %zu to %zu bytes", tr_backend_name(b),
           a->name, a->iv.min, a->iv.max);
}

/* Tests that AAD in two pieces gives the same tag as AAD in one piece. The first piece is a
 * whole block, which GCM buffers until it has more input. */
static void gcm_aad_in_two(const struct tr_backend *b)
{
    static const uint8_t raw[16] = {1}, iv[12] = {2}, aad[40] = {3}, text[20] = {4};
    struct tr_gcm_key key;
    struct tr_gcm g;
    uint8_t out[20], whole[16], pieces[16];
    bool good = tr_gcm_set_key(&key, b, raw, sizeof(raw)) == TR_OK;
    for (size_t second = 0; second <= 24; second++) {
        good = good &&
               tr_gcm_seal(&key, iv, 12, aad, 16 + second, out, text, 20, whole, 16) == TR_OK &&
               tr_gcm_start(&g, &key, iv, 12) == TR_OK && tr_gcm_aad(&g, aad, 16) == TR_OK &&
               tr_gcm_aad(&g, aad + 16, second) == TR_OK &&
               tr_gcm_encrypt(&g, out, text, 20) == TR_OK && tr_gcm_tag(&g, pieces, 16) == TR_OK &&
               tap_same(pieces, whole, 16);
    }
    tap_ok(good, "%s: GCM gives the same tag for AAD in one piece and in two", tr_backend_name(b));
}

/* Returns the length to test after `len`. Above 800 bytes the steps are at most 61. The lengths
 * include each multiple of 512 and the length after it. */
static size_t after(size_t len)
{
    const size_t left = 512 - len % 512, step = left < 61 ? left : 61;
    return len + (len < 800 || left == 512 ? 1 : step);
}

/* Tests GCM at each text length up to 800 bytes and some longer ones, with AAD lengths around the
 * block size. Short messages, messages in chunks (simd/gcm/chunks.h), partial blocks and partial
 * vectors have separate code. */
static void gcm_ends(const struct tr_backend *b)
{
    static struct message m;
    static const size_t aads[] = {0, 1, 13, 16, 17, 32, 64, 100};
    unsigned good = 0, n = 0;
    for (size_t len = 0; len <= 4200 && good == n; len = after(len))
        for (size_t i = 0; i < sizeof(aads) / sizeof(*aads) && good == n; i++, n++) {
            struct aead_lengths lengths = aead_random_lengths(&rng, &all_aeads[0], len);
            lengths.iv = 12;
            lengths.aad = aads[i];
            const unsigned way = (unsigned)tap_below(&rng, WAYS);
            good += make_message(&m, &all_aeads[0], &lengths) && run(&m, b, 0) &&
                    run(&m, b, DECRYPT) && run(&m, b, way & PIECES ? way | STREAM : way);
            if (good != n + 1)
                tap_diag("text %zu, AAD %zu, key %zu bytes, way %u", len, aads[i], lengths.key,
                         way);
        }
    tap_ok(good == n, "%s: GCM equals bitslice at %u pairs of text and AAD lengths",
           tr_backend_name(b), n);
}

/* ---- Forgeries ---------------------------------------------------------------------------- */

/* Whether a forged message gives TR_ERR_TAG, and the one-shot call leaves zeros in the output. */
static bool rejected(const struct message *m, const struct tr_backend *b)
{
    static uint8_t out[VERYLONG];
    struct aead_state s;
    uint8_t tag[16];
    memcpy(tag, m->tag, sizeof(tag));
    memset(out, 0x5a, m->n.text + 1);
    runs++;
    if (!keyed(m, b, &s) ||
        m->aead->whole(&s, true, &m->n, m->iv, m->aad, out, m->ciphertext, tag) != TR_ERR_TAG)
        return false;
    for (size_t i = 0; i < m->n.text; i++)
        if (out[i] != 0)
            return false;
    return out[m->n.text] == 0x5a &&
           in_pieces(m, &s, true, true, out, m->ciphertext, tag) == TR_ERR_TAG;
}

/* Whether the mode rejects the message with each bit of `where` flipped in turn. */
static bool each_bit(const struct message *m, const struct tr_backend *b, uint8_t *where,
                     size_t len)
{
    bool good = true;
    for (size_t bit = 0; bit < 8 * len && good; bit++) {
        where[bit / 8] ^= (uint8_t)(1 << bit % 8);
        good = rejected(m, b);
        where[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    return good;
}

static void forgeries(const struct tr_backend *b, const struct aead *a)
{
    static struct message m;
    bool good[4] = {true, true, true, true};
    for (size_t text = 0; text <= 100; text += 25) {
        struct aead_lengths n = aead_random_lengths(&rng, a, text);
        n.tag = 16;
        n.aad = 21;
        good[0] &= make_message(&m, a, &n) && each_bit(&m, b, m.tag, n.tag);
        good[1] &= each_bit(&m, b, m.ciphertext, text);
        good[2] &= each_bit(&m, b, m.aad, n.aad);
        good[3] &= each_bit(&m, b, m.iv, n.iv);
    }
    tap_ok(good[0], "%s: %s refuses a tag with any bit flipped", tr_backend_name(b), a->name);
    tap_ok(good[1], "%s: %s refuses a ciphertext with any bit flipped", tr_backend_name(b),
           a->name);
    tap_ok(good[2], "%s: %s refuses AAD with any bit flipped", tr_backend_name(b), a->name);
    tap_ok(good[3], "%s: %s refuses an IV with any bit flipped", tr_backend_name(b), a->name);
}

/* Tests every tag length: the check must compare exactly the bytes of the tag. Makes a message for
 * each length, because in CCM and OCB the first AES input contains the tag length. */
static void cut_tags(const struct tr_backend *b, const struct aead *a)
{
    static struct message m;
    bool good = true;
    for (size_t tag = a->tag_min; tag <= 16; tag += a->tag_step) {
        struct aead_lengths n = aead_random_lengths(&rng, a, 77);
        n.tag = tag;
        good &= make_message(&m, a, &n) && each_bit(&m, b, m.tag, tag);
        if (tag < 16) {
            m.tag[tag] ^= 1;
            good &= run(&m, b, DECRYPT);
            m.tag[tag] ^= 1;
        }
    }
    tap_ok(good, "%s: %s compares exactly the bytes of the tag, for every tag length",
           tr_backend_name(b), a->name);
}

/* ---- Calls out of order --------------------------------------------------------------------- */

/* Whether all AAD must precede the data. RFC 7253 section 4.2 sets no order for OCB. */
static bool aad_first(const struct aead *a)
{
    return strcmp(a->name, "OCB") != 0;
}

/* Whether every call but start() is refused and writes nothing. The caller passes a state without
 * an open message: none has started, or the last one has ended. */
static bool not_started(const struct message *m, struct aead_state *s)
{
    const struct aead *a = m->aead;
    uint8_t out[32], tag[16], before[32];
    memset(out, 0x5a, sizeof(out));
    memset(tag, 0x5a, sizeof(tag));
    memset(before, 0x5a, sizeof(before));
    bool good = a->aad(s, m->aad, 3) == TR_ERR_STATE;
    for (int decrypt = 0; decrypt < 2; decrypt++)
        good &= a->crypt(s, decrypt, out, m->plaintext, 32, tag) == TR_ERR_STATE &&
                (a->end == NULL || a->end(s, decrypt, tag, m->n.tag) == TR_ERR_STATE);
    return good && tap_same(out, before, 32) && tap_same(tag, before, 16);
}

/* Whether the mode refuses calls that are wrong after `at` bytes of text. with_refusals() checks
 * that they leave the message unchanged. */
static bool refused_inside(const struct message *m, struct aead_state *s, size_t at)
{
    const struct aead *a = m->aead;
    uint8_t out[64], tag[16];
    const bool is_ccm = strcmp(a->name, "CCM") == 0; /* its start() sets the AAD length */
    bool good = true;
    if (at > 0 && aad_first(a))
        good = a->aad(s, m->aad, 1) == (is_ccm ? TR_ERR_LENGTH : TR_ERR_STATE);
    memset(out, 0x5a, sizeof(out));
    good &= a->crypt(s, false, out + 1, out, 16, tag) == TR_ERR_OVERLAP && out[1] == 0x5a;
    if (is_ccm)
        good &= a->end(s, false, tag, m->n.tag) == TR_ERR_STATE &&
                a->crypt(s, false, out, m->plaintext, m->n.text - at + 1, tag) == TR_ERR_LENGTH;
    if (strcmp(a->name, "GCM") == 0)
        good &= a->end(s, false, tag, 0) == TR_ERR_TAG_LENGTH &&
                a->end(s, false, tag, 17) == TR_ERR_TAG_LENGTH;
    return good;
}

static bool with_refusals(const struct message *m, const struct tr_backend *b)
{
    const struct aead *a = m->aead;
    uint8_t out[VERYLONG], tag[16];
    struct aead_state s;
    bool good;
    const size_t half = a->unit == 0 ? 0 : 48;
    memset(&s, 0, sizeof(s));
    good = a->start(&s, m->iv, &m->n) == TR_ERR_STATE && not_started(m, &s);
    good &= keyed(m, b, &s) && not_started(m, &s);
    good &= a->start(&s, m->iv, &m->n) == TR_OK && a->aad(&s, m->aad, m->n.aad) == TR_OK;
    good &= refused_inside(m, &s, 0);
    if (half != 0)
        good &= a->crypt(&s, false, out, m->plaintext, half, tag) == TR_OK &&
                refused_inside(m, &s, half);
    good &= a->crypt(&s, false, out + half, m->plaintext + half, m->n.text - half, tag) == TR_OK;
    if (a->end != NULL)
        good &= a->end(&s, false, tag, m->n.tag) == TR_OK;
    return good && not_started(m, &s) && tap_same(out, m->ciphertext, m->n.text) &&
           tap_same(tag, m->tag, m->n.tag);
}

/* Tests that a tag mismatch ends the message: every call but a new start is refused. */
static bool after_forgery(const struct message *m, const struct tr_backend *b)
{
    static uint8_t out[VERYLONG];
    struct aead_state s;
    uint8_t tag[16];
    memcpy(tag, m->tag, 16);
    tag[0] ^= 1;
    return keyed(m, b, &s) &&
           in_pieces(m, &s, true, false, out, m->ciphertext, tag) == TR_ERR_TAG &&
           not_started(m, &s) && in_pieces(m, &s, false, false, out, m->plaintext, tag) == TR_OK &&
           tap_same(out, m->ciphertext, m->n.text) && tap_same(tag, m->tag, m->n.tag);
}

static void out_of_order(const struct tr_backend *b, const struct aead *a)
{
    static struct message m;
    unsigned good = 0, n = 0;
    for (; n < 20; n++) {
        struct aead_lengths lengths = aead_random_lengths(&rng, a, 80 + tap_below(&rng, 400));
        lengths.aad++;
        good += make_message(&m, a, &lengths) && with_refusals(&m, b) && after_forgery(&m, b);
    }
    tap_ok(good == n, "%s: %s refuses calls out of order, without effect on the message",
           tr_backend_name(b), a->name);
}

/* Tests that IVs, tags and keys of unsupported lengths are refused. */
static void wrong_lengths(const struct tr_backend *b, const struct aead *a)
{
    static struct message m;
    static const uint8_t untouched[16];
    struct aead_lengths n = aead_random_lengths(&rng, a, 16);
    struct aead_state s;
    uint8_t out[16] = {0}, tag[16] = {0};
    bool good = make_message(&m, a, &n) && keyed(&m, b, &s);
    const bool fixed_iv = a->iv.min == a->iv.max, fixed_tag = a->tag_min == 16;
    for (size_t iv = 0; iv < a->iv.min && !fixed_iv && a->unit != 0; iv++) {
        n.iv = iv;
        good &= a->whole(&s, false, &n, m.iv, m.aad, out, m.plaintext, tag) == TR_ERR_IV_LENGTH;
    }
    n = m.n;
    n.iv = a->iv.max + 1;
    if (!fixed_iv && a->iv.max < 32)
        good &= a->whole(&s, false, &n, m.iv, m.aad, out, m.plaintext, tag) == TR_ERR_IV_LENGTH;
    n = m.n;
    for (n.tag = 0; n.tag < 33 && !fixed_tag; n.tag++)
        if (n.tag < a->tag_min || n.tag > 16 || (n.tag - a->tag_min) % a->tag_step != 0)
            for (int decrypt = 0; decrypt < 2; decrypt++)
                good &= a->whole(&s, decrypt, &n, m.iv, m.aad, out, m.plaintext, tag) ==
                        TR_ERR_TAG_LENGTH;
    for (size_t key = 0; key < 70; key++) {
        const bool taken = key >= a->key.min && key <= a->key.max && key % a->key.step == 0;
        good &= taken || a->set_key(&s, b, m.key, key) == TR_ERR_KEY_LENGTH;
    }
    tap_ok(good && tap_same(out, untouched, 16) && tap_same(tag, untouched, 16),
           "%s: %s refuses unsupported lengths of key, IV and tag", tr_backend_name(b), a->name);
}

/* ---- GCM's counter ------------------------------------------------------------------------ */

/* Tests that a counter wrap after `blocks` blocks changes only the last 32 bits (SP 800-38D section
 * 6.2). */
static bool wraps_after(const struct tr_backend *b, unsigned blocks, bool decrypt)
{
    enum { LEN = 16 * 150 };
    /* So much AAD that the core does not wait for the data before it begins. */
    static const uint8_t aad[TR_GCM_HELD + 1];
    uint8_t raw[32], iv[12], from[16], counter[16], tag[16], right[16];
    uint8_t in[LEN], out[LEN], expected[LEN];
    struct tr_gcm_key gcm_key, reference_key;
    struct tr_gcm g, reference;
    tap_fill(&rng, raw, sizeof(raw));
    tap_fill(&rng, iv, sizeof(iv));
    tap_fill(&rng, in, sizeof(in));
    tap_fill(&rng, counter, 12);
    memset(counter + 12, 0xff, 3);
    counter[15] = (uint8_t)(0x100 - blocks);
    memcpy(from, counter, 16);
    const struct tr_aes_key key = key_for(&tr_bitslice, raw, 32);
    if (tr_gcm_set_key(&gcm_key, b, raw, 32) != TR_OK ||
        tr_gcm_start(&g, &gcm_key, iv, 12) != TR_OK || tr_gcm_aad(&g, aad, sizeof(aad)) != TR_OK ||
        tr_gcm_set_key(&reference_key, &tr_bitslice, raw, 32) != TR_OK)
        return false;
    memcpy(g.counter, counter, 16);
    for (size_t i = 0; i < LEN; i += 16) {
        if (tr_ecb_encrypt(&key, expected + i, counter, 16) != TR_OK)
            return false;
        for (size_t j = 0; j < 16; j++)
            expected[i + j] ^= in[i + j];
        for (int j = 15; j >= 12 && ++counter[j] == 0; j--)
            continue;
    }
    const size_t piece_len = tap_below(&rng, 2) == 0 ? LEN : tap_below(&rng, LEN);
    bool good = (decrypt ? tr_gcm_decrypt : tr_gcm_encrypt)(&g, out, in, piece_len) == TR_OK &&
                (decrypt ? tr_gcm_decrypt : tr_gcm_encrypt)(&g, out + piece_len, in + piece_len,
                                                            LEN - piece_len) == TR_OK &&
                tr_gcm_tag(&g, tag, 16) == TR_OK && tap_same(out, expected, LEN);
    good &= tr_gcm_start(&reference, &reference_key, iv, 12) == TR_OK &&
            tr_gcm_aad(&reference, aad, sizeof(aad)) == TR_OK;
    /* The tag mask is E(J0). The core computes J0 as the first counter minus 1, so both messages
     * need the same first counter. */
    memcpy(reference.counter, from, 16);
    return good && tr_gcm_decrypt(&reference, out, decrypt ? in : expected, LEN) == TR_OK &&
           tr_gcm_tag(&reference, right, 16) == TR_OK && tap_same(tag, right, 16);
}

static void gcm_counter(const struct tr_backend *b)
{
    unsigned good = 0, n = 0;
    for (unsigned blocks = 1; blocks <= 140; blocks++, n++)
        good += wraps_after(b, blocks, false) && wraps_after(b, blocks, true);
    tap_ok(good == n, "%s: GCM's counter wraps in its last 32 bits only, after 1 to %u blocks",
           tr_backend_name(b), n);
}

/* ---- GCM's powers of H, computed when a message first needs them -------------------------- */

/* Whether a message under the key g has the result of bitslice, which uses no powers of H. Encrypts
 * one-shot or streaming, or decrypts one-shot, at random. */
static bool same_message(const struct tr_gcm_key *g, const struct tr_gcm_key *reference,
                         size_t aad_len, size_t len)
{
    enum { MOST = 16 * 80 };
    uint8_t iv[12], aad[MOST], in[MOST], out[MOST], expected[MOST], tag[16], right[16];
    tap_fill(&rng, iv, sizeof(iv));
    tap_fill(&rng, aad, aad_len);
    tap_fill(&rng, in, len);
    bool good = tr_gcm_seal(reference, iv, 12, aad, aad_len, expected, in, len, right, 16) == TR_OK;
    switch (tap_below(&rng, 3)) {
    case 0:
        good &= tr_gcm_seal(g, iv, 12, aad, aad_len, out, in, len, tag, 16) == TR_OK;
        break;
    case 1:
        memcpy(tag, right, 16);
        good &= tr_gcm_open(g, iv, 12, aad, aad_len, out, expected, len, right, 16) == TR_OK;
        memcpy(expected, in, len);
        break;
    default: {
        const size_t cut = tap_below(&rng, len + 1);
        struct tr_gcm m;
        good &= tr_gcm_start(&m, g, iv, 12) == TR_OK && tr_gcm_aad(&m, aad, aad_len) == TR_OK &&
                tr_gcm_encrypt(&m, out, in, cut) == TR_OK &&
                tr_gcm_encrypt(&m, out + cut, in + cut, len - cut) == TR_OK &&
                tr_gcm_tag(&m, tag, 16) == TR_OK;
    }
    }
    return good && tap_same(tag, right, 16) && tap_same(out, expected, len);
}

/* For each of 60 keys, processes messages of random lengths. Each message uses the previous
 * message's key object or a copy of it. */
static void gcm_powers(const struct tr_backend *b)
{
    unsigned good = 0, n = 0;
    for (unsigned keys = 0; keys < 60; keys++) {
        uint8_t raw[32];
        const size_t key_len = 16 + 8 * tap_below(&rng, 3);
        struct tr_gcm_key g[2], reference;
        tap_fill(&rng, raw, sizeof(raw));
        if (tr_gcm_set_key(&g[0], b, raw, key_len) != TR_OK ||
            tr_gcm_set_key(&reference, &tr_bitslice, raw, key_len) != TR_OK) {
            n++;
            continue;
        }
        unsigned last = 0;
        for (unsigned i = 0; i < 12; i++, n++) {
            const size_t most = (size_t)1 << (4 + tap_below(&rng, 7));
            const size_t aad_len = tap_below(&rng, 4) == 0 ? tap_below(&rng, 1024) : 13;
            if (tap_below(&rng, 2) == 0) {
                g[1 - last] = g[last];
                last = 1 - last;
            }
            good += same_message(&g[last], &reference, aad_len, tap_below(&rng, most));
        }
    }
    tap_ok(good == n && n != 0, "%s: GCM equals bitslice for %u of %u messages, 12 for each key",
           tr_backend_name(b), good, n);
}

#define EACH   9
#define OF_GCM 4

/* With the argument "GCM", runs only the tests that are for GCM alone. */
int main(int argc, char **argv)
{
    const struct tr_backend *b;
    const bool gcm_alone = argc == 2 && strcmp(argv[1], "GCM") == 0;
    const unsigned each = OF_GCM + (gcm_alone ? 0 : AEADS * EACH);
    if (argc > 1 && !gcm_alone) {
        fprintf(stderr, "the only valid argument is GCM\n");
        return 2;
    }
    tap_plan(backend_count() * each);
    rng = tap_random(0);
    for (unsigned i = 0; (b = tr_backend_at(i)) != NULL; i++) {
        if (backend_skip(b, each))
            continue;
        gcm_counter(b);
        gcm_powers(b);
        gcm_ends(b);
        gcm_aad_in_two(b);
        for (size_t k = 0; k < AEADS && !gcm_alone; k++) {
            crosscheck(b, &all_aeads[k]);
            every_iv(b, &all_aeads[k]);
            forgeries(b, &all_aeads[k]);
            cut_tags(b, &all_aeads[k]);
            out_of_order(b, &all_aeads[k]);
            wrong_lengths(b, &all_aeads[k]);
        }
    }
    tap_diag("%lu runs", runs);
    return tap_done();
}
