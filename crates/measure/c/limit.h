/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The limit probe: what one core can do when it executes nothing but AES rounds.
 *
 *   throughput  Independent rounds on registers of 128, 256 or 512 bits, as many in flight as the
 *               pipeline holds. Divided by the number of rounds (10, 12 or 14), it bounds every
 *               mode with independent blocks: ECB, CTR, CBC decryption and CFB decryption.
 *   latency     Rounds that each depend on the one before. One block of 16 bytes per 10, 12 or 14
 *               rounds bounds CBC, CFB and OFB encryption of a single stream.
 *   hashing     For each block its rounds and three carry-less multiplications, all independent:
 *               the minimum that GCM needs. GHASH multiplies 128 bits by 128 bits. The best known
 *               method (Karatsuba) multiplies 64 by 64 bits three times. Most code does so four
 *               times, and multiplies again for the reduction. Where AES and carry-less
 *               multiplication use the same ports (Zen 4), this limit is well below the
 *               throughput of the rounds.
 *
 * The loops load and store no data, and execute no data instruction but those
 * named. No real cipher can therefore be faster. The probe reads no clock. The caller times it next
 * to the call under comparison, so that both run at the same clock frequency.
 *
 * Freestanding: the probe allocates nothing and keeps no state between calls. The AES states start
 * as zeros, because the time of an AES round does not depend on the data.
 */
#ifndef TR_LIMIT_H
#define TR_LIMIT_H

#include "tenrounds.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The loops, named by their registers. */
enum tr_limit {
    TR_LIMIT_XMM,   /* AESENC on 128-bit registers, independent; on Arm AESE and AESMC */
    TR_LIMIT_YMM,   /* VAESENC on 256-bit registers, independent */
    TR_LIMIT_ZMM,   /* VAESENC on 512-bit registers, independent */
    TR_LIMIT_CHAIN, /* as TR_LIMIT_XMM, but each on the result of the one before */
    TR_LIMIT_COUNT
};

/* The features that must be usable (struct tr_cpu, tenrounds.h) for the probe to run. 0 where this
 * build has no such probe, because the architecture lacks the instruction. */
tr_features tr_limit_features(enum tr_limit limit);

/*
 * Executes at least `rounds` round instructions, rounded up to a multiple of 48. Returns the number
 * of bytes that went through one round: 16, 32 or 64 per instruction. Divided by the elapsed time,
 * that is bytes per second and round. The caller checks tr_limit_features() first. If that returns
 * 0, this function executes nothing and returns 0.
 */
uint64_t tr_limit_run(enum tr_limit limit, uint64_t rounds);

/* The multiplications of a block in tr_limit_hash(). */
#define TR_LIMIT_PRODUCTS 3u

/* The features that tr_limit_hash() needs for a width; 0 where there is no such loop, as for the
 * chain. */
tr_features tr_limit_hash_features(enum tr_limit width);

/*
 * Executes the rounds and multiplications of at least `blocks` blocks of 16 bytes, rounded up to a
 * multiple of 12 full registers. Each block takes `rounds` = 0, 10, 12 or 14 rounds and
 * TR_LIMIT_PRODUCTS carry-less multiplications; 0 rounds means the multiplications alone. Returns
 * the bytes of these blocks. For any other argument, executes nothing and returns 0. The caller
 * checks tr_limit_hash_features() first.
 */
uint64_t tr_limit_hash(enum tr_limit width, unsigned rounds, uint64_t blocks);

#ifdef __cplusplus
}
#endif
#endif
