/* SPDX-License-Identifier: BSD-2-Clause */
/* Update, final and EVP_Cipher() of the unauthenticated ciphers. */
#include "cipher.h"

#include "tls_record.h"
#include "util.h"

#include <openssl/evp.h>

#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define INLINE              static inline __attribute__((always_inline))

int trp_raise_status(const struct trp_cipher *cipher, enum tr_status status)
{
    const struct trp_provider *provider = cipher->head.provider;
    switch (status) {
    case TR_ERR_KEY_LENGTH:
        return TRP_RAISE(provider, ERR_LIB_PROV, PROV_R_INVALID_KEY_LENGTH);
    case TR_ERR_LENGTH:
        return TRP_RAISE(provider, ERR_LIB_PROV, PROV_R_WRONG_FINAL_BLOCK_LENGTH);
    case TR_ERR_PADDING:
        return TRP_RAISE(provider, ERR_LIB_PROV, PROV_R_BAD_DECRYPT);
    case TR_ERR_EQUAL_KEYS:
        return trp_failed(cipher, PROV_R_XTS_DUPLICATED_KEYS);
    case TR_ERR_OVERLAP:
        return TRP_RAISE(provider, ERR_LIB_EVP, EVP_R_PARTIALLY_OVERLAPPING);
    default:
        return TRP_RAISE(provider, ERR_LIB_PROV, PROV_R_CIPHER_OPERATION_FAILED);
    }
}

INLINE enum tr_op cipher_operation(enum tr_mode mode, int decrypt)
{
    return mode == TR_ECB      ? (decrypt ? TR_OP_ECB_DECRYPT : TR_OP_ECB_ENCRYPT)
           : mode == TR_CBC    ? (decrypt ? TR_OP_CBC_DECRYPT : TR_OP_CBC_ENCRYPT)
           : mode == TR_CFB128 ? (decrypt ? TR_OP_CFB_DECRYPT : TR_OP_CFB_ENCRYPT)
           : mode == TR_OFB    ? TR_OP_OFB
                               : TR_OP_CTR;
}

/* Whether this update can go straight to the bulk operation, as nearly all updates can. ORs most
 * obstacles together, to test them with one branch. The argument `waits` is 1 in modes with
 * padding, because decryption with padding holds back the last block. */
INLINE int cipher_can_bulk_direct(const struct trp_cipher *cipher, int waits, const uint8_t *out,
                                  size_t out_size, const uint8_t *in, size_t len)
{
    const struct tr_cipher *c = &cipher->core;
    const size_t obstacles = c->used | len % TR_BLOCK | cipher->tls_version |
                             (size_t)(cipher->key_set ^ 1) |
                             (waits ? (size_t)(c->decrypt & c->padding) : 0);
    return LIKELY(obstacles == 0 && len - 1 < out_size && !tr_bad_overlap(out, in, len));
}

INLINE void cipher_bulk_direct(struct tr_cipher *c, enum tr_mode mode, uint8_t *out,
                               const uint8_t *in, size_t len)
{
    tr_bulk(c->key, cipher_operation(mode, c->decrypt), out, in, len / TR_BLOCK, c->iv);
}

/* CFB of 8 bits and of 1 bit, beside the values of enum tr_mode. */
enum { CFB8 = TR_CTR + 1, CFB1 };

/* The most bytes whose number of bits fits a size_t. A test has smaller pieces. */
#ifndef TRP_CFB1_PIECE
#    define TRP_CFB1_PIECE (SIZE_MAX / 8)
#endif

INLINE enum tr_status cfb1_crypt(struct tr_cipher *c, uint8_t *out, const uint8_t *in, size_t bits)
{
    return (c->decrypt ? tr_cfb1_decrypt : tr_cfb1_encrypt)(c->key, c->iv, out, in, bits);
}

INLINE enum tr_status cfb_crypt_small(struct trp_cipher *cipher, int mode, uint8_t *out,
                                      const uint8_t *in, size_t len)
{
    struct tr_cipher *c = &cipher->core;
    if (mode == CFB8)
        return c->decrypt ? tr_cfb8_decrypt(c->key, c->iv, out, in, len)
                          : tr_cfb8_encrypt(c->key, c->iv, out, in, len);
    if (cipher->use_bits)
        return cfb1_crypt(c, out, in, len);
    if (tr_bad_overlap(out, in, len))
        return TR_ERR_OVERLAP;
    for (; len > TRP_CFB1_PIECE; len -= TRP_CFB1_PIECE) {
        (void)cfb1_crypt(c, out, in, TRP_CFB1_PIECE * 8);
        out += TRP_CFB1_PIECE;
        in += TRP_CFB1_PIECE;
    }
    return cfb1_crypt(c, out, in, len * 8);
}

static __attribute__((cold, noinline)) enum tr_status block_refused(size_t len)
{
    return len % TR_BLOCK != 0 ? TR_ERR_LENGTH : len != 0 ? TR_ERR_OVERLAP : TR_OK;
}

/* Encrypts or decrypts, without buffering. ECB and CBC refuse a partial block. */
INLINE enum tr_status cipher_crypt(struct trp_cipher *cipher, int mode, uint8_t *out,
                                   size_t *out_len, const uint8_t *in, size_t len)
{
    struct tr_cipher *c = &cipher->core;
    const int is_block = mode == TR_ECB || mode == TR_CBC;
    if (mode > TR_CTR)
        return cfb_crypt_small(cipher, mode, out, in, len);
    if (UNLIKELY((!is_block && c->used != 0) || len == 0 || len % TR_BLOCK != 0 ||
                 tr_bad_overlap(out, in, len)))
        return is_block ? block_refused(len) : tr_cipher_update(c, out, out_len, in, len);
    cipher_bulk_direct(c, (enum tr_mode)mode, out, in, len);
    return TR_OK;
}

/* ---- ECB and CBC ---------------------------------------------------------------------------- */

static int __attribute__((cold, noinline))
block_record_failed(const struct trp_cipher *cipher, const char *reason)
{
    return trp_raise(cipher->head.provider, __FILE__, __LINE__, __func__, ERR_LIB_PROV,
                     PROV_R_CIPHER_OPERATION_FAILED, "TLS record: %s", reason);
}

/*
 * Computes the bytes that replace the MAC of a record with wrong padding, so that its comparison
 * with the HMAC fails (RFC 5246 section 6.2.3.2). They are the inverse cipher of four blocks that
 * hold the record's number. Nobody without the key can know them, because the peer's records show
 * the inverse cipher of ciphertexts only. Nothing sends or stores them, so a copy of the context
 * may repeat them. The default provider draws random bytes for each record. That takes longer, and
 * needs a system call that seccomp(2) may forbid.
 */
static void block_record_substitute(struct trp_cipher *cipher, uint8_t bytes[TRP_TLS_MAC])
{
    uint8_t iv[TR_BLOCK] = {0};
    memset(bytes, 0, TRP_TLS_MAC);
    for (uint8_t i = 0; i < TRP_TLS_MAC / TR_BLOCK; i++) {
        bytes[i * TR_BLOCK] = i;
        memcpy(bytes + i * TR_BLOCK + 8, &cipher->tls_records, 8);
    }
    cipher->tls_records++;
    tr_bulk(cipher->core.key, TR_OP_CBC_DECRYPT, bytes, bytes, TRP_TLS_MAC / TR_BLOCK, iv);
}

/* Encrypts or decrypts one TLS record in place (tls_record.h). */
static __attribute__((noinline)) int block_record_update(struct trp_cipher *cipher, uint8_t *out,
                                                         size_t *out_len, size_t out_size,
                                                         const uint8_t *in, size_t len)
{
    struct tr_cipher *c = &cipher->core;
    if (in == NULL || in != out || out_size < len || !c->padding)
        return block_record_failed(cipher,
                                   "the update is not in place, padding is off, or the output "
                                   "buffer is too small");
    if (!c->decrypt) {
        if (out_size < len + TR_BLOCK - len % TR_BLOCK)
            return block_record_failed(cipher, "the output buffer has no room for the padding");
        len = trp_tls_pad(cipher->tls_version, out, len);
    }
    if (len % TR_BLOCK != 0)
        return block_record_failed(cipher, "the length is not a multiple of 16 bytes");
    (void)cipher_crypt(cipher, c->mode, out, out_len, out, len);
    cipher->has_mac_copy = 0;
    if (!c->decrypt) {
        *out_len = len;
        return 1;
    }
    uint8_t substitute[TRP_TLS_MAC];
    if (cipher->tls_mac_size != 0)
        block_record_substitute(cipher, substitute);
    const char *const reason = trp_tls_open(cipher->tls_version, out, len, cipher->tls_mac_copy,
                                            cipher->tls_mac_size, substitute, out_len);
    tr_cleanse(substitute, sizeof(substitute));
    if (reason != NULL)
        return block_record_failed(cipher, reason);
    cipher->has_mac_copy = cipher->tls_mac_size != 0;
    return 1;
}

/* Decrypts whole blocks while padding is on. c->buffer holds the last block of the previous call,
 * because that block may contain the padding. Decrypts that block and all blocks of this call
 * except the last, then buffers the last. `in` and `out` are disjoint, or `out` is one block before
 * `in`. */
INLINE void block_update_held(struct tr_cipher *c, enum tr_mode mode, uint8_t *out,
                              const uint8_t *in, size_t len)
{
    enum tr_op op = cipher_operation(mode, 1);
    tr_bulk(c->key, op, out, c->buffer, 1, c->iv);
    if (len > TR_BLOCK)
        tr_bulk(c->key, op, out + TR_BLOCK, in, len / TR_BLOCK - 1, c->iv);
    memcpy(c->buffer, in + len - TR_BLOCK, TR_BLOCK);
}

INLINE int disjoint(const uint8_t *a, const uint8_t *b, size_t len)
{
    return (uintptr_t)a - (uintptr_t)b >= len && (uintptr_t)b - (uintptr_t)a >= len;
}

static __attribute__((noinline)) int block_update_otherwise(struct trp_cipher *cipher, uint8_t *out,
                                                            size_t *out_len, size_t out_size,
                                                            const uint8_t *in, size_t len)
{
    struct tr_cipher *c = &cipher->core;
    if (UNLIKELY(!cipher->key_set))
        return trp_failed(cipher, PROV_R_NO_KEY_SET);
    if (UNLIKELY(cipher->tls_version != 0))
        return block_record_update(cipher, out, out_len, out_size, in, len);
    if (LIKELY(c->used == TR_BLOCK && len % TR_BLOCK == 0 && len != 0 && c->decrypt && c->padding &&
               len <= out_size && (disjoint(out, in, len) || out + TR_BLOCK == in))) {
        block_update_held(c, c->mode, out, in, len);
        *out_len = len;
        return 1;
    }
    if (tr_cipher_room(c, len) > out_size)
        return trp_failed(cipher, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
    const enum tr_status status = tr_cipher_update(c, out, out_len, in, len);
    return LIKELY(status == TR_OK) ? 1 : trp_raise_status(cipher, status);
}

/* The update of ECB and CBC. Uses no local variable after the bulk operation, so that the compiler
 * saves no registers. */
INLINE int block_update(struct trp_cipher *cipher, enum tr_mode mode, uint8_t *out, size_t *out_len,
                        size_t out_size, const uint8_t *in, size_t len)
{
    if (!cipher_can_bulk_direct(cipher, 1, out, out_size, in, len))
        return block_update_otherwise(cipher, out, out_len, out_size, in, len);
    *out_len = len;
    cipher_bulk_direct(&cipher->core, mode, out, in, len);
    return 1;
}

int trp_block_final(void *ctx, unsigned char *out, size_t *out_len, size_t out_size)
{
    struct trp_cipher *cipher = ctx;
    struct tr_cipher *c = &cipher->core;
    if (!cipher->key_set)
        return trp_failed(cipher, PROV_R_NO_KEY_SET);
    if (cipher->tls_version != 0)
        return block_record_failed(cipher,
                                   "each update processes one record; final has nothing to do");
    /* If padding was switched off during the message, a block that was held back before is ordinary
     * data. */
    if ((c->padding || c->used != 0) && out_size < TR_BLOCK)
        return trp_failed(cipher, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
    const enum tr_status status = c->used == TR_BLOCK && !c->padding
                                      ? tr_cipher_update(c, out, out_len, NULL, 0)
                                      : tr_cipher_final(c, out, out_len);
    return status == TR_OK ? 1 : trp_raise_status(cipher, status);
}

/* ---- CFB, OFB and CTR ----------------------------------------------------------------------- */

/* Removes the MAC at the end of a TLS record and points tls_mac to it, so that libssl can check it.
 * The default provider does this in CFB, OFB and CTR, too. */
static __attribute__((noinline)) int stream_strip_mac(struct trp_cipher *cipher, const uint8_t *out,
                                                      size_t *out_len)
{
    if (*out_len < cipher->tls_mac_size)
        return 0;
    *out_len -= cipher->tls_mac_size;
    cipher->tls_mac = out + *out_len;
    return 1;
}

/* The update of a mode that takes any length. */
INLINE int any_update(struct trp_cipher *cipher, int mode, uint8_t *out, size_t *out_len,
                      size_t out_size, const uint8_t *in, size_t len)
{
    *out_len = len;
    if (UNLIKELY(!cipher->key_set))
        return trp_failed(cipher, PROV_R_NO_KEY_SET);
    if (UNLIKELY(len == 0))
        return 1;
    if (UNLIKELY(len > out_size))
        return trp_failed(cipher, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
    enum tr_status status = cipher_crypt(cipher, mode, out, out_len, in, len);
    if (UNLIKELY(status != TR_OK))
        return trp_raise_status(cipher, status);
    if (UNLIKELY(cipher->tls_version != 0 && cipher->tls_mac_size != 0 && cipher->core.decrypt))
        return stream_strip_mac(cipher, out, out_len);
    return 1;
}

static __attribute__((noinline)) int stream_update_otherwise(struct trp_cipher *cipher,
                                                             uint8_t *out, size_t *out_len,
                                                             size_t out_size, const uint8_t *in,
                                                             size_t len)
{
    return any_update(cipher, cipher->core.mode, out, out_len, out_size, in, len);
}

INLINE int stream_update(struct trp_cipher *cipher, enum tr_mode mode, uint8_t *out,
                         size_t *out_len, size_t out_size, const uint8_t *in, size_t len)
{
    if (!cipher_can_bulk_direct(cipher, 0, out, out_size, in, len))
        return stream_update_otherwise(cipher, out, out_len, out_size, in, len);
    *out_len = len;
    cipher_bulk_direct(&cipher->core, mode, out, in, len);
    return 1;
}

int trp_stream_final(void *ctx, unsigned char *out, size_t *out_len, size_t out_size)
{
    const struct trp_cipher *cipher = ctx;
    if (!cipher->key_set)
        return trp_failed(cipher, PROV_R_NO_KEY_SET);
    *out_len = 0;
    return 1;
}

int trp_no_final(void *ctx, unsigned char *out, size_t *out_len, size_t out_size)
{
    *out_len = 0;
    return 1;
}

/* ---- The functions of each mode ------------------------------------------------------------- */

/* The function for EVP_Cipher(), without buffering and padding. */
INLINE int cipher_once(struct trp_cipher *cipher, int mode, uint8_t *out, size_t *out_len,
                       size_t out_size, const uint8_t *in, size_t len)
{
    if (UNLIKELY(!cipher->key_set))
        return trp_failed(cipher, PROV_R_NO_KEY_SET);
    if (UNLIKELY(len > out_size))
        return trp_failed(cipher, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
    enum tr_status status = cipher_crypt(cipher, mode, out, out_len, in, len);
    if (UNLIKELY(status != TR_OK))
        return trp_raise_status(cipher, status);
    *out_len = len;
    return 1;
}

#define MODE(name, mode, kind)                                                                     \
    int trp_##name##_update(TRP_DATA_PARAMETERS)                                                   \
    {                                                                                              \
        return kind##_update(ctx, mode, out, out_len, out_size, in, len);                          \
    }                                                                                              \
    int trp_##name##_cipher(TRP_DATA_PARAMETERS)                                                   \
    {                                                                                              \
        return cipher_once(ctx, mode, out, out_len, out_size, in, len);                            \
    }

MODE(ecb, TR_ECB, block)
MODE(cbc, TR_CBC, block)
MODE(cfb, TR_CFB128, stream)
MODE(ofb, TR_OFB, stream)
MODE(ctr, TR_CTR, stream)
MODE(cfb8, CFB8, any)
MODE(cfb1, CFB1, any)
