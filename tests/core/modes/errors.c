/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests every length of keys, IVs, tags and short data that a mode refuses, for the modes outside
 * struct tr_cipher, and what key wrap refuses. Each error has its own status, and the call leaves
 * the output unchanged. ../contract.c has the other errors, ../aead.c the order of AEAD calls. */
#include "../aead.h"

#define ROOM 256

static uint8_t memory[ROOM], before[ROOM], raw[65], iv[16];
static const struct tr_backend *backend; /* the strongest backend that runs here */
static struct tr_aes_key key;
static unsigned calls, wrong;

/* Counts a failure unless the call gave the expected status and left the memory unchanged. */
static void expect(enum tr_status status, enum tr_status expected, const char *what)
{
    calls++;
    if (status == expected && tap_same(memory, before, ROOM))
        return;
    wrong++;
    tap_diag("%s: status \"%s\", expected \"%s\"", what, tr_strerror(status),
             tr_strerror(expected));
}

#define EXPECT(expected, call) expect((call), (expected), #call)

static void report(const char *what)
{
    tap_ok(calls != 0 && wrong == 0,
           "%s: %u of %u calls give the expected status and change nothing", what, calls - wrong,
           calls);
    calls = wrong = 0;
}

/* Tests that a key of a wrong length is refused, and that the key object stays unchanged. */
#define REFUSED_KEY(mode, len)                                                                     \
    do {                                                                                           \
        struct tr_##mode##_key k, old;                                                             \
        memset(&k, 0x5a, sizeof(k));                                                               \
        memcpy(&old, &k, sizeof(k));                                                               \
        EXPECT(TR_ERR_KEY_LENGTH, tr_##mode##_set_key(&k, backend, raw, len));                     \
        if (!tap_same(&k, &old, sizeof(k))) {                                                      \
            wrong++;                                                                               \
            tap_diag("tr_" #mode "_set_key() with %zu bytes changed the key", (size_t)(len));      \
        }                                                                                          \
    } while (0)

/* Whether a key of this length is right, or refused without a change to the key object. */
static void aead_key(const struct aead *a, size_t len)
{
    static struct aead_state s, old;
    const bool valid = len >= a->key.min && len <= a->key.max && len % a->key.step == 0;
    memset(&s, 0x5a, sizeof(s));
    memcpy(&old, &s, sizeof(s));
    expect(a->set_key(&s, backend, raw, len), valid ? TR_OK : TR_ERR_KEY_LENGTH, a->name);
    if (!valid && !tap_same(&s, &old, sizeof(s))) {
        wrong++;
        tap_diag("%s: a key of %zu bytes changed the key", a->name, len);
    }
}

static void test_keys(void)
{
    for (size_t len = 0; len <= sizeof(raw); len++) {
        for (size_t i = 0; i < AEADS; i++)
            aead_key(&all_aeads[i], len);
        if (len != 32 && len != 64)
            REFUSED_KEY(xts, len);
        if (len != 16 && len != 24 && len != 32)
            REFUSED_KEY(cmac, len);
    }
    report("key lengths");
}

static void test_xts(void)
{
    struct tr_xts_key x, equal;
    uint8_t twice[32];
    memcpy(twice, raw, 16);
    memcpy(twice + 16, raw, 16);
    tap_ok(tr_xts_set_key(&x, backend, raw, 32) == TR_OK && !tr_xts_keys_equal(&x) &&
               tr_xts_set_key(&equal, backend, twice, 32) == TR_OK && tr_xts_keys_equal(&equal),
           "XTS detects equal keys");
    for (size_t len = 0; len < 16; len++) {
        EXPECT(TR_ERR_LENGTH, tr_xts_encrypt(&x, iv, memory, memory, len));
        EXPECT(TR_ERR_LENGTH, tr_xts_decrypt(&x, iv, memory, memory, len));
    }
    EXPECT(TR_ERR_LENGTH, tr_xts_decrypt(&x, iv, memory, memory, SIZE_MAX));
    EXPECT(TR_ERR_EQUAL_KEYS, tr_xts_encrypt(&equal, iv, memory, memory, 32));
    report("XTS");
    uint8_t out[32];
    tap_ok(tr_xts_decrypt(&equal, iv, out, memory, 32) == TR_OK, "XTS: equal keys still decrypt");
}

static void test_cts(void)
{
    for (enum tr_cts form = TR_CS1; form <= TR_CS3; form++) {
        for (size_t len = 0; len < 16; len++) {
            EXPECT(TR_ERR_LENGTH, tr_cbc_cts_encrypt(&key, form, iv, memory, memory, len));
            EXPECT(TR_ERR_LENGTH, tr_cbc_cts_decrypt(&key, form, iv, memory, memory, len));
        }
    }
    EXPECT(TR_ERR_MODE, tr_cbc_cts_encrypt(&key, (enum tr_cts)0, iv, memory, memory, 40));
    EXPECT(TR_ERR_MODE, tr_cbc_cts_decrypt(&key, (enum tr_cts)4, iv, memory, memory, 40));
    report("CBC with ciphertext stealing");
}

static void test_key_wrap(void)
{
    size_t n = 7;
    for (size_t len = 0; len < 40; len++) {
        if (len % 8 != 0 || len < 16)
            EXPECT(TR_ERR_LENGTH, tr_kw_wrap(&key, 0, NULL, memory, memory, len));
        if (len % 8 != 0 || len < 24)
            EXPECT(TR_ERR_LENGTH, tr_kw_unwrap(&key, 0, NULL, memory, memory, len));
        if (len % 8 != 0 || len < 16)
            EXPECT(TR_ERR_LENGTH, tr_kwp_unwrap(&key, 0, NULL, memory, &n, memory, len));
    }
    EXPECT(TR_ERR_LENGTH, tr_kw_wrap(&key, 0, NULL, memory, memory, (size_t)1 << 31));
    EXPECT(TR_ERR_LENGTH, tr_kwp_wrap(&key, 0, NULL, memory, memory, 0));
    EXPECT(TR_ERR_LENGTH, tr_kwp_wrap(&key, 0, NULL, memory, memory, (size_t)1 << 31));
    tap_ok(n == 0, "KWP stores a length of 0 on an error");
    report("key wrap");
}

/* Wraps and unwraps 24 bytes with each length field from 0 to 40. The bytes are all zero, or one of
 * them is not. KWP must accept only a correct length with padding of zeros (RFC 5649 section 3). */
static void test_kwp_contents(void)
{
    unsigned n = 0, good = 0;
    for (unsigned len = 0; len <= 40; len++) {
        for (unsigned dirty = 0; dirty <= 24; dirty++, n++) {
            uint8_t plain[24] = {0}, wrapped[32], out[24], first[8] = {0xa6, 0x59, 0x59, 0xa6};
            size_t out_len;
            first[7] = (uint8_t)len;
            if (dirty < 24)
                plain[dirty] = 1;
            const bool fits = len > 16 && len <= 24 && (dirty < len || dirty == 24);
            const enum tr_status status =
                tr_kw_wrap(&key, 0, first, wrapped, plain, 24) != TR_OK
                    ? TR_ERR_STATE
                    : tr_kwp_unwrap(&key, 0, NULL, out, &out_len, wrapped, 32);
            good += fits ? status == TR_OK && out_len == len && tap_same(out, plain, 24)
                         : status == TR_ERR_TAG && out_len == 0;
        }
    }
    tap_ok(good == n, "KWP accepts or refuses %u of %u lengths and paddings rightly", good, n);
}

/* Starts messages with each length of IV and tag. Only modes whose data come in pieces check them
 * here; a longer IV than 16 bytes is valid in GCM alone. */
static void test_starts(const struct aead *a)
{
    static struct aead_state s;
    if (a->end == NULL)
        return;
    expect(a->set_key(&s, backend, raw, 16), TR_OK, a->name);
    for (size_t n = 0; n <= 17; n++) {
        const struct aead_lengths iv_of_n = {.iv = n, .tag = 16}, tag_of_n = {.iv = 12, .tag = n};
        const bool iv_valid = n >= a->iv.min && n <= a->iv.max;
        const bool tag_valid = !a->tag_len_at_start ||
                               (n >= a->tag_min && n <= 16 && (n - a->tag_min) % a->tag_step == 0);
        expect(a->start(&s, raw, &iv_of_n), iv_valid ? TR_OK : TR_ERR_IV_LENGTH, a->name);
        expect(a->start(&s, raw, &tag_of_n), tag_valid ? TR_OK : TR_ERR_TAG_LENGTH, a->name);
    }
}

static void test_aeads(void)
{
    struct tr_siv_key siv_key;
    struct tr_siv siv;
    uint8_t tag[16];
    for (size_t i = 0; i < AEADS; i++)
        test_starts(&all_aeads[i]);
    EXPECT(TR_OK, tr_siv_set_key(&siv_key, backend, raw, 32));
    EXPECT(TR_OK, tr_siv_start(&siv, &siv_key));
    EXPECT(TR_ERR_STATE, tr_siv_again(&siv));
    EXPECT(TR_OK, tr_siv_encrypt(&siv, memory, memory, 0, tag));
    EXPECT(TR_ERR_STATE, tr_siv_encrypt(&siv, memory, memory, 0, tag));
    EXPECT(TR_ERR_STATE, tr_siv_aad(&siv, raw, 1));
    EXPECT(TR_OK, tr_siv_again(&siv));
    EXPECT(TR_OK, tr_siv_aad(&siv, raw, 1));
    report("AEADs");
}

int main(void)
{
    struct tap_random rng = tap_random(0);
    tap_plan(9);
    for (unsigned i = 0; backend == NULL; i++)
        if (backend_usable(tr_backend_at(i)))
            backend = tr_backend_at(i);
    tap_fill(&rng, memory, ROOM);
    memcpy(before, memory, ROOM);
    tap_fill(&rng, raw, sizeof(raw));
    tap_fill(&rng, iv, sizeof(iv));
    key = key_for(backend, raw, 16);
    test_keys();
    test_xts();
    test_cts();
    test_key_wrap();
    test_kwp_contents();
    test_aeads();
    return tap_done();
}
