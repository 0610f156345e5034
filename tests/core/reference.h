/* SPDX-License-Identifier: BSD-2-Clause */
/* The textbook implementation: AES and its modes as the standards define them, byte by byte. It is
 * for tests only, because it is slow and not constant-time. It calls no function of the core. */
#ifndef TENROUNDS_REFERENCE_H
#define TENROUNDS_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reference_key {
    uint8_t w[15][16]; /* the words of FIPS-197 section 5.2, four per round */
    unsigned rounds;
};

void reference_expand(struct reference_key *key, const uint8_t *raw, size_t len);
void reference_encrypt_block(const struct reference_key *key, uint8_t block[16]);
void reference_decrypt_block(const struct reference_key *key, uint8_t block[16]);
/* Computes the state after the first rounds of encryption: simd/ctr_states.h keeps the state after
 * two rounds, simd/gcm/many.h after one. */
void reference_first_rounds(const struct reference_key *key, uint8_t block[16], unsigned rounds);

/* InvMixColumns of a round key, as in the equivalent inverse cipher (FIPS-197 section 5.3.5). */
void reference_inv_mix_columns(uint8_t state[16]);

/* Encrypts or decrypts a whole message in one mode of enum tr_mode. In ECB and CBC, the message
 * must be whole blocks. */
void reference_message(const struct reference_key *key, int mode, bool decrypt,
                       const uint8_t iv[16], uint8_t *out, const uint8_t *in, size_t len);

#endif
