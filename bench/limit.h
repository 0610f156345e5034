/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The limit probe: what one core can do when it does nothing but AES rounds.
 *
 *   throughput  independent rounds on registers of 128, 256 or 512 bits, as many in flight as the
 *               pipeline holds. Divided by the number of rounds (10, 12, 14) it bounds every mode
 *               whose blocks do not wait for each other: ECB, CTR, CBC and CFB decryption.
 *   latency     rounds that each wait for the one before. One block of 16 bytes per 10, 12 or 14 of
 *               them bounds CBC, CFB and OFB encryption of a single stream.
 *   hashing     for each block its rounds and three carry-less multiplications, all independent: what
 *               GCM cannot do without. GHASH multiplies 128 bits by 128; three products of 64 bits are the
 *               fewest known for it (Karatsuba's), most code takes four, and the reduction more. Where
 *               both instructions wait for the same units (Zen 4), this is well below the throughput of
 *               the rounds alone.
 *
 *   products    a chain of multiplications, for their latency.
 *   copying     nothing but loads and stores: no mode that reads and writes every byte is faster than that.
 *
 * But for copying no data is loaded or stored, and no data instruction but those named is executed, so no real cipher
 * can be faster. The probe does not look at a clock: the caller times a call, next to a call of
 * what it wants to compare, so that both see the same clock frequency.
 *
 * Freestanding; nothing is allocated or remembered. The state is made of constants: the time of an
 * AES round does not depend on the data.
 */
#ifndef TR_LIMIT_H
#define TR_LIMIT_H

#include "tenrounds.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What to exercise. The names are those of the registers. */
enum tr_limit {
    TR_LIMIT_XMM,   /* AESENC on 128-bit registers, independent */
    TR_LIMIT_YMM,   /* VAESENC on 256-bit registers, independent */
    TR_LIMIT_ZMM,   /* VAESENC on 512-bit registers, independent */
    TR_LIMIT_CHAIN, /* AESENC, each on the result of the one before */
    TR_LIMIT_COUNT
};

/* The features that must be usable (struct tr_cpu, tenrounds.h) for the probe to run; 0 where this
 * build has no such probe, because the architecture has no such instruction. */
tr_features tr_limit_features(enum tr_limit limit);

/*
 * Executes at least `rounds` round instructions (the number is rounded up to a multiple of 48) and
 * returns the bytes of state that passed through one round each: 16, 32 or 64 per instruction.
 * Divided by the time it took, that is bytes per second and round. The caller makes sure of
 * tr_limit_features(); where they are 0, nothing is executed and 0 returned.
 */
uint64_t tr_limit_run(enum tr_limit limit, uint64_t rounds);

/* The multiplications of a block in tr_limit_hash(). */
#define TR_LIMIT_PRODUCTS 3u

/* The features that tr_limit_hash() needs for a width; 0 where it has no such loop (the chain). */
tr_features tr_limit_hash_features(enum tr_limit width);

/*
 * Executes, for at least `blocks` blocks of 16 bytes (rounded up to 12 registers full), `rounds` = 0, 10,
 * 12 or 14 round instructions and TR_LIMIT_PRODUCTS carry-less multiplications each, and returns the
 * bytes of these blocks. 0 rounds: the multiplications alone. For anything else executes nothing and
 * returns 0. The caller makes sure of tr_limit_hash_features().
 */
uint64_t tr_limit_hash(enum tr_limit width, unsigned rounds, uint64_t blocks);

/* The features that tr_limit_clmul_chain() needs; 0 where there is no such loop. */
tr_features tr_limit_clmul_chain_features(void);

/* Executes at least `products` carry-less multiplications of 64 by 64 bits (rounded up to a multiple of 48), each of the
 * result of the one before, and returns how many. Executes nothing where the features are 0. */
uint64_t tr_limit_clmul_chain(uint64_t products);

/*
 * The ceiling of loads and stores: copies `bytes`, a multiple of 512, from in to out, both aligned to 64 bytes, `times`
 * times, by plain loads and stores of that width (bytes of the register) and nothing else, and returns the bytes copied.
 * For a width that tr_limit_features() forbids or the chain, executes nothing and returns 0.
 */
uint64_t tr_limit_copy(enum tr_limit width, uint8_t *out, const uint8_t *in, size_t bytes,
                       uint64_t times);

#ifdef __cplusplus
}
#endif
#endif
