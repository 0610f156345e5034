/* SPDX-License-Identifier: BSD-2-Clause */
/* Compares the calls for runs of XTS data units with one call per data unit, on every backend.
 * Lengths and numbers of data units are random, and runs are in place or out of place. The low
 * bytes of some data-unit numbers are 0xff, so that an increment carries. No byte outside the
 * output may change. Also tests the errors of these calls. */
#include "common.h"

#define MOST_UNITS 40
#define MOST_BYTES 20000
#define MARGIN     32

static struct tap_random rng;
static uint8_t in[MOST_BYTES + MARGIN], out[MOST_BYTES + MARGIN], expected[MOST_BYTES + MARGIN];

/* Adds 1 to a little-endian number of 16 bytes. */
static void add_one(uint8_t number[16])
{
    for (unsigned i = 0; i < 16 && ++number[i] == 0; i++)
        ;
}

static bool one_run(const struct tr_xts_key *key, size_t len, size_t units, bool decrypt)
{
    static const unsigned ones[] = {0, 1, 4, 8, 16}; /* how many low bytes are 0xff */
    uint8_t number[16], first[16];
    tap_fill(&rng, number, sizeof(number));
    memset(number, 0xff, ones[tap_below(&rng, 5)]);
    memcpy(first, number, sizeof(first));
    tap_fill(&rng, in, sizeof(in));
    tap_fill(&rng, out, sizeof(out));
    const bool in_place = tap_below(&rng, 2) == 0;
    uint8_t *to = in_place ? in : out;
    memcpy(expected, to, sizeof(expected));
    bool good = true;
    for (size_t i = 0; i < units; i++, add_one(number))
        good &= (decrypt ? tr_xts_decrypt : tr_xts_encrypt)(key, number, expected + i * len,
                                                            in + i * len, len) == TR_OK;
    good &= (decrypt ? tr_xts_decrypt_units : tr_xts_encrypt_units)(key, first, to, in, len,
                                                                    units) == TR_OK;
    return good && tap_same(to, expected, sizeof(expected));
}

static void test_runs(const struct tr_backend *b)
{
    /* Some backends have bulk operations for up to 16 data units of 512, 1024, 1536 or 2048 bytes
     * (TR_OP_XTS_ENC_UNITS, TR_OP_XTS_DEC_UNITS). */
    static const size_t lengths[] = {16, 31, 100, 512, 520, 1024, 1350, 1536, 2048, 2560, 4096};
    enum { LENGTHS = sizeof(lengths) / sizeof(*lengths) };
    unsigned runs = 0, right = 0;
    for (size_t key_len = 32; key_len <= 64; key_len += 32) {
        uint8_t raw[64];
        struct tr_xts_key key;
        tap_fill(&rng, raw, sizeof(raw));
        if (tr_xts_set_key(&key, b, raw, key_len) != TR_OK)
            break;
        for (unsigned i = 0; i < 8 * LENGTHS; i++) {
            const size_t len = i < 4 * LENGTHS ? lengths[i % LENGTHS] : 16 + tap_below(&rng, 600);
            const size_t most = MOST_BYTES / len < MOST_UNITS ? MOST_BYTES / len : MOST_UNITS;
            const size_t units = i % 10 == 0 ? 0 : 1 + tap_below(&rng, most);
            right += one_run(&key, len, units, i / LENGTHS % 2 != 0);
            runs++;
        }
    }
    tap_ok(runs == 16 * LENGTHS && right == runs, "%s: %u of %u runs equal single calls",
           tr_backend_name(b), right, runs);
}

static void test_errors(void)
{
    const uint8_t raw[32] = {1}, equal[32] = {0}, number[16] = {0};
    struct tr_xts_key key, weak;
    bool good = tr_xts_set_key(&key, NULL, raw, 32) == TR_OK &&
                tr_xts_set_key(&weak, NULL, equal, 32) == TR_OK;
    memcpy(expected, out, sizeof(expected));
    good &= tr_xts_encrypt_units(&key, number, out, in, 16, SIZE_MAX / 8) == TR_ERR_LENGTH &&
            tr_xts_decrypt_units(&key, number, out, in, 15, 2) == TR_ERR_LENGTH &&
            tr_xts_encrypt_units(&key, number, out + 512, out, 512, 2) == TR_ERR_OVERLAP &&
            tr_xts_encrypt_units(&weak, number, out, in, 16, 2) == TR_ERR_EQUAL_KEYS &&
            tr_xts_encrypt_units(&key, number, out, in, 512, 0) == TR_OK;
    tap_ok(good && tap_same(out, expected, sizeof(expected)),
           "a run that is too long, overlaps or has equal keys changes nothing");
}

int main(void)
{
    rng = tap_random(1);
    tap_plan(backend_count() + 1);
    for (unsigned i = 0; i < backend_count(); i++) {
        if (!backend_skip(tr_backend_at(i), 1))
            test_runs(tr_backend_at(i));
    }
    test_errors();
    return tap_done();
}
