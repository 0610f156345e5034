/* SPDX-License-Identifier: BSD-2-Clause */
/* CFB with segments of 128 bits, SP 800-38A section 6.3. While a block is partly used, `iv` holds
 * its output block (the encrypted input block). Ciphertext replaces the used bytes of `iv`, so that
 * `iv` becomes the next input block. */
#include "modes/keystream.h"

/* Encrypts or decrypts the current block from offset `used` on. Stops at the end of the block or
 * after `len` bytes. Returns the number of bytes processed. In both directions, XORs the plaintext
 * into the processed bytes of `iv`, which then hold the ciphertext. In encryption, AES of the next
 * block therefore waits only for this XOR. */
static size_t cfb_in_block(uint8_t iv[16], unsigned used, int decrypt, uint8_t *out,
                           const uint8_t *in, size_t len)
{
    size_t n = TR_BLOCK - used;
    if (n > len)
        n = len;
    struct partial_block shift = partial_load_block(iv), data = partial_load(in, n);
    struct partial_block result = partial_first(partial_xor(data, partial_down(shift, used)), n);
    partial_xor_vector(iv, partial_up(decrypt ? result : data, used));
    partial_store(out, result, n);
    return n;
}

/*
 * Starts at a block boundary, and decrypts at least one whole block and then a partial block. The
 * keystream of the partial block is the last whole ciphertext block, encrypted. This encryption
 * comes first, so that its latency overlaps the other blocks. The store comes last, because `out`
 * may begin before `in`, and then overwrites the end of the whole blocks. The function is
 * throughput-bound, so the load and the XOR of the partial block have no branch. Only the store
 * branches on the length. In cfb_any_length(), with branches in load, XOR and store, 100 bytes
 * would take 1.18 times as long (vaes256, Zen 3).
 */
TR_ANY_LENGTH cfb_decrypt_with_tail(const struct tr_aes_key *key, uint8_t iv[16], unsigned *used,
                                    uint8_t *out, const uint8_t *in, size_t len)
{
    uint8_t output[TR_BLOCK];
    const enum tr_status status = tr_stream_check(key, out, in, len, 0);
    if (__builtin_expect(status != TR_OK, 0))
        return status;
    const size_t rest = len % TR_BLOCK, end = len - rest;
    tr_short_bulk(key, TR_OP_ECB_ENCRYPT, output, in + end - TR_BLOCK, 1, NULL);
    const struct partial_block data = partial_load_after(in + end, rest);
    *used = (unsigned)rest;
    tr_short_bulk(key, TR_OP_CFB_DECRYPT, out, in, end / TR_BLOCK, iv);
    const struct partial_block e = partial_load_block(output), kept = partial_from(e, rest);
    partial_store(out + end, partial_xor(data, e), rest);
    partial_store_vector(iv, (struct partial_block){data.low | kept.low, data.high | kept.high});
    tr_cleanse_inline(output, sizeof(output));
    return TR_OK;
}

TR_ANY_LENGTH cfb_any_length(const struct tr_aes_key *key, uint8_t iv[16], unsigned *used,
                             uint8_t *out, const uint8_t *in, size_t len, int decrypt)
{
    enum tr_status status = tr_stream_check(key, out, in, len, *used);
    if (status != TR_OK)
        return status;
    size_t done = 0;
    if (*used != 0)
        done = cfb_in_block(iv, *used, decrypt, out, in, len);
    const size_t whole = (len - done) / TR_BLOCK, rest = (len - done) % TR_BLOCK;
    *used = (unsigned)((*used + len) % TR_BLOCK);
    if (done == len)
        return TR_OK;
    out += done;
    in += done;
    if (!decrypt) {
        tr_serial_tail(key, TR_OP_CFB_ENCRYPT, iv, out, in, whole, rest);
    } else if (rest == 0) {
        if (whole != 0)
            tr_short_bulk(key, TR_OP_CFB_DECRYPT, out, in, whole, iv);
    } else if (whole != 0) {
        return cfb_decrypt_with_tail(key, iv, used, out, in, len - done);
    } else {
        tr_short_bulk(key, TR_OP_ECB_ENCRYPT, iv, iv, 1, NULL);
        cfb_in_block(iv, 0, 1, out, in, rest);
    }
    return TR_OK;
}

/* Decrypts if tr_is_whole() is false. This is a separate function, because tr_cfb128_decrypt()
 * would otherwise save registers for it in every call. One block would then take 4.1 ns instead of
 * 3.5 (aesni, Zen 4). */
TR_ANY_LENGTH cfb_decrypt_not_whole(const struct tr_aes_key *key, uint8_t iv[16], unsigned *used,
                                    uint8_t *out, const uint8_t *in, size_t len)
{
    /* The masked accesses of cfb_decrypt extend at most 63 bytes beyond the end. If no page is
     * mapped there, they take a microcode assist: 100 ns and more (Zen 4). */
    if (tr_is_set(key) && len != 0 && tr_whole_calls(key)->cfb_decrypt != NULL &&
        !tr_leaves_page(in + len - 1, 64) && !tr_leaves_page(out + len - 1, 64)) {
        const enum tr_status status = tr_stream_check(key, out, in, len, *used);
        if (status != TR_OK)
            return status;
        TR_PROBE_BULK(TR_OP_CFB_DECRYPT, key->backend->name, len);
        return tr_whole_calls(key)->cfb_decrypt(key, iv, used, out, in, len);
    }
    if (*used == 0 && len > TR_BLOCK)
        return cfb_decrypt_with_tail(key, iv, used, out, in, len);
    return cfb_any_length(key, iv, used, out, in, len, 1);
}

enum tr_status tr_cfb128_encrypt(const struct tr_aes_key *key, uint8_t iv[16], unsigned *used,
                                 uint8_t *out, const uint8_t *in, size_t len)
{
    if (tr_is_whole(len, *used))
        return tr_whole_blocks(key, TR_OP_CFB_ENCRYPT, out, in, len, iv);
    return cfb_any_length(key, iv, used, out, in, len, 0);
}

enum tr_status tr_cfb128_decrypt(const struct tr_aes_key *key, uint8_t iv[16], unsigned *used,
                                 uint8_t *out, const uint8_t *in, size_t len)
{
    if (tr_is_whole(len, *used))
        return tr_whole_blocks(key, TR_OP_CFB_DECRYPT, out, in, len, iv);
    return cfb_decrypt_not_whole(key, iv, used, out, in, len);
}

enum tr_status tr_cfb128_encrypt_many(const struct tr_stream *jobs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!tr_is_set(jobs[i].key))
            return TR_ERR_STATE;
        if (tr_bad_overlap(jobs[i].out, jobs[i].in, jobs[i].len))
            return TR_ERR_OVERLAP;
    }
    tr_multibuffer(TR_MB_CFB, tr_list_streams, jobs, count);
    /* Encrypts the tails: each job has less than a block left. */
    for (size_t i = 0; i < count; i++) {
        const struct tr_stream *job = &jobs[i];
        size_t rest = job->len % TR_BLOCK;
        unsigned used = 0;
        if (rest != 0)
            (void)cfb_any_length(job->key, job->iv, &used, job->out + job->len - rest,
                                 job->in + job->len - rest, rest, 0);
    }
    return TR_OK;
}
