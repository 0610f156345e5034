/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The last two blocks of CBC decryption with ciphertext stealing, in XMM registers whatever the
 * backend's width.
 *
 * Bound: the latency of two calls of the block cipher, 80 cycles with AES-128 on Zen 4, and of the
 * byte moves between them. If these moves used general registers and memory, an init and an update
 * of 31 bytes through EVP would take 1.5 times as long (docs/tuning/parallel.md).
 */
#ifndef TR_SIMD_CTS_H
#define TR_SIMD_CTS_H

#include "simd/few.h"
#include "simd/steal.h"

#if V_FEW
/* Decrypts the last two blocks of a message (tr_cts_fn in dispatch/backend.h): a full block and the
 * cut block. The message has only the first `last` bytes of the cut block. AES decryption of the
 * full block gives the XOR of two blocks: the last plaintext block, padded with zeros, and the
 * complete cut block. So the bytes of this XOR from offset `last` on complete the cut block. Loads
 * both blocks before it stores, because `out` may equal `in`. */
TR_TARGET void V_FEW_NAME(cts_decrypt)(const struct tr_aes_key *key, uint8_t iv[TR_BLOCK],
                                       uint8_t *out, const uint8_t *in, size_t last, int cut_first)
{
    const B k = b_load(key->dec[0]), before = b_load(iv);
    const B full = b_load(cut_first ? in + last : in);
    const B cut = cut_first ? steal_first(b_load(in), last) : steal_load(in, last);
    b_store(iv, full);
    const B d = few_block(key, 1, b_xor(full, k), b_zero());
    const B x = few_block(key, 1, b_xor(steal_fill(d, cut, last), k), before);
    steal_store(out, b_xor(d, cut), x, last);
}
#endif

#endif
