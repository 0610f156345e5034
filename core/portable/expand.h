/* SPDX-License-Identifier: BSD-2-Clause */
/* Key expansion without vector registers, in the format that all backends share. */
#ifndef TR_PORTABLE_EXPAND_H
#define TR_PORTABLE_EXPAND_H

#include "partial_block.h"
#include "tenrounds.h"

/* Sets key->enc (FIPS-197 section 5.2) from a raw key. The caller must have set key->rounds. */
void tr_portable_expand_encryption_key(struct tr_aes_key *key, const uint8_t *raw);

/* Sets key->enc and key->dec. The schedule key->dec is for the equivalent inverse cipher (FIPS-197
 * section 5.3.5), which bitslice does not use. */
void tr_portable_expand_key(struct tr_aes_key *key, const uint8_t *raw);

/* Sets key->enc (KeyExpansion, FIPS-197 figure 11) with the caller's SubWord. Words are
 * little-endian, so RotWord rotates right. */
TR_INLINE void tr_expand_words(struct tr_aes_key *key, const uint8_t *raw,
                               uint32_t (*sub_word)(uint32_t))
{
    unsigned nk = key->rounds - 6, total = 4 * (key->rounds + 1);
    uint8_t *w = (uint8_t *)key->enc;
    uint32_t rcon = 1, last = (uint32_t)partial_load32(raw + 4 * (size_t)(nk - 1));
    __builtin_memcpy(w, raw, 4 * (size_t)nk);
    for (unsigned i = nk; i < total; i++) {
        if (i % nk == 0) {
            last = sub_word(last >> 8 | last << 24) ^ rcon;
            rcon = rcon << 1 ^ (rcon >> 7) * 0x11b;
        } else if (nk == 8 && i % nk == 4) {
            last = sub_word(last);
        }
        last ^= (uint32_t)partial_load32(w + 4 * (size_t)(i - nk));
        partial_store32(w + 4 * (size_t)i, last);
    }
}

#endif
