/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the errors of the core: each error has its own status, and the call changes nothing. */
#include "common.h"

#include <limits.h>

#define ROOM 512

static struct tap_random rng;
static const struct tr_backend *backend; /* the selected backend */
static struct tr_aes_key key;

/* Everything that a call may change. The test compares it with a copy made before the call. */
struct world {
    uint8_t memory[ROOM];
    struct position p;
};

static struct world world_of(unsigned used)
{
    struct world w;
    memset(&w, 0, sizeof(w));
    tap_fill(&rng, &w, sizeof(w));
    w.p.used = used;
    return w;
}

/* Whether the call fails with the expected status and changes nothing. */
static bool refused(enum tr_mode mode, bool decrypt, unsigned used, size_t out, size_t in,
                    size_t len, enum tr_status expected)
{
    struct world w = world_of(used), before = w;
    const enum tr_status status =
        mode_run(&key, mode, decrypt, &w.p, w.memory + out, w.memory + in, len);
    if (status == expected && tap_same(&w, &before, sizeof(w)))
        return true;
    tap_diag("%s%s, output at %zu, input at %zu, %zu bytes, used %u: %s", mode_name(mode),
             decrypt ? " decryption" : "", out, in, len, used, tr_strerror(status));
    return false;
}

static void test_keys(void)
{
    unsigned n = 0, good = 0;
    uint8_t raw[80];
    tap_fill(&rng, raw, sizeof(raw));
    for (size_t len = 0; len <= sizeof(raw) + 1; len++) {
        if (len == 16 || len == 24 || len == 32)
            continue;
        struct tr_aes_key k, before;
        memset(&k, 0x5a, sizeof(k));
        memcpy(&before, &k, sizeof(k));
        const size_t wrong = len > sizeof(raw) ? SIZE_MAX : len;
        good += tr_aes_set_key(&k, backend, raw, wrong) == TR_ERR_KEY_LENGTH &&
                tap_same(&k, &before, sizeof(k));
        n++;
    }
    tap_ok(good == n, "tr_aes_set_key() refuses %u of %u wrong key lengths", good, n);
}

static void test_lengths(void)
{
    unsigned n = 0, good = 0;
    for (int m = 0; m < MODES; m++)
        for (size_t len = 1; len < 200 && mode_is_blocks(all_modes[m]); len++)
            for (int way = 0; way < 4 && len % 16 != 0; way++, n++)
                good += refused(all_modes[m], way & 1, 0, way & 2 ? 0 : 256, 0, len, TR_ERR_LENGTH);
    tap_ok(good == n, "ECB and CBC refuse %u of %u lengths that are not whole blocks", good, n);
}

static void test_used(void)
{
    static const unsigned wrong[] = {16, 17, 31, 32, 255, 256, 65536, INT_MAX, UINT_MAX};
    unsigned n = 0, good = 0;
    for (int m = 0; m < MODES; m++)
        for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong) && !mode_is_blocks(all_modes[m]); i++)
            for (size_t len = 0; len < 40; len += 3, n += 2) {
                good += refused(all_modes[m], false, wrong[i], 256, 0, len, TR_ERR_LENGTH);
                good += refused(all_modes[m], true, wrong[i], 0, 0, len, TR_ERR_LENGTH);
            }
    tap_ok(good == n, "the modes refuse %u of %u values of *used above 15", good, n);
}

/* Tests each output that begins inside the input, at many lengths up to 130 bytes. In CFB128, OFB
 * and CTR, most calls start in the middle of a block. */
static void test_overlap(enum tr_mode mode)
{
    unsigned n = 0, good = 0;
    const size_t unit = mode_is_blocks(mode) ? 16 : 1;
    for (size_t len = unit > mode_shortest(mode) ? unit : mode_shortest(mode) + 1; len <= 130;
         len += len < 48 ? unit : 2 * unit)
        for (size_t offset = 1; offset < len; offset++)
            for (int decrypt = 0; decrypt < 2; decrypt++, n++) {
                const unsigned used = mode_is_blocks(mode) ? 0 : (unsigned)tap_below(&rng, 16);
                const size_t in = tap_below(&rng, 64);
                good += refused(mode, decrypt, used, in + offset, in, len, TR_ERR_OVERLAP);
            }
    tap_ok(good == n, "%s refuses %u of %u outputs that begin inside the input", mode_name(mode),
           good, n);
}

/* Tests buffers longer than 2 GiB, which in 32-bit code span more than half of the addresses. No
 * buffer is accessed. */
static void test_long_overlap(void)
{
    unsigned n = 0, good = 0;
    for (int m = 0; m < ALL_MODES; m++)
        for (size_t len = 0x80000010; len <= 0x80000020;
             len += mode_is_blocks(all_modes[m]) ? 16 : 1)
            /* XTS refuses the length, and CFB1 takes it in bits. */
            for (int way = 0; way < 2 && all_modes[m] != TEST_XTS && all_modes[m] != TEST_CFB1;
                 way++, n++)
                good += refused(all_modes[m], way, 0, 16, 0, len, TR_ERR_OVERLAP);
    tap_ok(good == n, "the modes refuse %u of %u overlaps in buffers of more than 2 GiB", good, n);
}

/* Tests that adjacent, identical and empty buffers do not count as overlap. */
static void test_no_overlap(void)
{
    unsigned n = 0, good = 0;
    for (int m = 0; m < ALL_MODES; m++)
        for (size_t len = mode_shortest(all_modes[m]); len <= 128; len += 16)
            for (int way = 0; way < 3; way++, n++) {
                struct world w = world_of(0);
                uint8_t *in = w.memory + 200, *out = way == 0 ? in : way == 1 ? in + len : in - len;
                good += mode_run(&key, all_modes[m], false, &w.p, out, in, len) == TR_OK;
                if (len == 0)
                    good += mode_run(&key, all_modes[m], true, &w.p, in + 3, in, 0) == TR_OK, n++;
            }
    tap_ok(good == n, "the modes accept %u of %u adjacent, identical or empty buffers", good, n);
}

/* ---- struct tr_cipher --------------------------------------------------------------------- */

static struct tr_cipher cipher(enum tr_mode mode, bool decrypt, bool padding)
{
    static const uint8_t iv[16] = {1, 2, 3};
    struct tr_cipher c;
    memset(&c, 0, sizeof(c));
    c.key = &key;
    if (mode != TR_MODE_NONE && tr_cipher_start(&c, &key, mode, decrypt, padding, iv) != TR_OK)
        tap_ok(false, "tr_cipher_start(%s) fails", mode_name(mode));
    return c;
}

/* Whether update(), or final() if len is SIZE_MAX, gives the expected error and changes nothing. */
static bool cipher_refused(struct tr_cipher *c, size_t out, size_t in, size_t len,
                           enum tr_status expected)
{
    uint8_t memory[ROOM], before_memory[ROOM];
    struct tr_cipher before;
    size_t written = 99;
    tap_fill(&rng, memory, ROOM);
    memcpy(before_memory, memory, ROOM);
    memcpy(&before, c, sizeof(before));
    const enum tr_status status =
        len == SIZE_MAX ? tr_cipher_final(c, memory + out, &written)
                        : tr_cipher_update(c, memory + out, &written, memory + in, len);
    if (status == expected && written == 0 && tap_same(memory, before_memory, ROOM) &&
        tap_same(c, &before, sizeof(before)))
        return true;
    tap_diag("mode %u, output at %zu, input at %zu, %zu bytes, used %u: %s", c->mode, out, in, len,
             c->used, tr_strerror(status));
    return false;
}

static void test_start(void)
{
    static const uint8_t iv[16];
    static const unsigned no_mode[] = {0, 6, 7, 255, 256 + TR_CTR, 0x7fffffff};
    unsigned n = 0, good = 0;
    for (size_t i = 0; i < sizeof(no_mode) / sizeof(*no_mode) + MODES; i++) {
        struct tr_cipher c, before;
        tap_fill(&rng, &c, sizeof(c));
        memcpy(&before, &c, sizeof(c));
        enum tr_status status;
        if (i < MODES)
            status = tr_cipher_start(&c, &key, all_modes[i], 0, 0, NULL);
        else
            status = tr_cipher_start(&c, &key, (enum tr_mode)no_mode[i - MODES], 0, 0, iv);
        if (i < MODES && all_modes[i] == TR_ECB)
            continue; /* needs no IV */
        good += status == TR_ERR_MODE && tap_same(&c, &before, sizeof(c));
        n++;
    }
    tap_ok(good == n, "tr_cipher_start() refuses %u of %u modes that do not exist or lack their IV",
           good, n);
}

static void test_not_started(void)
{
    unsigned n = 0, good = 0;
    static const uint8_t modes[] = {TR_MODE_NONE, TR_CTR + 1, 200, 255};
    for (size_t i = 0; i < sizeof(modes); i++, n += 3) {
        struct tr_cipher c = cipher(TR_MODE_NONE, false, true);
        c.mode = modes[i];
        good += cipher_refused(&c, 0, 0, 32, TR_ERR_MODE);
        good += cipher_refused(&c, 256, 0, 0, TR_ERR_MODE);
        good += cipher_refused(&c, 0, 0, SIZE_MAX, TR_ERR_MODE);
    }
    tap_ok(good == n, "struct tr_cipher refuses %u of %u calls if it was not started", good, n);
}

/* Tests that every mode refuses impossible values of `used`. The caller can write to this field. */
static void test_cipher_used(void)
{
    static const unsigned wrong[] = {17, 31, 32, 255, 256, INT_MAX, UINT_MAX - 15, UINT_MAX};
    unsigned n = 0, good = 0;
    for (int m = 0; m < MODES; m++)
        for (int way = 0; way < (mode_is_blocks(all_modes[m]) ? 4 : 2); way++)
            for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++, n += 2) {
                struct tr_cipher c = cipher(all_modes[m], way & 1, way & 2);
                c.used = wrong[i];
                good += cipher_refused(&c, 256, 0, 5, TR_ERR_LENGTH);
                good += cipher_refused(&c, 256, 0, 64, TR_ERR_LENGTH);
                if (mode_is_blocks(all_modes[m]))
                    good += cipher_refused(&c, 256, 0, SIZE_MAX, TR_ERR_LENGTH), n++;
            }
    tap_ok(good == n, "struct tr_cipher refuses %u of %u impossible values of `used`", good, n);
}

static void test_cipher_overlap(enum tr_mode mode)
{
    unsigned n = 0, good = 0;
    for (size_t len = 16; len <= 96; len += 16)
        for (size_t offset = 1; offset < len; offset++)
            for (int decrypt = 0; decrypt < 2; decrypt++, n++) {
                struct tr_cipher c = cipher(mode, decrypt, false);
                good += cipher_refused(&c, offset, 0, len, TR_ERR_OVERLAP);
            }
    tap_ok(good == n, "struct tr_cipher, %s: refuses %u of %u outputs that begin inside the input",
           mode_name(mode), good, n);
}

/* Tests final() on wrong lengths. Without padding it refuses a partial block. With padding it
 * refuses to decrypt a message that is empty or not whole blocks. */
static void test_final_length(void)
{
    unsigned n = 0, good = 0;
    for (int way = 0; way < 4; way++)
        for (size_t len = 0; len < 64; len++) {
            struct tr_cipher c = cipher(way & 1 ? TR_ECB : TR_CBC, true, way & 2);
            uint8_t in[64], out[64];
            size_t written;
            if (way & 2 ? len > 0 && len % 16 == 0 : len % 16 == 0)
                continue;
            tap_fill(&rng, in, len);
            good += tr_cipher_update(&c, out, &written, in, len) == TR_OK &&
                    cipher_refused(&c, 0, 0, SIZE_MAX, TR_ERR_LENGTH);
            n++;
        }
    tap_ok(good == n, "tr_cipher_final() refuses %u of %u wrong message lengths", good, n);
}

/* Whether wrong padding in the last block is refused. The block follows `before` good blocks. */
static bool bad_padding(enum tr_mode mode, size_t before, const uint8_t last[16])
{
    uint8_t text[64];
    struct tr_cipher c = cipher(mode, false, false);
    size_t written;
    const size_t len = 16 * before + 16;
    tap_fill(&rng, text, sizeof(text));
    memcpy(text + 16 * before, last, 16);
    bool good = tr_cipher_update(&c, text, &written, text, len) == TR_OK && written == len;
    c = cipher(mode, true, true);
    good &= tr_cipher_update(&c, text, &written, text, len) == TR_OK && written == 16 * before;
    return good && cipher_refused(&c, 0, 0, SIZE_MAX, TR_ERR_PADDING);
}

static void test_padding(enum tr_mode mode)
{
    unsigned n = 0, good = 0;
    uint8_t block[16];
    for (unsigned last = 0; last < 256; last++) { /* invalid padding lengths */
        memset(block, (int)last, 16);
        if (last == 0 || last > 16)
            good += bad_padding(mode, last % 3, block), n++;
    }
    for (unsigned pad = 2; pad <= 16; pad++) /* each bit of the padding except its last byte */
        for (unsigned at = 16 - pad; at < 15; at++)
            for (unsigned bit = 0; bit < 8; bit++, n++) {
                tap_fill(&rng, block, 16);
                memset(block + 16 - pad, (int)pad, pad);
                block[at] ^= (uint8_t)(1 << bit);
                good += bad_padding(mode, bit % 3, block);
            }
    tap_ok(good == n, "%s: tr_cipher_final() refuses %u of %u wrong paddings", mode_name(mode),
           good, n);
}

/* ---- Texts, names and lengths ------------------------------------------------------------- */

static void test_strings(void)
{
    const int last = TR_ERR_EQUAL_KEYS;
    int distinct = 0;
    for (int i = 0; i <= last; i++) {
        const char *text = tr_strerror((enum tr_status)i);
        bool same = text == NULL || *text == '\0' || text[strlen(text) - 1] == '.';
        for (int j = 0; j < i && !same; j++)
            same = strcmp(text, tr_strerror((enum tr_status)j)) == 0;
        distinct += !same;
    }
    const char *unknown = tr_strerror((enum tr_status)1000);
    tap_ok(distinct == last + 1, "every error has its own text");
    tap_ok(unknown != NULL && tr_strerror((enum tr_status) - 1) == unknown &&
               tr_strerror((enum tr_status)(last + 1)) == unknown,
           "an unknown error has a text, too; the last known one is %d", last);
    tap_ok(strcmp(tr_version(), TR_VERSION_STRING) == 0, "the version is %s", tr_version());
    tap_ok(tr_backend_by_name("nosuch") == NULL && tr_backend_by_name("") == NULL &&
               tr_backend_by_name("bitslic") == NULL && tr_backend_by_name("bitslicee") == NULL,
           "an unknown name gives no backend");
    tap_ok(tr_backend_at(backend_count()) == NULL && tr_backend_at(UINT_MAX) == NULL,
           "there is no backend past the last");
    tap_ok(tr_feature_name(TR_FEATURE_COUNT) == NULL && tr_feature_name(UINT_MAX) == NULL,
           "there is no feature past the last");
}

/* ---- XTS, ciphertext stealing, key wrap ----------------------------------------------------- */

static void test_short(void)
{
    unsigned n = 0, good = 0;
    for (int m = 0; m < ALL_MODES; m++)
        for (size_t len = 0; len < 16 && mode_is_whole(all_modes[m]); len++)
            for (int way = 0; way < 4; way++, n++)
                good += refused(all_modes[m], way & 1, 0, way & 2 ? 0 : 256, 0, len, TR_ERR_LENGTH);
    tap_ok(good == n, "XTS and ciphertext stealing refuse %u of %u messages shorter than a block",
           good, n);
}

/* Tests that XTS refuses data units of more than 2^20 blocks (IEEE 1619 section 5.1), and equal
 * keys except in decryption. */
static void test_xts(void)
{
    uint8_t raw[64], tweak[16] = {1}, in[40] = {2}, out[40] = {0}, before[40] = {0};
    struct tr_xts_key x;
    bool good = refused(TEST_XTS, false, 0, 256, 0, (1u << 24) + 1, TR_ERR_LENGTH) &&
                refused(TEST_XTS, true, 0, 256, 0, SIZE_MAX, TR_ERR_LENGTH);
    for (size_t half = 16; half <= 32; half += 16) {
        tap_fill(&rng, raw, half);
        memcpy(raw + half, raw, half);
        good &= tr_xts_set_key(&x, backend, raw, 2 * half) == TR_OK && tr_xts_keys_equal(&x) == 1 &&
                tr_xts_encrypt(&x, tweak, out, in, 40) == TR_ERR_EQUAL_KEYS &&
                tr_xts_encrypt_units(&x, tweak, out, in, 20, 2) == TR_ERR_EQUAL_KEYS &&
                tap_same(out, before, 40) && tr_xts_decrypt(&x, tweak, out, in, 40) == TR_OK;
        memset(out, 0, sizeof(out));
        raw[half - 1] ^= 0x80;
        good &= tr_xts_set_key(&x, backend, raw, 2 * half) == TR_OK && tr_xts_keys_equal(&x) == 0 &&
                tr_xts_encrypt(&x, tweak, out, in, 40) == TR_OK;
        memset(out, 0, sizeof(out));
    }
    for (size_t len = 0; len <= 65; len++)
        good &=
            len == 32 || len == 64 || tr_xts_set_key(&x, backend, raw, len) == TR_ERR_KEY_LENGTH;
    tap_ok(good, "XTS refuses equal keys, wrong key lengths and data units that are too long");
}

static void test_wrap_lengths(void)
{
    uint8_t in[128] = {3}, out[128] = {0}, before[128] = {0};
    bool good = true;
    size_t out_len;
    for (int inverse = 0; inverse < 2; inverse++) {
        for (size_t len = 0; len <= 80; len++) {
            const bool whole = len % 8 == 0;
            if (!whole || len < 16)
                good &= tr_kw_wrap(&key, inverse, NULL, out, in, len) == TR_ERR_LENGTH;
            if (!whole || len < 24)
                good &= tr_kw_unwrap(&key, inverse, NULL, out, in, len) == TR_ERR_LENGTH;
            if (len == 0)
                good &= tr_kwp_wrap(&key, inverse, NULL, out, in, len) == TR_ERR_LENGTH;
            if (!whole || len < 16)
                good &= tr_kwp_unwrap(&key, inverse, NULL, out, &out_len, in, len) == TR_ERR_LENGTH;
        }
        good &= tr_kw_wrap(&key, inverse, NULL, out, in, (size_t)1 << 31) == TR_ERR_LENGTH;
        good &= tr_kwp_wrap(&key, inverse, NULL, out, in, (size_t)1 << 31) == TR_ERR_LENGTH;
        /* The shortest ciphertexts that are too long. Unwrapping removes 8 bytes. Then KW allows at
         * most 2^31 - 8 bytes, and KWP at most 2^31 bytes including the padding. */
        const size_t kw = ((size_t)1 << 31) + 8, kwp = ((size_t)1 << 31) + 16;
        good &= tr_kw_unwrap(&key, inverse, NULL, out, in, kw) == TR_ERR_LENGTH;
        good &= tr_kwp_unwrap(&key, inverse, NULL, out, &out_len, in, kwp) == TR_ERR_LENGTH;
    }
    tap_ok(good && tap_same(out, before, sizeof(out)), "key wrap refuses wrong lengths");
}

/* Whether wrapping and unwrapping give the same results as with separate buffers. The input is at
 * m + 100 and the output at m + at; they may overlap. */
static bool wrap_is_right_at(size_t len, bool padded, size_t at)
{
    uint8_t m[300], text[64], wrapped[80];
    const size_t wrapped_len = (len + 7) / 8 * 8 + 8;
    size_t n = len;
    tap_fill(&rng, m, sizeof(m));
    memcpy(text, m + 100, len);
    if ((padded ? tr_kwp_wrap : tr_kw_wrap)(&key, 0, NULL, wrapped, text, len) != TR_OK ||
        (padded ? tr_kwp_wrap : tr_kw_wrap)(&key, 0, NULL, m + at, m + 100, len) != TR_OK ||
        !tap_same(m + at, wrapped, wrapped_len))
        return false;
    memcpy(m + 100, wrapped, wrapped_len);
    const enum tr_status status =
        padded ? tr_kwp_unwrap(&key, 0, NULL, m + at, &n, m + 100, wrapped_len)
               : tr_kw_unwrap(&key, 0, NULL, m + at, m + 100, wrapped_len);
    return status == TR_OK && n == len && tap_same(m + at, text, len);
}

static void test_wrap_overlap(void)
{
    bool good = true;
    for (size_t len = 1; len <= 64; len++)
        for (int padded = len % 8 != 0 || len < 16; padded < 2; padded++)
            for (size_t at = 20; at <= 180; at++)
                good &= wrap_is_right_at(len, padded, at);
    tap_ok(good, "key wrap accepts any overlap of input and output");
}

/* Tests that unwrapping gives TR_ERR_TAG and zeros if any bit is flipped, or if the expected check
 * value is not the one used for wrapping. */
static void test_wrap_forgeries(void)
{
    uint8_t in[32], wrapped[40], out[40], iv[8];
    const uint8_t zero[40] = {0};
    bool good = true;
    for (size_t len = 1; len <= 32; len++)
        for (int padded = len % 8 != 0 || len < 16; padded < 2; padded++) {
            const size_t wrapped_len = (len + 7) / 8 * 8 + 8;
            size_t out_len = len;
            tap_fill(&rng, in, sizeof(in));
            tap_fill(&rng, iv, sizeof(iv));
            good &= (padded ? tr_kwp_wrap : tr_kw_wrap)(&key, 0, iv, wrapped, in, len) == TR_OK;
            /* The last step flips no bit, but expects the default check value. */
            for (size_t bit = 0; bit <= 8 * wrapped_len; bit++) {
                if (bit < 8 * wrapped_len)
                    wrapped[bit / 8] ^= (uint8_t)(1 << bit % 8);
                memset(out, 0x5a, sizeof(out));
                const uint8_t *check = bit < 8 * wrapped_len ? iv : NULL;
                good &= (padded ? tr_kwp_unwrap(&key, 0, check, out, &out_len, wrapped, wrapped_len)
                                : tr_kw_unwrap(&key, 0, check, out, wrapped, wrapped_len)) ==
                            TR_ERR_TAG &&
                        tap_same(out, zero, wrapped_len - 8) && out[wrapped_len - 8] == 0x5a;
                if (bit < 8 * wrapped_len)
                    wrapped[bit / 8] ^= (uint8_t)(1 << bit % 8);
            }
        }
    tap_ok(good, "key wrap refuses any flipped bit and a wrong check value");
}

int main(void)
{
    static const uint8_t raw[16] = {42};
    tap_plan(1 + 2 + MODES + ALL_MODES + 5 + 1 + 4 + 2 + 7);
    rng = tap_random(0);
    backend = tr_backend_selected();
    key = key_for(backend, raw, sizeof(raw));
    test_keys();
    test_lengths();
    test_used();
    test_long_overlap();
    test_no_overlap();
    for (int m = MODES; m < ALL_MODES; m++)
        test_overlap(all_modes[m]);
    test_short();
    test_xts();
    test_wrap_lengths();
    test_wrap_overlap();
    test_wrap_forgeries();
    for (int m = 0; m < MODES; m++) {
        test_overlap(all_modes[m]);
        test_cipher_overlap(all_modes[m]);
    }
    test_start();
    test_not_started();
    test_cipher_used();
    test_final_length();
    test_padding(TR_ECB);
    test_padding(TR_CBC);
    test_strings();
    return tap_done();
}
