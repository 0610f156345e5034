/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CCM (SP 800-38C section 6), a block at a time. The CBC-MAC of the plaintext is a serial chain of
 * AES rounds, as in serial.h. The chain leaves most AES issue slots unused. To fill them, the
 * rounds of the next counter block are interleaved with the chain.
 *
 * The bound is latency, as in CBC encryption. Messages of 16 KiB reach 96 % of that bound (Zen 4;
 * docs/tuning/serial.md).
 */
#ifndef TR_SIMD_CCM_H
#define TR_SIMD_CCM_H

#include "dispatch/backend.h"
#include "simd/serial.h"
#include "simd/table.h"

struct ccm_pair {
    struct serial_state mac, counter;
};

/* Does serial_rounds() of the MAC and of the counter block, interleaved. The number of rounds, n,
 * is a compile-time constant. */
TR_INLINE TR_TARGET struct ccm_pair ccm_rounds(struct ccm_pair p, const uint8_t keys[][16],
                                               unsigned n)
{
    B mac = p.mac.s, counter = p.counter.s;
#if V_KEY_FIRST
    mac = b_aesenc(mac, b_xor(p.mac.key, b_load(keys[0])));
    counter = b_aesenc(counter, b_xor(p.counter.key, b_load(keys[0])));
#endif
    UNROLL
    for (unsigned r = 1; r < n - V_KEY_FIRST; r++) {
        B k = b_load(keys[r]);
        mac = b_aesenc(mac, k);
        counter = b_aesenc(counter, k);
    }
#if V_KEY_FIRST
    mac = v_aese(mac, b_load(keys[n - 1]));
    counter = v_aese(counter, b_load(keys[n - 1]));
#endif
    return (struct ccm_pair){{mac, b_zero()}, {counter, b_zero()}};
}

/* Encrypts or decrypts whole blocks, and updates the MAC and the counter. The loop adds only to the
 * low 64 bits of the counter block. The counter field is in these bits, and a message ends before
 * the field wraps (SP 800-38C appendix A.3). */
TR_INLINE TR_TARGET void ccm(const struct tr_aes_key *key, unsigned n, uint8_t *out,
                             const uint8_t *in, size_t blocks, struct tr_ccm_run *run, int decrypt)
{
    const uint8_t(*keys)[16] = key->enc;
    const B k0 = first_block_key(keys), kn = b_load(keys[n]);
    uint64_t high = tr_load64_be(run->counter), low = tr_load64_be(run->counter + 8);
    B counters = b_of(low, high);
    struct ccm_pair p = {.counter = {b_xor(b_byteswap(counters), k0), b_zero()}};
    tr_counter_add(run->counter, blocks);
    /* The loop interleaves the MAC of a block with the next counter block. So the first counter
     * block and the last MAC block are processed alone. */
    B stream = b_aesenclast(serial_rounds(p.counter, keys, n), kn);
    B data = b_load(in), result = b_xor(data, stream), text = decrypt ? result : data;
    p.mac = (struct serial_state){b_xor(b_xor(b_load(run->mac), k0), text), b_zero()};
    for (; blocks > 1; blocks--, in += TR_BLOCK, out += TR_BLOCK) {
        data = b_load(in + TR_BLOCK);
        counters = b_add64(counters, 1);
        p.counter = (struct serial_state){b_xor(b_byteswap(counters), k0), b_zero()};
        p = ccm_rounds(p, keys, n);
        b_store(out, result);
        result = b_xor(data, b_aesenclast(p.counter.s, kn));
        text = decrypt ? result : data;
        p.mac = serial_last(p.mac.s, b_xor(b_xor(kn, k0), text));
    }
    b_store(out, result);
    b_store(run->mac, b_aesenclast(serial_rounds(p.mac, keys, n), kn));
}

TR_INLINE TR_TARGET void ccm_any(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                                 size_t blocks, struct tr_ccm_run *run, int decrypt)
{
    if (key->rounds == 10)
        ccm(key, 10, out, in, blocks, run, decrypt);
    else if (key->rounds == 12)
        ccm(key, 12, out, in, blocks, run, decrypt);
    else
        ccm(key, 14, out, in, blocks, run, decrypt);
}

BULK_OPERATION(ccm_encrypt, ccm_any, 0)
BULK_OPERATION(ccm_decrypt, ccm_any, 1)

#endif
