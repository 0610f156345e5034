/* SPDX-License-Identifier: BSD-2-Clause */
/* The known-answer tests that every backend passes before it is used. */
#ifndef TR_SELFTEST_H
#define TR_SELFTEST_H

#include "tenrounds.h"

#define TR_KNOWN_MODES 5 /* TR_ECB to TR_CTR */
#define TR_KNOWN_KEYS  3 /* 16, 24 and 32 bytes */

/*
 * Inputs of the known-answer tests, and the digest of outputs. The test suite also uses these, to
 * recompute the digests with another implementation. The known-answer tests run on the stack of the
 * thread that makes the first call. To save stack, they encrypt and decrypt one buffer in place.
 * The tests that selection runs need less than 16 KiB of stack, 6 KiB of which are precomputed
 * values for long messages.
 */
#define TR_KNOWN_MAX   8791u /* longest message, in bytes */
#define TR_KNOWN_SHORT 1440u /* buffer of the short tests; gcm_agrees() uses it in two halves */
extern const uint16_t tr_known_lengths[8];
extern const uint64_t tr_known_digests[TR_KNOWN_MODES][TR_KNOWN_KEYS];
uint8_t tr_known_plaintext(size_t i);
uint8_t tr_known_key(size_t i);
extern const uint8_t tr_known_iv[16];
uint64_t tr_known_digest(uint64_t digest, const uint8_t *data, size_t len);

/*
 * The tests of the modes that backends have fused operations for.
 * - The AAD of an AEAD mode is the whole plaintext, or the first 13 bytes of plaintext (see
 *   GCM_SHORT). The digest covers the ciphertext, then the tag.
 * - GCM_WRAP has IVs for which the 32-bit counter wraps after 17 blocks.
 * - XTS-AES-192 does not exist, so its digest is 0.
 * - GCM_LONG and XTS_LONG test the loops that only long messages reach. GCM_LONG runs only for
 *   backends with fused operations of GCM, and XTS_LONG only with those of XTS.
 * - GCM_SHORT and GCM_BLOCKS have 13 bytes of AAD, as in TLS 1.2, because short messages with at
 *   most one block of AAD run different code. GCM_LONG has 13 bytes, too. GCM_BLOCKS has lengths of
 *   whole blocks.
 */
enum tr_known {
    TR_KNOWN_GCM,
    TR_KNOWN_GCM_WRAP,
    TR_KNOWN_XTS,
    TR_KNOWN_OCB,
    TR_KNOWN_CCM,
    TR_KNOWN_GCM_SIV,
    TR_KNOWN_GCM_LONG,
    TR_KNOWN_XTS_LONG,
    TR_KNOWN_GCM_SHORT,
    TR_KNOWN_GCM_BLOCKS,
    TR_KNOWN_FUSED
};
/* TR_KNOWN_FIRST is the index of a mode's first length in tr_known_lengths. TR_KNOWN_END is one
 * past the index of its last length. CCM is serial and has only one loop, so the first 4 lengths
 * suffice. GCM_LONG begins with 77 blocks, which need all powers of H (selftest.c, set_key()). */
#define TR_KNOWN_IS_LONG(mode) ((mode) == TR_KNOWN_GCM_LONG || (mode) == TR_KNOWN_XTS_LONG)
#define TR_KNOWN_IS_XTS(mode)  ((mode) == TR_KNOWN_XTS || (mode) == TR_KNOWN_XTS_LONG)
#define TR_KNOWN_FIRST(mode)                                                                       \
    ((mode) == TR_KNOWN_GCM_LONG ? 6u : (mode) == TR_KNOWN_XTS_LONG ? 7u : 0u)
#define TR_KNOWN_END(mode) (TR_KNOWN_IS_LONG(mode) ? 8u : (mode) == TR_KNOWN_CCM ? 4u : 7u)
#define TR_KNOWN_LEN(mode, i)                                                                      \
    ((size_t)tr_known_lengths[i] -                                                                 \
     ((mode) == TR_KNOWN_GCM_BLOCKS ? tr_known_lengths[i] % TR_BLOCK : 0u))
#define TR_KNOWN_AAD(mode, len)                                                                    \
    ((mode) == TR_KNOWN_GCM_SHORT || (mode) == TR_KNOWN_GCM_BLOCKS || TR_KNOWN_IS_LONG(mode)       \
         ? (size_t)13                                                                              \
         : (len))
extern const uint64_t tr_known_fused[TR_KNOWN_FUSED][TR_KNOWN_KEYS];
extern const uint8_t tr_known_wrapping_iv[TR_KNOWN_KEYS][16];

union tr_known_key {
    struct tr_gcm_key gcm;
    struct tr_xts_key xts;
    struct tr_ccm_key ccm;
    struct tr_ocb_key ocb;
    struct tr_gcm_siv_key gcm_siv;
};

/* Memory for the tests. The caller provides it, because a kernel's stack is too small. */
struct tr_known_work {
    struct tr_aes_key key;
    union tr_known_key fused;
    uint8_t text[TR_KNOWN_SHORT], data[TR_KNOWN_SHORT];
};
struct tr_known_long_work {
    union tr_known_key fused;
    uint8_t data[6231];
};

/* The three groups of known-answer tests that a backend must pass to be selected. The flag
 * `falsify` makes the expected answers wrong, to test the reaction to a failure. */
enum tr_status tr_kat_short(const struct tr_backend *backend, int falsify,
                            struct tr_known_work *work);
enum tr_status tr_kat_long(const struct tr_backend *backend, struct tr_known_long_work *work);
enum tr_status tr_kat_ctr(const struct tr_backend *backend); /* needs a large stack */

/* The known-answer tests of multi-buffer code. The backend or a weaker one must have such code.
 * These tests need more stack than the other tests. Selection therefore does not run them: the
 * first multi-buffer call does. */
enum tr_status tr_kat_multibuffer(const struct tr_backend *backend);

/* As tr_select(), but tests each candidate with known(backend, falsify, memory), until one
 * passes. */
typedef enum tr_status tr_kat_fn(const struct tr_backend *backend, int falsify, void *memory);
enum tr_status tr_select_by(tr_kat_fn *known, void *memory, const char *mask,
                            tr_features also_masked, const char *sabotage,
                            struct tr_selection *selection);

/* For tests: tr_select() as if the known-answer tests of the backends in `sabotage` failed. The
 * word "clock" simulates a processor that lowers its clock for 512-bit registers. Commas separate
 * the words. */
enum tr_status tr_select_sabotaged(const char *mask, tr_features also_masked, const char *sabotage,
                                   struct tr_selection *selection);

/* Whether `name` is one of the comma-separated words of `text`, which may be NULL. */
int tr_is_listed(const char *text, const char *name);

#endif
