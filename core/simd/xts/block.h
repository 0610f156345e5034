/* SPDX-License-Identifier: BSD-2-Clause */
/* Single blocks of XTS-AES (IEEE 1619 section 5). */
#ifndef TR_SIMD_XTS_BLOCK_H
#define TR_SIMD_XTS_BLOCK_H

#include "simd/rounds.h"
#include "simd/table.h"

/* Encrypts or decrypts one block under `tweak`. */
TR_INLINE TR_TARGET B xts_block(const struct tr_aes_key *key, int decrypt, B x, B tweak)
{
    const uint8_t(*at)[TR_BLOCK] = decrypt ? key->dec : key->enc;
    x = b_xor(x, tweak);
#if !V_KEY_FIRST
    x = b_xor(x, b_load(*at++));
#endif
#define STEP(key) x = decrypt ? b_aesdec(x, b_load(key)) : b_aesenc(x, b_load(key))
    MIDDLE_ROUNDS(key->rounds, at, STEP);
#undef STEP
#if V_KEY_FIRST
    x = decrypt ? v_aesd(x, b_load(*at++)) : v_aese(x, b_load(*at++));
#endif
    B last = b_xor(b_load(*at), tweak);
    return decrypt ? b_aesdeclast(x, last) : b_aesenclast(x, last);
}

#endif
