/* SPDX-License-Identifier: BSD-2-Clause */
/* Compares every backend with bitslice in each mode, key size and direction. Covers each valid
 * length up to 600 bytes and some up to 20 KiB (CFB8: up to 200 bytes, CFB1: 64). Messages are
 * processed in one call and in random pieces, at random alignments, in place and out of place.
 * With TENROUNDS_STRIDE (tap.h), covers a random part of the lengths. */
#include "common.h"

#include <assert.h>

#define LONGEST   600
#define VERYLONG  20480
#define LONG_RUNS 16
#define BACKENDS  32 /* at least the number of backends of any architecture */
#define MARGIN    64 /* bytes for alignment and to detect writes outside the output */

static struct tap_random rng;
static unsigned long runs, bytes;

struct message {
    const struct tr_backend *backend;
    enum tr_mode mode;
    bool decrypt;
    size_t key_len, len;
    uint8_t raw_key[32], iv[16];
    uint8_t in[VERYLONG], expected[VERYLONG];
    struct position end; /* the expected position after the message */
};

static void make_message(struct message *m)
{
    tap_fill(&rng, m->raw_key, sizeof(m->raw_key));
    random_iv(&rng, m->mode, m->iv);
    tap_fill(&rng, m->in, m->len);
    const struct tr_aes_key key = key_for(&tr_bitslice, m->raw_key, m->key_len);
    m->end = position_at(m->iv);
    if (mode_run(&key, m->mode, m->decrypt, &m->end, m->expected, m->in, m->len) != TR_OK)
        tap_ok(false, "bitslice refused %zu bytes", m->len);
}

/* The length of the next call: all remaining bytes unless `pieces` is set. */
static size_t next_piece(const struct message *m, bool pieces, size_t left)
{
    const size_t unit = mode_is_blocks(m->mode) ? 16 : 1;
    if (!pieces || left == 0 || mode_is_whole(m->mode))
        return left;
    const size_t limit = tap_below(&rng, 3) == 0 ? left : left < 48 ? left : 48;
    return tap_below(&rng, limit / unit + 1) * unit;
}

static bool is_untouched(const uint8_t *from, const uint8_t *end)
{
    while (from < end && *from == 0x5a)
        from++;
    return from == end;
}

/* Processes the message once. Returns whether the output, the end position and the bytes around the
 * output are right. */
static bool run(const struct message *m, bool in_place, bool pieces)
{
    static uint8_t in_area[VERYLONG + 2 * MARGIN], out_area[VERYLONG + 2 * MARGIN];
    uint8_t *in = in_area + tap_below(&rng, 64), *base = in_place ? in_area : out_area;
    uint8_t *out = in_place ? in : out_area + tap_below(&rng, 64);
    const struct tr_aes_key key = key_for(m->backend, m->raw_key, m->key_len);
    struct position p = position_at(m->iv);
    memset(base, 0x5a, m->len + 2 * MARGIN);
    memcpy(in, m->in, m->len);
    for (size_t at = 0; at < m->len;) {
        const size_t n = next_piece(m, pieces, m->len - at);
        if (mode_run(&key, m->mode, m->decrypt, &p, out + at, in + at, n) != TR_OK)
            return false;
        at += n;
    }
    runs++;
    bytes += m->len;
    bool good = tap_same(out, m->expected, m->len) && position_same(m->mode, &p, &m->end);
    good = good && (in_place || tap_same(in, m->in, m->len));
    const uint8_t *const end = base + m->len + 2 * MARGIN;
    return good && is_untouched(base, out) && is_untouched(out + m->len, end);
}

static bool all_ways(const struct message *m)
{
    bool good = true;
    for (int way = 0; way < 4 && good; way++) {
        good = run(m, way & 1, way & 2);
        if (!good)
            tap_diag("wrong result: %zu bytes, %s, in %s", m->len,
                     way & 1 ? "in place" : "to a separate buffer",
                     way & 2 ? "pieces" : "one call");
    }
    return good;
}

/* Compares every backend with bitslice for one message. All backends share the message, because
 * bitslice takes longer to compute the result than the fastest backends. After its first wrong
 * result, a backend takes no further part. */
static void one_message(struct message *m, unsigned good[BACKENDS], unsigned n)
{
    make_message(m);
    for (unsigned b = 0; (m->backend = tr_backend_at(b)) != NULL; b++)
        if (backend_usable(m->backend) && good[b] == n)
            good[b] += all_ways(m);
}

static void crosscheck(struct message *m)
{
    unsigned good[BACKENDS] = {0}, n = 0;
    const size_t unit = mode_is_blocks(m->mode) ? 16 : 1;
    const size_t longest = mode_longest(m->mode, LONGEST);
    for (m->len = mode_shortest(m->mode); m->len <= longest; m->len += unit * tap_stride(&rng))
        one_message(m, good, n++);
    for (size_t i = 0; i < LONG_RUNS && longest == LONGEST; i += tap_stride(&rng)) {
        m->len = mode_shortest(m->mode) + tap_below(&rng, (VERYLONG - 16) / unit + 1) * unit;
        one_message(m, good, n++);
    }
    for (unsigned b = 0; (m->backend = tr_backend_at(b)) != NULL; b++)
        if (backend_usable(m->backend))
            tap_ok(good[b] == n, "%s: %s-%zu %s equals bitslice at %u lengths",
                   tr_backend_name(m->backend), mode_name(m->mode), m->key_len * 8,
                   m->decrypt ? "decryption" : "encryption", n);
}

/* The arguments name the modes to cover. Without arguments, the test covers all modes. */
int main(int argc, char **argv)
{
    static struct message m;
    const unsigned modes = modes_wanted(argc, argv);
    assert(backend_count() <= BACKENDS);
    tap_plan(backend_count() * 3 * modes * 2);
    rng = tap_random(0);
    for (unsigned b = 0; b < backend_count(); b++)
        (void)backend_skip(tr_backend_at(b), 3 * modes * 2);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < ALL_MODES; k++)
            for (int decrypt = 0; decrypt < 2 && mode_wanted(all_modes[k], argv); decrypt++) {
                m.key_len = key_lengths[i];
                m.mode = all_modes[k];
                m.decrypt = decrypt;
                crosscheck(&m);
            }
    tap_diag("%lu runs, %lu bytes", runs, bytes);
    return tap_done();
}
