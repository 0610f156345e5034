/* SPDX-License-Identifier: BSD-2-Clause */
/* CBC with ciphertext stealing, SP 800-38A addendum section 3. */
#include "modes/modes.h"
#include "partial_block.h"

/* The number of bytes in the last block, 1 to 16. 0 if the message is plain CBC, without ciphertext
 * stealing or swapped blocks. */
static size_t cbc_cts_last_of(enum tr_cts form, size_t len)
{
    size_t last = len % TR_BLOCK;
    return last == 0 && form == TR_CS3 && len > TR_BLOCK ? TR_BLOCK : last;
}

static enum tr_status cbc_cts_check(const struct tr_aes_key *key, enum tr_cts form,
                                    const uint8_t *out, const uint8_t *in, size_t len)
{
    if (!tr_is_set(key))
        return TR_ERR_STATE;
    if (form < TR_CS1 || form > TR_CS3)
        return TR_ERR_MODE;
    if (len < TR_BLOCK)
        return TR_ERR_LENGTH;
    return tr_bad_overlap(out, in, len) ? TR_ERR_OVERLAP : TR_OK;
}

/* Encrypts fewer than TR_FEW whole blocks and the `last` bytes after them. One call encrypts all of
 * these blocks, the last one padded with zeros. Between two calls, the chaining value would pass
 * through memory, which adds latency. */
TR_INLINE void encrypt_few(const struct tr_aes_key *key, enum tr_cts form, uint8_t iv[16],
                           uint8_t *out, const uint8_t *in, size_t whole, size_t last)
{
    uint8_t blocks[TR_FEW * TR_BLOCK];
    partial_store_vector(blocks + whole, partial_load_after(in + whole, last));
    for (size_t i = 0; i < whole; i += TR_BLOCK)
        partial_store_vector(blocks + i, partial_load_block(in + i));
    tr_bulk(key, TR_OP_CBC_ENCRYPT, blocks, blocks, whole / TR_BLOCK + 1, iv);
    for (size_t i = 0; i + TR_BLOCK < whole; i += TR_BLOCK)
        partial_store_block(out + i, partial_load_block(blocks + i));
    const struct partial_block cut = partial_load_block(blocks + whole - TR_BLOCK);
    const struct partial_block full = partial_load_block(blocks + whole);
    uint8_t *before = out + whole - TR_BLOCK;
    if (form == TR_CS1) {
        partial_store_block(before, cut);
        partial_store_block(before + last, full);
    } else {
        partial_store_block(before, full);
        partial_store(out + whole, cut, last);
    }
}

enum tr_status tr_cbc_cts_encrypt(const struct tr_aes_key *key, enum tr_cts form, uint8_t iv[16],
                                  uint8_t *out, const uint8_t *in, size_t len)
{
    enum tr_status status = cbc_cts_check(key, form, out, in, len);
    if (status != TR_OK)
        return status;
    size_t last = cbc_cts_last_of(form, len), whole = len - last;
    if (last == 0) {
        tr_bulk(key, TR_OP_CBC_ENCRYPT, out, in, len / TR_BLOCK, iv);
        return TR_OK;
    }
    if (whole < (size_t)TR_FEW * TR_BLOCK) {
        encrypt_few(key, form, iv, out, in, whole, last);
        return TR_OK;
    }
    uint8_t block[TR_BLOCK];
    partial_store_vector(block, partial_load(in + whole, last));
    tr_short_bulk(key, TR_OP_CBC_ENCRYPT, out, in, whole / TR_BLOCK, iv);
    tr_short_bulk(key, TR_OP_CBC_ENCRYPT, block, block, 1, iv);
    uint8_t *before = out + whole - TR_BLOCK;
    if (form != TR_CS1)
        partial_store(out + whole, partial_load_block(before), last);
    __builtin_memcpy(form == TR_CS1 ? before + last : before, block, TR_BLOCK);
    return TR_OK;
}

/* Decrypts the last two blocks, as tr_cts_fn does (dispatch/backend.h). The ciphertext block `full`
 * is whole, but the message has only the first `last` bytes of `cut`. AES decryption D gives
 * D(full) = P XOR cut, where P is the last plaintext block, padded with zeros. From offset `last`
 * on, P is zero, so D(full) has the missing bytes of `cut`. Reads both blocks before it writes. */
static void cbc_cts_last_two(const struct tr_aes_key *key, uint8_t iv[16], uint8_t *out,
                             const uint8_t *in, size_t last, int cut_first)
{
    tr_cts_fn *whole = tr_whole_calls(key)->cts_decrypt;
    if (whole != NULL) {
        TR_PROBE_BULK(TR_OP_CBC_DECRYPT, key->backend->name, 2 * TR_BLOCK);
        whole(key, iv, out, in, last, cut_first);
        return;
    }
    const uint8_t *full = cut_first ? in + last : in, *cut = cut_first ? in : in + TR_BLOCK;
    struct partial_block c = partial_load_block(full), stolen = partial_load(cut, last);
    uint8_t block[TR_BLOCK];
    tr_short_bulk(key, TR_OP_ECB_DECRYPT, block, full, 1, NULL);
    struct partial_block d = partial_load_block(block),
                         p = partial_xor(partial_first(d, last), stolen);
    partial_store_vector(block, partial_xor(d, p));
    partial_store(out + TR_BLOCK, p, last); /* stored first, so that p does not go to the stack */
    tr_short_bulk(key, TR_OP_CBC_DECRYPT, out, block, 1, iv);
    partial_store_vector(iv, c);
    tr_cleanse(block, sizeof(block));
}

enum tr_status tr_cbc_cts_decrypt(const struct tr_aes_key *key, enum tr_cts form, uint8_t iv[16],
                                  uint8_t *out, const uint8_t *in, size_t len)
{
    enum tr_status status = cbc_cts_check(key, form, out, in, len);
    if (status != TR_OK)
        return status;
    size_t last = cbc_cts_last_of(form, len), whole = last == 0 ? len : len - last - TR_BLOCK;
    if (whole != 0)
        tr_short_bulk(key, TR_OP_CBC_DECRYPT, out, in, whole / TR_BLOCK, iv);
    in += whole;
    out += whole;
    if (last != 0)
        cbc_cts_last_two(key, iv, out, in, last, form == TR_CS1);
    return TR_OK;
}
