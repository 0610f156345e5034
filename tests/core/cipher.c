/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests struct tr_cipher in every mode, direction and padding, at each valid length up to 600 bytes
 * in random pieces. The output length must be the one that tr_cipher_room() predicts. A copy made
 * mid-stream must continue like the original. An in-place call must work, or be refused and change
 * nothing. */
#include "common.h"

#define LONGEST 600

static struct tap_random rng;
static unsigned long updates, refused;

struct message {
    enum tr_mode mode;
    bool padding, decrypt;
    size_t in_len, out_len;
    uint8_t iv[16], in[LONGEST + 16], out[LONGEST + 16];
};

/* Makes a random message and its expected result: pads it if m->padding (PKCS#7, RFC 5652 section
 * 6.3), then calls the mode's function. */
static void make_message(struct message *m, const struct tr_aes_key *key, size_t len)
{
    uint8_t plaintext[LONGEST + 16], ciphertext[LONGEST + 16];
    size_t padded = len;
    tap_fill(&rng, plaintext, len);
    random_iv(&rng, m->mode, m->iv);
    if (m->padding) {
        padded = len / 16 * 16 + 16;
        memset(plaintext + len, (int)(padded - len), padded - len);
    }
    struct position p = position_at(m->iv);
    if (mode_run(key, m->mode, false, &p, ciphertext, plaintext, padded) != TR_OK)
        tap_ok(false, "the mode refuses %zu bytes", padded);
    m->in_len = m->decrypt ? padded : len;
    m->out_len = m->decrypt ? len : padded;
    memcpy(m->in, m->decrypt ? ciphertext : plaintext, m->in_len);
    memcpy(m->out, m->decrypt ? plaintext : ciphertext, m->out_len);
}

/* A random length of a piece, often short. */
static size_t piece(size_t left)
{
    const size_t limit = tap_below(&rng, 3) == 0 || left < 40 ? left : 40;
    return tap_below(&rng, limit + 1);
}

/* Calls tr_cipher_update(), which must write exactly tr_cipher_room() bytes and nothing else. */
static bool update(struct tr_cipher *c, uint8_t *out, size_t *len, const uint8_t *in, size_t n)
{
    const size_t room = tr_cipher_room(c, n);
    uint8_t around[LONGEST + 48];
    uint8_t *inner = around + tap_below(&rng, 16);
    memset(around, 0x5a, sizeof(around));
    updates++;
    if (tr_cipher_update(c, inner, len, n != 0 ? in : NULL, n) != TR_OK || *len != room)
        return false;
    memcpy(out, inner, room);
    memset(inner, 0x5a, room);
    for (size_t i = 0; i < sizeof(around); i++)
        if (around[i] != 0x5a)
            return false;
    return true;
}

/* Processes the message from `at` on, then calls final(). */
static bool go_on(struct tr_cipher *c, const struct message *m, size_t at, uint8_t *out,
                  size_t done)
{
    size_t len;
    while (at < m->in_len) {
        const size_t n = piece(m->in_len - at);
        if (!update(c, out + done, &len, m->in + at, n))
            return false;
        at += n;
        done += len;
    }
    uint8_t last[16];
    if (tr_cipher_final(c, last, &len) != TR_OK || done + len != m->out_len)
        return false;
    memcpy(out + done, last, len);
    return tap_same(out, m->out, m->out_len);
}

static bool in_pieces(const struct message *m, const struct tr_aes_key *key)
{
    struct tr_cipher c, copy;
    uint8_t out[LONGEST + 32], out_of_copy[LONGEST + 32];
    size_t done = 0, at = 0;
    memset(&c, 0xa5, sizeof(c));
    if (tr_cipher_start(&c, key, m->mode, m->decrypt, m->padding, m->iv) != TR_OK)
        return false;
    for (const size_t end = tap_below(&rng, m->in_len + 1); at < end;) {
        size_t len, n = piece(end - at);
        if (!update(&c, out + done, &len, m->in + at, n))
            return false;
        at += n;
        done += len;
    }
    copy = c;
    memcpy(out_of_copy, out, done);
    return go_on(&c, m, at, out, done) && go_on(&copy, m, at, out_of_copy, done);
}

/* Processes a piece in place. If the call is refused, it must change nothing, and the same call
 * with a separate output must succeed. */
static bool piece_in_place(struct tr_cipher *c, uint8_t *out, size_t *len, const uint8_t *in,
                           size_t n)
{
    uint8_t both[LONGEST + 32];
    const struct tr_cipher before = *c;
    memset(both, 0x5a, sizeof(both));
    memcpy(both, in, n);
    const size_t room = tr_cipher_room(c, n);
    const enum tr_status status = tr_cipher_update(c, both, len, both, n);
    if (status == TR_OK) {
        memcpy(out, both, *len);
        return *len == room;
    }
    refused++;
    return status == TR_ERR_OVERLAP && *len == 0 && tap_same(both, in, n) &&
           tap_same(c, &before, sizeof(before)) && c->used != 0 && update(c, out, len, in, n);
}

static bool in_place(const struct message *m, const struct tr_aes_key *key)
{
    struct tr_cipher c;
    uint8_t out[LONGEST + 32], last[16];
    size_t done = 0, len;
    memset(&c, 0, sizeof(c));
    if (tr_cipher_start(&c, key, m->mode, m->decrypt, m->padding, m->iv) != TR_OK)
        return false;
    for (size_t at = 0; at < m->in_len;) {
        const size_t n = at == 0 && tap_below(&rng, 2) == 0 ? m->in_len : piece(m->in_len - at);
        if (!piece_in_place(&c, out + done, &len, m->in + at, n))
            return false;
        at += n;
        done += len;
    }
    if (tr_cipher_final(&c, last, &len) != TR_OK)
        return false;
    memcpy(out + done, last, len);
    return done + len == m->out_len && tap_same(out, m->out, m->out_len);
}

static void test(const struct tr_backend *b, struct message *m)
{
    unsigned n = 0, good = 0;
    const size_t unit = mode_is_blocks(m->mode) && !m->padding ? 16 : 1;
    for (size_t len = 0; len <= LONGEST; len += unit, n++) {
        uint8_t raw[32];
        tap_fill(&rng, raw, sizeof(raw));
        const struct tr_aes_key key = key_for(b, raw, key_lengths[len / unit % 3]);
        make_message(m, &key, len);
        const bool pieces = in_pieces(m, &key), same_place = in_place(m, &key);
        good += pieces && same_place;
        if ((!pieces || !same_place) && good + 3 > n)
            tap_diag("wrong result for %zu bytes %s", len, pieces ? "in place" : "in pieces");
    }
    tap_ok(good == n, "%s: %s%s %s is right at %u of %u lengths", tr_backend_name(b),
           mode_name(m->mode), m->padding ? " with padding" : "",
           m->decrypt ? "decryption" : "encryption", good, n);
}

int main(void)
{
    static struct message m;
    const struct tr_backend *b;
    const unsigned each = 2 * (MODES + 2);
    tap_plan(backend_count() * each + 1);
    rng = tap_random(0);
    for (unsigned i = 0; (b = tr_backend_at(i)) != NULL; i++) {
        if (backend_skip(b, each))
            continue;
        for (int k = 0; k < MODES; k++)
            for (int way = 0; way < (mode_is_blocks(all_modes[k]) ? 4 : 2); way++) {
                m.mode = all_modes[k];
                m.decrypt = way & 1;
                m.padding = way & 2;
                test(b, &m);
            }
    }
    tap_ok(refused > 0 && refused < updates / 2,
           "some in-place updates are refused: %lu, less than half of the %lu other updates",
           refused, updates);
    return tap_done();
}
