/* SPDX-License-Identifier: BSD-2-Clause */
/* One streaming object for ECB, CBC, CFB128, OFB and CTR, with buffering, and with PKCS#7 padding
 * (RFC 5652 section 6.3) for ECB and CBC. */
#include "modes/modes.h"

static int cipher_is_block_mode(const struct tr_cipher *c)
{
    return c->mode == TR_ECB || c->mode == TR_CBC;
}

enum tr_status tr_cipher_start(struct tr_cipher *c, const struct tr_aes_key *key, enum tr_mode mode,
                               int decrypt, int padding, const uint8_t *iv)
{
    if (!tr_is_set(key))
        return TR_ERR_STATE;
    if (mode <= TR_MODE_NONE || mode > TR_CTR || (iv == NULL && mode != TR_ECB))
        return TR_ERR_MODE;
    c->key = key;
    c->mode = (uint8_t)mode;
    c->decrypt = decrypt != 0;
    c->padding = padding != 0;
    c->used = 0;
    __builtin_memset(c->buffer, 0, TR_BLOCK);
    if (iv != NULL)
        __builtin_memcpy(c->iv, iv, TR_BLOCK);
    return TR_OK;
}

/* The number of bytes that stay in the buffer after `total` bytes of input. Decryption with padding
 * keeps the last block, because it may hold the padding. */
static size_t cipher_kept(const struct tr_cipher *c, size_t total)
{
    if (c->decrypt && c->padding && total != 0)
        return (total - 1) % TR_BLOCK + 1;
    return total % TR_BLOCK;
}

size_t tr_cipher_room(const struct tr_cipher *c, size_t len)
{
    if (!cipher_is_block_mode(c))
        return len;
    size_t total = c->used + len;
    return total - cipher_kept(c, total);
}

static enum tr_status cipher_whole_blocks(struct tr_cipher *c, uint8_t *out, const uint8_t *in,
                                          size_t len)
{
    if (c->mode == TR_ECB)
        return c->decrypt ? tr_ecb_decrypt(c->key, out, in, len)
                          : tr_ecb_encrypt(c->key, out, in, len);
    return c->decrypt ? tr_cbc_decrypt(c->key, c->iv, out, in, len)
                      : tr_cbc_encrypt(c->key, c->iv, out, in, len);
}

/* Processes the buffered partial block first (if any), then whole blocks directly from `in`. Copies
 * the tail before it writes any output. An overlap is therefore an error in only two cases. Either
 * the first block would overwrite unread input, or the output of the whole blocks begins inside
 * their input. In all other cases, neither call of cipher_whole_blocks() can fail. */
static enum tr_status cipher_buffered_update(struct tr_cipher *c, uint8_t *out, const uint8_t *in,
                                             size_t len, size_t out_len)
{
    uint8_t tail[TR_BLOCK];
    size_t first = c->used != 0 && out_len != 0 ? TR_BLOCK : 0;
    size_t fill = first != 0 ? TR_BLOCK - c->used : 0;
    size_t straight = out_len - first;
    if (straight != 0) {
        uintptr_t into_input = (uintptr_t)(in + fill) - (uintptr_t)out;
        int covers = first != 0 && (into_input < TR_BLOCK || 0 - into_input < straight);
        if (covers || tr_bad_overlap(out + first, in + fill, straight))
            return TR_ERR_OVERLAP;
    }
    size_t rest = len - fill - straight;
    __builtin_memcpy(tail, in + fill + straight, rest);
    if (first != 0) {
        __builtin_memcpy(c->buffer + c->used, in, fill);
        (void)cipher_whole_blocks(c, c->buffer, c->buffer, TR_BLOCK);
        __builtin_memcpy(out, c->buffer, TR_BLOCK);
        c->used = 0;
    }
    (void)cipher_whole_blocks(c, out + first, in + fill, straight);
    __builtin_memcpy(c->buffer + c->used, tail, rest);
    c->used += (unsigned)rest;
    tr_cleanse_inline(tail, sizeof(tail));
    return TR_OK;
}

enum tr_status tr_cipher_update(struct tr_cipher *c, uint8_t *out, size_t *out_len,
                                const uint8_t *in, size_t len)
{
    *out_len = 0;
    if (c->key == NULL || !tr_is_set(c->key))
        return TR_ERR_STATE;
    enum tr_status status = TR_ERR_MODE;
    size_t produced = len;
    switch (c->mode) {
    case TR_ECB:
    case TR_CBC:
        produced = tr_cipher_room(c, len);
        if (c->used > TR_BLOCK) /* the caller can write to `used` */
            status = TR_ERR_LENGTH;
        else if (c->used == 0 && produced == len)
            status = cipher_whole_blocks(c, out, in, len);
        else /* memcpy() must not get NULL, even for 0 bytes */
            status = cipher_buffered_update(c, out, len != 0 ? in : c->buffer, len, produced);
        break;
    case TR_CFB128:
        status = c->decrypt ? tr_cfb128_decrypt(c->key, c->iv, &c->used, out, in, len)
                            : tr_cfb128_encrypt(c->key, c->iv, &c->used, out, in, len);
        break;
    case TR_OFB:
        status = tr_ofb(c->key, c->iv, &c->used, out, in, len);
        break;
    case TR_CTR:
        status = tr_ctr(c->key, c->iv, c->buffer, &c->used, out, in, len);
        break;
    }
    if (status == TR_OK)
        *out_len = produced;
    return status;
}

/* The number of PKCS#7 padding bytes at the end of the block, or 0 if the padding is wrong.
 * Constant-time: only the result depends on the contents, and the caller learns the result
 * anyway. */
static unsigned cipher_padding_of(const uint8_t block[TR_BLOCK])
{
    unsigned pad = block[TR_BLOCK - 1];
    unsigned bad = (pad - 1) & ~15u; /* not in 1 .. 16 */
    for (unsigned i = 0; i < TR_BLOCK; i++) {
        unsigned inside = 0u - ((i - pad) >> 31); /* all ones where i < pad */
        bad |= inside & (block[TR_BLOCK - 1 - i] ^ pad);
    }
    unsigned good = 0u - ((bad - 1) >> 31 & ~bad >> 31);
    return pad & good;
}

static enum tr_status cipher_final_padded_decrypt(struct tr_cipher *c, uint8_t out[16],
                                                  size_t *out_len)
{
    if (c->used != TR_BLOCK)
        return TR_ERR_LENGTH;
    uint8_t block[TR_BLOCK], iv[TR_BLOCK];
    enum tr_status status;
    __builtin_memcpy(iv, c->buffer, TR_BLOCK);
    if (c->mode == TR_ECB) {
        status = tr_ecb_decrypt(c->key, block, c->buffer, TR_BLOCK);
    } else {
        __builtin_memcpy(iv, c->iv, TR_BLOCK);
        status = tr_cbc_decrypt(c->key, iv, block, c->buffer, TR_BLOCK);
    }
    if (status != TR_OK)
        return status;
    const unsigned pad = (unsigned)TR_PUBLIC((int)cipher_padding_of(block));
    if (pad != 0) {
        if (c->mode == TR_CBC)
            __builtin_memcpy(c->iv, iv, TR_BLOCK);
        __builtin_memcpy(out, block, TR_BLOCK - pad);
        *out_len = TR_BLOCK - pad;
        c->used = 0;
    }
    tr_cleanse(block, sizeof(block));
    return pad != 0 ? TR_OK : TR_ERR_PADDING;
}

enum tr_status tr_cipher_final(struct tr_cipher *c, uint8_t out[16], size_t *out_len)
{
    *out_len = 0;
    if (c->key == NULL || !tr_is_set(c->key))
        return TR_ERR_STATE;
    if (c->mode == TR_MODE_NONE || c->mode > TR_CTR)
        return TR_ERR_MODE;
    if (!cipher_is_block_mode(c))
        return TR_OK;
    if (!c->padding)
        return c->used == 0 ? TR_OK : TR_ERR_LENGTH;
    if (c->decrypt)
        return cipher_final_padded_decrypt(c, out, out_len);
    if (c->used >= TR_BLOCK) /* the caller can write to `used` */
        return TR_ERR_LENGTH;
    uint8_t pad = (uint8_t)(TR_BLOCK - c->used);
    __builtin_memset(c->buffer + c->used, pad, pad);
    const enum tr_status status = cipher_whole_blocks(c, out, c->buffer, TR_BLOCK);
    if (status != TR_OK)
        return status;
    tr_cleanse(c->buffer, TR_BLOCK);
    *out_len = TR_BLOCK;
    c->used = 0;
    return TR_OK;
}
