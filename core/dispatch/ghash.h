/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * GHASH (SP 800-38D section 6.4), for modes and backends: hash subkeys that threads share, and
 * whole messages of GCM.
 *
 * Setting a key computes the powers that the shortest messages need. A longer message needs up to
 * TR_GHASH_POWERS powers. Computing all of them takes as long as sealing some 20 blocks, so the
 * core computes more powers only on demand:
 *
 * - The first message that needs more powers computes them on its stack, because a key is often
 *   used only once. The message also sets powers_wanted in the key. The next message that needs
 *   more powers stores them in the key.
 * - The number of powers in a key grows in stages, 0 to TR_GHASH_STAGES (tr_ghash_powers_at()). The
 *   key's field powers_state is the key's address + 2 * the stage. The value is higher by 1 while a
 *   thread adds powers to the key. In a copied key the address does not match, so the copy starts
 *   again at stage 0, with 4 powers.
 * - A thread that stores more powers sets the lowest bit of powers_state, and appends the powers.
 *   The thread then publishes the new stage with release semantics. Existing powers never change.
 * - A thread that finds the lowest bit set computes the powers on its stack. No thread ever waits
 *   for another, which matters in a kernel.
 *
 * - A key whose backend has short calls (tr_gcm_fn) also says for how much data its powers suffice
 *   (short_len). The field is 0 if there are no such calls, or if the key is not set, so a single
 *   comparison decides. The thread that appends powers sets the field after them. A copied key
 *   keeps it: keys may be copied only while no other thread uses them.
 *
 * Three alternatives are slower:
 *
 * - If setting a key computed all powers, a new key with one short message would take 33 % longer.
 * - If the first message stored its powers in the key, a new key and one message of 1350 bytes
 *   would take 10 % longer (Zen 4). The locked instruction that sets the lowest bit would serialize
 *   key setup and message.
 * - If more powers were never stored in the key, every one-shot message of more than 2 blocks would
 *   compute them. (AAD and the length block also need a power each, and the key has 4.)
 */
#ifndef TR_DISPATCH_GHASH_H
#define TR_DISPATCH_GHASH_H

#include "dispatch/backend.h"
#include "tenrounds.h"
#include "util.h"

/* If a backend has carry-less multiplication, its ghash_key() computes at least
 * TR_GHASH_FIRST_POWERS powers. TR_GHASH_STAGES is the number of stages that add powers. */
#define TR_GHASH_FIRST_POWERS 4u
#define TR_GHASH_STAGES       7u

/* The lowest stage that has at least n powers. Stages 0 to 6 have 4, 8, .. 28 powers; the last
 * stage has all. */
TR_INLINE unsigned tr_ghash_stage(size_t n)
{
    return n <= 4 ? 0 : n <= 28 ? (unsigned)(n + 3) / 4 - 1 : TR_GHASH_STAGES;
}

TR_INLINE unsigned tr_ghash_powers_at(unsigned stage)
{
    return stage == TR_GHASH_STAGES ? TR_GHASH_POWERS : 4 * stage + 4;
}

/* The stage that is published in this key. A copied key's stage is 0. */
TR_INLINE unsigned tr_ghash_published(const struct tr_ghash_key *key)
{
    uintptr_t own = __atomic_load_n(&key->powers_state, __ATOMIC_ACQUIRE) - (uintptr_t)key;
    return own < 2 * TR_GHASH_STAGES + 2 ? (unsigned)own / 2 : 0;
}

/* Whether a message that needs more powers stores them in the key. Returns 0 for the first such
 * message, and sets powers_wanted in the key. If `unshared` is set, always returns 1. */
TR_INLINE int tr_ghash_keeps(const struct tr_ghash_key *key)
{
    if (key->unshared || __atomic_load_n(&key->powers_wanted, __ATOMIC_RELAXED) != 0)
        return 1;
    __atomic_store_n((uint8_t *)(uintptr_t)&key->powers_wanted, 1, __ATOMIC_RELAXED);
    return 0;
}

/* Whether the caller must compute more powers and publish them; 0 if another thread does so. Sets
 * *state to the key's address + 2 * the published stage. In a copied key this stage is 0. */
static inline int tr_ghash_claim(const struct tr_ghash_key *key, uintptr_t *state)
{
    uintptr_t now = __atomic_load_n(&key->powers_state, __ATOMIC_ACQUIRE),
              own = now - (uintptr_t)key;
    *state =
        own < 2 * TR_GHASH_STAGES + 2 ? now : (uintptr_t)key; /* a copied key starts at stage 0 */
    if (key->unshared)
        return 1;
    if (own < 2 * TR_GHASH_STAGES + 2 && own % 2 != 0)
        return 0;
    /* In a const key, only powers, powers_state, short_len, powers_wanted and in_pieces change. */
    return __atomic_compare_exchange_n((uintptr_t *)(uintptr_t)&key->powers_state, &now, *state | 1,
                                       0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static inline void tr_ghash_publish(const struct tr_ghash_key *key, unsigned stage)
{
    __atomic_store_n((uintptr_t *)(uintptr_t)&key->powers_state,
                     (uintptr_t)key + 2 * (uintptr_t)stage, __ATOMIC_RELEASE);
}

/* The most bytes of data in a short message (tr_gcm_fn), with the powers of this stage. Each block
 * of data needs a power, the AAD one and the lengths one. AAD of 2 to 4 blocks needs three more. */
TR_INLINE uint16_t tr_ghash_short_len(unsigned stage)
{
    const unsigned len = (tr_ghash_powers_at(stage) - 2) * TR_BLOCK;
    const unsigned most = TR_GCM_SHORT_MAX + 3 * TR_BLOCK;
    return (uint16_t)(len < most ? len : most);
}

/* The length of an IV that needs no hashing, in bytes (SP 800-38D section 7.1 step 2). */
#define TR_GCM_IV 12u

/* The longest message in bytes (SP 800-38D section 5.2.1.1). */
#define TR_GCM_MAX_DATA 0xfffffffe0u

/* A one-shot GCM message with a 96-bit IV, for GCM_SEAL and GCM_OPEN. The last block may be
 * partial. Opening writes the plaintext and computes the expected tag, which the mode then
 * compares. */
struct tr_gcm_message {
    const struct tr_ghash_key *hash;
    const uint8_t *iv, *aad;
    /* Lengths in bytes. They stay in this order, because gcm_lengths() loads both from &len. */
    uint64_t len, aad_len;
    uint8_t *tag; /* the operation writes 16 bytes */
};

#endif
