/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The authenticated modes: every backend against bitslice, at each length from 0 to 600 bytes and some
 * longer, with random lengths of key, IV, AAD and tag, both ways, in one call and in pieces, in place and
 * not, at random alignments; what a wrong tag, AAD, IV or ciphertext does; calls out of order.
 */
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

static bool keyed(const struct message *m, const struct tr_backend *b, union aead_state *s)
{
    return m->aead->set_key(s, b, m->key, m->n.key) == TR_OK;
}

/* The ciphertext and the tag are bitslice's. */
static bool make_message(struct message *m, const struct aead *a, const struct aead_lengths *n)
{
    union aead_state s;
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

static enum tr_status in_pieces(const struct message *m, union aead_state *s, bool decrypt,
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

/* ---- All backends give what bitslice gives -------------------------------------------------- */

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
    union aead_state s;
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
        tap_diag("%zu bytes, key %zu, IV %zu, AAD %zu, tag %zu: %s, %s, %s", m->n.text, m->n.key,
                 m->n.iv, m->n.aad, m->n.tag, way & DECRYPT ? "decryption" : "encryption",
                 way & IN_PLACE ? "in place" : "to another place",
                 way & PIECES   ? "in pieces"
                 : way & STREAM ? "streaming"
                                : "in one call");
        return false;
    }
    return true;
}

/* The lengths of a run: short texts one by one, then long texts, then long AAD. */
static struct aead_lengths lengths_of(const struct aead *a, unsigned i)
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
    for (; n <= LONGEST + LONG_RUNS && good == n; n++) {
        const struct aead_lengths lengths = lengths_of(a, n);
        good += make_message(&m, a, &lengths) && all_ways(&m, b);
    }
    tap_ok(good == n, "%s: %s, %u lengths", tr_backend_name(b), a->name, n);
}

/* Every length of IV that the mode takes. */
static void every_iv(const struct tr_backend *b, const struct aead *a)
{
    static struct message m;
    unsigned good = 0, n = 0;
    for (size_t iv = a->iv_min; iv <= a->iv_max && good == n; iv++, n++) {
        struct aead_lengths lengths = aead_random_lengths(&rng, a, 100);
        lengths.iv = iv;
        good += make_message(&m, a, &lengths) && all_ways(&m, b);
    }
    tap_ok(good == n, "%s: %s, IVs of %zu to %zu bytes", tr_backend_name(b), a->name, a->iv_min,
           a->iv_max);
}

/* ---- What is not authentic ------------------------------------------------------------------ */

/* Refused as such; no plaintext from the one-shot call. */
static bool rejected(const struct message *m, const struct tr_backend *b)
{
    static uint8_t out[VERYLONG];
    union aead_state s;
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

/* With each bit of `where` turned over. */
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
    tap_ok(good[0], "%s: %s refuses a tag with any bit turned over", tr_backend_name(b), a->name);
    tap_ok(good[1], "%s: %s refuses a ciphertext with any bit turned over", tr_backend_name(b),
           a->name);
    tap_ok(good[2], "%s: %s refuses AAD with any bit turned over", tr_backend_name(b), a->name);
    tap_ok(good[3], "%s: %s refuses an IV with any bit turned over", tr_backend_name(b), a->name);
}

/* A tag of each length is the beginning of the whole (but for CCM and OCB, which put the length into the
 * first block), and only all of it is compared. */
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
    tap_ok(good, "%s: %s, every length of tag: that much is compared", tr_backend_name(b), a->name);
}

/* ---- */

#define EACH 7

int main(void)
{
    const struct tr_backend *b;
    tap_plan(backend_count() * AEADS * EACH);
    rng = tap_random(0);
    for (unsigned i = 0; (b = tr_backend_at(i)) != NULL; i++) {
        if (backend_skip(b, AEADS * EACH))
            continue;
        for (size_t k = 0; k < AEADS; k++) {
            crosscheck(b, &all_aeads[k]);
            every_iv(b, &all_aeads[k]);
            forgeries(b, &all_aeads[k]);
            cut_tags(b, &all_aeads[k]);
        }
    }
    tap_diag("%lu runs", runs);
    return tap_done();
}
