/* SPDX-License-Identifier: BSD-2-Clause */
/* The known-answer tests that every backend passes before it is used. */
#ifndef TR_SELFTEST_H
#define TR_SELFTEST_H

#include "dispatch/select.h"

#define TR_KNOWN_KEYS       3 /* 16, 24 and 32 bytes */
#define TR_KNOWN_KEY_LEN(k) (16 + 8 * (size_t)(k))

/* Inputs of the known-answer tests, and the digest of outputs. The test suite also uses these, to
 * recompute the digests with another implementation. The known-answer tests run on the stack of the
 * thread that makes the first call. To save stack, they encrypt and decrypt one buffer in place.
 * The tests need less than 16 KiB of stack, 6 KiB of which are precomputed values for long
 * messages. The tests of multi-buffer code need more. */
#define TR_KNOWN_MAX   8791u /* longest message, in bytes */
#define TR_KNOWN_SHORT 1536u /* buffer of the short tests; gcm_agrees() uses it in two halves */
extern const uint16_t tr_known_lengths[10];
uint8_t tr_known_plaintext(size_t i);
uint8_t tr_known_key(size_t i);
extern const uint8_t tr_known_iv[16];
uint64_t tr_known_digest(uint64_t digest, const uint8_t *data, size_t len);

/*
 * The tests. The last nine are of authenticated modes, and the digest covers the ciphertext, then
 * the tag.
 * - GCM_WRAP has IVs for which the 32-bit counter wraps after 17 blocks.
 * - XTS-AES-192 does not exist, so its digest is 0.
 * - GCM_LONG and XTS_LONG test the loops that only long messages reach. GCM_LONG runs only for
 *   backends with fused operations of GCM, and XTS_LONG only with those of XTS.
 * - GCM_CHUNKS is a one-shot call, as GCM_SHORT. These have other code than GCM_LONG, which is a
 *   streaming call. It runs only in 64-bit code, for backends with GCM_SEAL.
 * - GCM_SHORT and GCM_BLOCKS have 13 bytes of AAD, as in TLS 1.2, because short messages with at
 *   most one block of AAD run different code. GCM_LONG and GCM_CHUNKS have 13 bytes, too. GCM_BLOCKS
 *   has lengths of whole blocks.
 */
enum tr_known {
    TR_KNOWN_ECB,
    TR_KNOWN_CBC,
    TR_KNOWN_CFB,
    TR_KNOWN_OFB,
    TR_KNOWN_CTR,
    TR_KNOWN_XTS,
    TR_KNOWN_XTS_LONG,
    TR_KNOWN_CCM,
    TR_KNOWN_OCB,
    TR_KNOWN_GCM_SIV,
    TR_KNOWN_GCM,
    TR_KNOWN_GCM_WRAP,
    TR_KNOWN_GCM_LONG,
    TR_KNOWN_GCM_CHUNKS,
    TR_KNOWN_GCM_SHORT,
    TR_KNOWN_GCM_BLOCKS,
    TR_KNOWN_TESTS
};
/* The AAD: none, the first bytes of the plaintext, or all of it. */
enum { TR_KNOWN_NONE = 0, TR_KNOWN_TLS = 13, TR_KNOWN_ALL = 255 };
extern const struct tr_known_answer {
    uint64_t digest[TR_KNOWN_KEYS];
    uint16_t test;      /* the constant of enum tr_test that includes this test */
    uint8_t first, end; /* the lengths: from tr_known_lengths[first] on, before [end] */
    uint8_t aad;
    uint8_t blocks; /* whether the lengths are cut to whole blocks */
} tr_known[TR_KNOWN_TESTS];
#define TR_KNOWN_IS_AEAD(known)  ((known) > TR_KNOWN_XTS_LONG)
#define TR_KNOWN_IS_LONG(known)  (tr_known[known].end >= 8)
#define TR_KNOWN_AAD(known, len) (tr_known[known].aad == TR_KNOWN_ALL ? (len) : tr_known[known].aad)
#define TR_KNOWN_LEN(known, i)                                                                     \
    ((size_t)tr_known_lengths[i] - (tr_known[known].blocks ? tr_known_lengths[i] % TR_BLOCK : 0u))
extern const uint8_t tr_known_wrapping_iv[TR_KNOWN_KEYS][16];

union tr_known_key {
    struct tr_aes_key aes;
    struct tr_gcm_key gcm;
    struct tr_xts_key xts;
    struct tr_ccm_key ccm;
    struct tr_ocb_key ocb;
    struct tr_gcm_siv_key gcm_siv;
};

/* Memory for the tests. The caller provides it, because a kernel's stack is too small. */
struct tr_known_work {
    union tr_known_key key;
    /* At whole vectors: GCM has other functions for messages near the end of a page (tr_gcm_fn). */
    uint8_t text[TR_KNOWN_SHORT] TR_ALIGNED(64), data[TR_KNOWN_SHORT] TR_ALIGNED(64);
};
struct tr_known_long_work {
    union tr_known_key key;
    uint8_t data[6231];
};

/* The known-answer tests of one mode. A set of tests is the sum of these numbers. */
enum tr_test {
    TR_TEST_ECB = 1 << 0,
    TR_TEST_CBC = 1 << 1, /* and CBC-CTS */
    TR_TEST_CFB = 1 << 2,
    TR_TEST_OFB = 1 << 3,
    TR_TEST_CTR = 1 << 4,
    TR_TEST_LONG_CTR = 1 << 5, /* calls that precompute AES states (simd/ctr_states.h) */
    TR_TEST_GCM = 1 << 6,
    TR_TEST_XTS = 1 << 7,
    TR_TEST_OCB = 1 << 8,
    TR_TEST_CCM = 1 << 9,
    TR_TEST_GCM_SIV = 1 << 10,
    TR_TESTS_ALL = (1 << 11) - 1,
    /* The tests of modes that call operations of other modes. For CCM, this happens where the
     * backend has no fused operation. tests/core/known_answers.c checks that these sets, and the
     * test of each other mode, notice a fault in any operation that the mode calls. */
    TR_TESTS_CTR = TR_TEST_CTR | TR_TEST_LONG_CTR,
    TR_TESTS_SMALL_CFB = TR_TEST_ECB, /* CFB8 and CFB1 */
    TR_TESTS_KW = TR_TEST_ECB,
    TR_TESTS_CTS = TR_TEST_CBC | TR_TEST_ECB,
    TR_TESTS_CMAC = TR_TEST_CBC | TR_TEST_ECB,
    TR_TESTS_CCM = TR_TEST_CCM | TR_TEST_CBC | TR_TEST_CTR | TR_TEST_ECB,
    TR_TESTS_SIV = TR_TESTS_CMAC | TR_TESTS_CTR,
};

/* Run the known-answer tests of a set, with the key length TR_KNOWN_KEY_LEN(k). A backend must pass
 * all three functions. The flag `falsify` makes the expected answers wrong, to test the reaction to
 * a failure. */
enum tr_status tr_kat_short(const struct tr_backend *backend, unsigned tests, unsigned k,
                            int falsify, struct tr_known_work *work);
enum tr_status tr_kat_long(const struct tr_backend *backend, unsigned tests, unsigned k,
                           struct tr_known_long_work *work);
/* Runs TR_TEST_LONG_CTR, also for the GCM of backends that compose it from CTR and GHASH. Needs a
 * large stack. */
enum tr_status tr_kat_ctr(const struct tr_backend *backend, unsigned tests, unsigned k);

/* Whether the process may use a backend for a mode. Runs those known-answer tests of this set and
 * key length (16, 24 or 32) that have not run, and remembers their verdict. A backend that has
 * failed one test is not used again, for any mode. Threads that race here run the same tests and
 * store the same verdict. Takes no lock. A fork inherits the verdicts. */
int tr_backend_passes(const struct tr_backend *backend, unsigned tests, size_t key_len);

/* The verdicts on a backend, for each key length: the tests that it has passed, and TR_FAILED once
 * it has failed one. The function tr_has_passed() is inline, because it runs for each key. */
#define TR_FAILED ((uint32_t)1 << 31)
const uint32_t *tr_backend_verdicts(const struct tr_backend *backend);
static inline int tr_has_passed(const uint32_t *verdicts, unsigned tests, size_t key_len)
{
    const uint32_t verdict = __atomic_load_n(&verdicts[key_len / 8 - 2], __ATOMIC_RELAXED);
    return (verdict & (TR_FAILED | tests)) == tests;
}

/* The strongest backend from `backend` down (field `weaker`) that passes these tests. NULL if even
 * the weakest fails. */
const struct tr_backend *tr_backend_passing(const struct tr_backend *backend, unsigned tests,
                                            size_t key_len);

/* As tr_select(), but without known-answer tests. The caller expands keys only for the result of
 * tr_backend_passing(). */
enum tr_status tr_select_untested(const char *mask, tr_features also_masked,
                                  struct tr_selection *selection);

/* For tests: tr_select() as if the known-answer tests of the backends in `sabotage` failed. The
 * word "clock" simulates a processor that lowers its clock for 512-bit registers. Commas separate
 * the words. */
enum tr_status tr_select_sabotaged(const char *mask, tr_features also_masked, const char *sabotage,
                                   struct tr_selection *selection);

#endif
