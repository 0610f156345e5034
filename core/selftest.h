/* SPDX-License-Identifier: BSD-2-Clause */
/* The known answers that every backend passes before it is used. */
#ifndef TR_SELFTEST_H
#define TR_SELFTEST_H

#include "tenrounds.h"

#define TR_KNOWN_MODES 5 /* TR_ECB to TR_CTR */
#define TR_KNOWN_KEYS  3 /* 16, 24 and 32 bytes */

/* The inputs, and how outputs are condensed; for the test that recomputes the answers with another
 * implementation. */
#define TR_KNOWN_MAX 8791u /* bytes */
extern const uint16_t tr_known_lengths[8];
extern const uint64_t tr_known_digests[TR_KNOWN_MODES][TR_KNOWN_KEYS];
uint8_t tr_known_plaintext(size_t i);
uint8_t tr_known_key(size_t i);
extern const uint8_t tr_known_iv[16];
uint64_t tr_known_digest(uint64_t digest, const uint8_t *data, size_t len);

/*
 * The modes that backends have fused operations for. Of the AEADs, whose AAD is the plaintext, the tag is
 * condensed after the ciphertext. GCM_WRAP has IVs with which the 32 bits of the counter wrap after 17
 * blocks. There is no XTS-AES-192: its digest is 0. GCM_LONG and XTS_LONG are for the loops that only long messages
 * reach, and are asked of backends with fused operations for them. GCM_SHORT and GCM_BLOCKS have 13 bytes
 * of AAD, as most messages have few: with it short ones are done in other ways; in GCM_BLOCKS the lengths are whole blocks.
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
/* Which of the lengths, from the first to before the end: CCM is serial and has one loop, so it makes do with
 * the short ones. */
#define TR_KNOWN_IS_LONG(mode) ((mode) == TR_KNOWN_GCM_LONG || (mode) == TR_KNOWN_XTS_LONG)
#define TR_KNOWN_IS_XTS(mode)  ((mode) == TR_KNOWN_XTS || (mode) == TR_KNOWN_XTS_LONG)
#define TR_KNOWN_FIRST(mode)   (TR_KNOWN_IS_LONG(mode) ? 7u : 0u)
#define TR_KNOWN_END(mode)     (TR_KNOWN_IS_LONG(mode) ? 8u : (mode) == TR_KNOWN_CCM ? 4u : 7u)
#define TR_KNOWN_LEN(mode, i)                                                                      \
    ((size_t)tr_known_lengths[i] -                                                                 \
     ((mode) == TR_KNOWN_GCM_BLOCKS ? tr_known_lengths[i] % TR_BLOCK : 0u))
#define TR_KNOWN_AAD(mode, len)                                                                    \
    ((mode) == TR_KNOWN_GCM_SHORT || (mode) == TR_KNOWN_GCM_BLOCKS ? (size_t)13 : (len))
extern const uint64_t tr_known_fused[TR_KNOWN_FUSED][TR_KNOWN_KEYS];
extern const uint8_t tr_known_wrapping_iv[TR_KNOWN_KEYS][16];

/* The memory that this takes, which is more than a kernel's stack has. */
struct tr_known_work {
    union {
        struct tr_aes_key key;
        struct tr_gcm gcm;
        struct tr_xts xts;
        struct tr_ocb ocb;
        struct tr_ccm ccm;
        struct tr_gcm_siv gcm_siv;
    };
#ifdef TR_SHARED_POWERS
    uint8_t powers[TR_GHASH_POWERS][TR_BLOCK]; /* of gcm */
#endif
    uint8_t tag[TR_BLOCK];
    uint8_t plaintext[TR_KNOWN_MAX], data[TR_KNOWN_MAX];
};

/* falsify makes the expected answers wrong, to see what happens then. */
enum tr_status tr_known_answers(const struct tr_backend *backend, int falsify,
                                struct tr_known_work *work);

/* tr_select() in the caller's memory. */
enum tr_status tr_select_in(struct tr_known_work *work, const char *mask, tr_features also_masked,
                            const char *sabotage, struct tr_selection *selection);

/* Whether name is one of the words, separated by commas, of text, which may be NULL. */
int tr_is_listed(const char *text, const char *name);

#endif
