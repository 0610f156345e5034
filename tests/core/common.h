/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the tests of the core: one function for all modes, and the backends that run here. */
#ifndef TENROUNDS_TESTS_COMMON_H
#define TENROUNDS_TESTS_COMMON_H

#include "../tap.h"

#include "dispatch/backend.h"
#include "tenrounds.h"

static const size_t key_lengths[3] = {16, 24, 32};

/* ---- Modes ---------------------------------------------------------------------------------- */

/* The modes without a tag, with the known-answer tests that a host runs before their first use. The
 * first MODES of them are the modes of struct tr_cipher. XTS uses the same key for data and tweak
 * here. */
#define PLAIN_MODES(X)                                                                             \
    X("ECB", TR_ECB, TR_TEST_ECB)                                                                  \
    X("CBC", TR_CBC, TR_TEST_CBC)                                                                  \
    X("CFB128", TR_CFB128, TR_TEST_CFB)                                                            \
    X("OFB", TR_OFB, TR_TEST_OFB)                                                                  \
    X("CTR", TR_CTR, TR_TESTS_CTR)                                                                 \
    X("CFB8", TEST_CFB8, TR_TESTS_SMALL_CFB)                                                       \
    X("CFB1", TEST_CFB1, TR_TESTS_SMALL_CFB)                                                       \
    X("XTS", TEST_XTS, TR_TEST_XTS)                                                                \
    X("CS1", TEST_CS1, TR_TESTS_CTS)                                                               \
    X("CS2", TEST_CS2, TR_TESTS_CTS)                                                               \
    X("CS3", TEST_CS3, TR_TESTS_CTS)
#define MODES                      5
#define ALL_MODES                  11
#define TEST_CFB8                  ((enum tr_mode)(TR_CTR + 1))
#define TEST_CFB1                  ((enum tr_mode)(TR_CTR + 2))
#define TEST_XTS                   ((enum tr_mode)(TR_CTR + 3))
#define TEST_CS1                   ((enum tr_mode)(TR_CTR + 4))
#define TEST_CS2                   ((enum tr_mode)(TR_CTR + 5))
#define TEST_CS3                   ((enum tr_mode)(TR_CTR + 6))
#define MODE_OF(name, mode, tests) mode,
static const enum tr_mode all_modes[ALL_MODES] = {PLAIN_MODES(MODE_OF)};

static inline const char *mode_name(enum tr_mode mode)
{
#define NAME_OF(name, mode, tests) name,
    static const char *const names[] = {"none", PLAIN_MODES(NAME_OF)};
    return names[mode];
}

/* Whether the test program covers this mode. The program's arguments name the modes. Without
 * arguments, it covers all modes. */
static inline bool mode_wanted(enum tr_mode mode, char *const *arguments)
{
    bool named = false;
    for (char *const *a = arguments + 1; *a != NULL; a++)
        named |= strcmp(*a, mode_name(mode)) == 0;
    return named || arguments[1] == NULL;
}

/* Returns the number of modes that the test program covers. Exits if an argument names no mode, or
 * if two name the same mode. */
static inline unsigned modes_wanted(int argc, char *const *argv)
{
    unsigned n = 0;
    for (unsigned k = 0; k < ALL_MODES; k++)
        n += mode_wanted(all_modes[k], argv);
    if (argc > 1 && n != (unsigned)argc - 1) {
        fprintf(stderr, "each argument must name a different mode, such as CBC or XTS\n");
        exit(2);
    }
    return n;
}

/* Whether the mode accepts whole blocks only. */
static inline bool mode_is_blocks(enum tr_mode mode)
{
    return mode == TR_ECB || mode == TR_CBC;
}

/* Whether a call can begin and end within a block of keystream. */
static inline bool mode_is_stream(enum tr_mode mode)
{
    return mode < MODES + 1 && !mode_is_blocks(mode);
}

/* Whether the mode takes a message in one call only, and needs at least one block. */
static inline bool mode_is_whole(enum tr_mode mode)
{
    return mode >= TEST_XTS;
}

static inline size_t mode_shortest(enum tr_mode mode)
{
    return mode_is_whole(mode) ? 16 : 0;
}

/* The longest message to test, in bytes. It is short for CFB1, which needs 8 AES calls per byte,
 * and for CFB8, which needs one. */
static inline size_t mode_longest(enum tr_mode mode, size_t otherwise)
{
    return mode == TEST_CFB1 ? 64 : mode == TEST_CFB8 ? 200 : otherwise;
}

/* The state between two calls on one message, for any mode. */
struct position {
    uint8_t iv[16], keystream[16];
    unsigned used;
};

static inline struct position position_at(const uint8_t iv[16])
{
    struct position p = {.used = 0};
    memset(p.keystream, 0xee, sizeof(p.keystream)); /* unused before the first call */
    memcpy(p.iv, iv, 16);
    return p;
}

/* Makes a random IV. For CTR the counter often wraps at 2^32, 2^40, 2^64 or 2^128: mostly within
 * the next 40 blocks, sometimes within 1300 blocks. */
static inline void random_iv(struct tap_random *rng, enum tr_mode mode, uint8_t iv[16])
{
    static const unsigned ones[] = {0, 4, 5, 8, 16}; /* bytes of 0xff at the end */
    tap_fill(rng, iv, 16);
    const unsigned n = ones[tap_below(rng, 5)];
    if (mode != TR_CTR || n == 0)
        return;
    const size_t before = tap_below(rng, tap_below(rng, 3) == 0 ? 1300 : 40);
    memset(iv + 16 - n, 0xff, n);
    iv[14] = (uint8_t)(0xff - before / 256);
    iv[15] = (uint8_t)(0xff - before % 256);
}

static inline enum tr_status mode_call(const struct tr_aes_key *key, enum tr_mode mode,
                                       bool decrypt, uint8_t iv[16], uint8_t keystream[16],
                                       unsigned *used, uint8_t *out, const uint8_t *in, size_t len)
{
    const struct tr_xts_key xts = {.data = *key, .tweak = *key};
    switch ((int)mode) {
    case TR_ECB:
        return (decrypt ? tr_ecb_decrypt : tr_ecb_encrypt)(key, out, in, len);
    case TR_CBC:
        return (decrypt ? tr_cbc_decrypt : tr_cbc_encrypt)(key, iv, out, in, len);
    case TR_CFB128:
        return (decrypt ? tr_cfb128_decrypt : tr_cfb128_encrypt)(key, iv, used, out, in, len);
    case TR_OFB:
        return tr_ofb(key, iv, used, out, in, len);
    case TR_CTR:
        return tr_ctr(key, iv, keystream, used, out, in, len);
    case TEST_CFB8:
        return (decrypt ? tr_cfb8_decrypt : tr_cfb8_encrypt)(key, iv, out, in, len);
    case TEST_CFB1:
        return (decrypt ? tr_cfb1_decrypt : tr_cfb1_encrypt)(key, iv, out, in, 8 * len);
    case TEST_XTS:
        return (decrypt ? tr_xts_decrypt : tr_xts_encrypt)(&xts, iv, out, in, len);
    case TEST_CS1:
    case TEST_CS2:
    case TEST_CS3:
        return (decrypt ? tr_cbc_cts_decrypt : tr_cbc_cts_encrypt)(
            key, (enum tr_cts)(TR_CS1 + mode - TEST_CS1), iv, out, in, len);
    default:
        return TR_ERR_MODE;
    }
}

static inline enum tr_status mode_run(const struct tr_aes_key *key, enum tr_mode mode, bool decrypt,
                                      struct position *p, uint8_t *out, const uint8_t *in,
                                      size_t len)
{
    return mode_call(key, mode, decrypt, p->iv, p->keystream, &p->used, out, in, len);
}

static inline bool position_same(enum tr_mode mode, const struct position *a,
                                 const struct position *b)
{
    if (mode == TR_ECB)
        return true;
    if (a->used != b->used || memcmp(a->iv, b->iv, 16) != 0)
        return false;
    return mode != TR_CTR || a->used == 0 || memcmp(a->keystream, b->keystream, 16) == 0;
}

/* ---- Backends ------------------------------------------------------------------------------- */

/* Writes the /proc/cpuinfo names of the features to `text`, separated by blanks. Returns `text`. */
static inline const char *cpu_flags(tr_features features, char *text, size_t room)
{
    static const char *const flags[TR_FEATURE_COUNT] = {"aes",    TR_ARM64 ? "pmull" : "pclmulqdq",
                                                        "ssse3",  "avx",
                                                        "avx2",   "avx512f avx512bw avx512vl",
                                                        "vaes",   "vpclmulqdq",
                                                        "sha_ni", "asimd",
                                                        "sha3"};
    size_t used = 0;
    *text = '\0';
    for (unsigned i = 0; i < TR_FEATURE_COUNT; i++)
        if (features >> i & 1)
            used +=
                (size_t)snprintf(text + used, room - used, "%s%s", used > 0 ? " " : "", flags[i]);
    return text;
}

static inline bool backend_usable(const struct tr_backend *b)
{
    struct tr_cpu cpu;
    tr_cpu_detect(&cpu);
    return (tr_backend_features(b) & ~cpu.usable) == 0;
}

static inline unsigned backend_count(void)
{
    unsigned n = 0;
    while (tr_backend_at(n) != NULL)
        n++;
    return n;
}

/* If the backend cannot run here, skips `results` results and returns true. */
static inline bool backend_skip(const struct tr_backend *b, unsigned results)
{
    char flags[128];
    if (backend_usable(b))
        return false;
    tap_skip(results, cpu_flags(tr_backend_features(b), flags, sizeof(flags)),
             "this processor cannot run %s (it needs %s)", tr_backend_name(b), flags);
    return true;
}

/* Expands a key; stops the program on failure. */
static inline struct tr_aes_key key_for(const struct tr_backend *b, const uint8_t *raw, size_t len)
{
    struct tr_aes_key key;
    const enum tr_status status = tr_aes_set_key(&key, b, raw, len);
    if (status != TR_OK) {
        tap_ok(false, "tr_aes_set_key(%s, %zu bytes): %s", tr_backend_name(b), len,
               tr_strerror(status));
        exit(2);
    }
    return key;
}

#endif
