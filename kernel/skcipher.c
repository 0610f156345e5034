/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The skciphers ecb, cbc, cts(cbc), ctr, xctr and xts. Data arrives as scatterlists and is
 * processed in steps of at most a page (steps.h). The vector registers are released before a step
 * ends, because the walk may sleep between steps. Requests are synchronous and work in any context.
 *
 * The algorithms cbc and ctr update the IV in place, so that a next request can continue the
 * message.
 */
#include "tenrounds_kernel.h"

#include "modes/xts.h"
#include "steps.h"

#include <linux/module.h>

#include <crypto/aes.h>
#include <crypto/algapi.h>
#include <crypto/xts.h>

static struct tr_aes_key *key_of(struct crypto_skcipher *tfm)
{
    return PTR_ALIGN(crypto_skcipher_ctx(tfm), __alignof__(struct tr_aes_key));
}

static struct tr_xts_key *xts_keys_of(struct crypto_skcipher *tfm)
{
    return PTR_ALIGN(crypto_skcipher_ctx(tfm), __alignof__(struct tr_xts_key));
}

static int set_key(struct crypto_skcipher *tfm, const u8 *raw, unsigned int len)
{
    return tr_aes_set_key(key_of(tfm), tr_kernel_backend, raw, len) == TR_OK ? 0 : -EINVAL;
}

/* Sets both keys. Does not call tr_xts_set_key(), which refuses XTS-AES-192, as IEEE 1619 does. The
 * kernel allows XTS-AES-192, and has its own rules for equal halves (xts_verify_key()). */
static int xts_set_key(struct crypto_skcipher *tfm, const u8 *raw, unsigned int len)
{
    struct tr_xts_key *keys = xts_keys_of(tfm);
    int err = xts_verify_key(tfm, raw, len);

    if (err != 0)
        return err;
    if (tr_aes_set_key(&keys->data, tr_kernel_backend, raw, len / 2) != TR_OK ||
        tr_aes_set_key(&keys->tweak, tr_kernel_backend, raw + len / 2, len / 2) != TR_OK)
        return -EINVAL;
    return 0;
}

/* Makes *part a request for the first `len` bytes of *req. */
static void first_part(struct skcipher_request *part, struct skcipher_request *req,
                       unsigned int len)
{
    skcipher_request_set_tfm(part, crypto_skcipher_reqtfm(req));
    skcipher_request_set_callback(part, skcipher_request_flags(req), NULL, NULL);
    skcipher_request_set_crypt(part, req->src, req->dst, len, req->iv);
}

/* ---- ecb, cbc ---- */

/* Encrypts or decrypts whole blocks; a partial block at the end gives -EINVAL. */
static int crypt_blocks(struct skcipher_request *req, enum tr_kernel_alg alg, enum tr_op op)
{
    const struct tr_aes_key *key = key_of(crypto_skcipher_reqtfm(req));
    struct tr_steps steps __uninitialized;
    int err = tr_steps_begin(&steps, req);

    while (steps.nbytes != 0) {
        unsigned int rest = steps.nbytes % TR_BLOCK, len = steps.nbytes - rest;

        if (len != 0)
            tr_bulk(key, op, steps.out, steps.in, len / TR_BLOCK, steps.iv);
        tr_kernel_count_step(alg, len);
        err = tr_steps_next(&steps, rest);
    }
    return err;
}

#define BLOCKS(name, constant, operation)                                                          \
    static int name(struct skcipher_request *req)                                                  \
    {                                                                                              \
        tr_kernel_count_call(TR_KERNEL_##constant);                                                \
        return crypt_blocks(req, TR_KERNEL_##constant, TR_OP_##operation);                         \
    }
BLOCKS(ecb_encrypt, ECB, ECB_ENCRYPT)
BLOCKS(ecb_decrypt, ECB, ECB_DECRYPT)
BLOCKS(cbc_encrypt, CBC, CBC_ENCRYPT)
BLOCKS(cbc_decrypt, CBC, CBC_DECRYPT)

/* ---- cts(cbc) ---- */

/* CBC with ciphertext stealing, CS3 (RFC 3962 section 5), as in crypto/cts.c. The last two blocks
 * swap places, so this function copies them to a buffer and processes them as a separate step. The
 * step has 17 to 32 bytes, or 16 if that is the whole message. */
static int cts(struct skcipher_request *req, int decrypt)
{
    const struct tr_aes_key *key = key_of(crypto_skcipher_reqtfm(req));
    unsigned int len = req->cryptlen, last;
    struct skcipher_request whole;
    u8 end[2 * TR_BLOCK];
    enum tr_status status;
    bool held;
    int err;

    if (len < TR_BLOCK)
        return -EINVAL;
    tr_kernel_count_call(TR_KERNEL_CTS);
    last = len == TR_BLOCK ? TR_BLOCK : TR_BLOCK + 1 + (len - 1) % TR_BLOCK;
    if (len != last) {
        first_part(&whole, req, len - last);
        err = crypt_blocks(&whole, TR_KERNEL_CTS, decrypt ? TR_OP_CBC_DECRYPT : TR_OP_CBC_ENCRYPT);
        if (err != 0)
            return err;
    }
    tr_copy_few(end, req->src, len - last, last, 0);
    held = tr_kernel_hold(key, last);
    status = decrypt ? tr_cbc_cts_decrypt(key, TR_CS3, req->iv, end, end, last)
                     : tr_cbc_cts_encrypt(key, TR_CS3, req->iv, end, end, last);
    tr_kernel_release(held);
    if (status == TR_OK)
        tr_copy_few(end, req->dst, len - last, last, 1);
    tr_kernel_count_step(TR_KERNEL_CTS, last);
    memzero_explicit(end, sizeof(end));
    return status == TR_OK ? 0 : -EINVAL;
}

static int cts_encrypt(struct skcipher_request *req)
{
    return cts(req, 0);
}

static int cts_decrypt(struct skcipher_request *req)
{
    return cts(req, 1);
}

/* ---- ctr, xctr ---- */

/* The length of this step for a stream cipher: whole blocks, except in the last step. */
static unsigned int stream_step(const struct tr_steps *steps)
{
    return steps->nbytes < steps->total ? round_down(steps->nbytes, TR_BLOCK) : steps->nbytes;
}

static int ctr(struct skcipher_request *req)
{
    const struct tr_aes_key *key = key_of(crypto_skcipher_reqtfm(req));
    struct tr_steps steps __uninitialized;
    u8 last[TR_BLOCK];
    int err = tr_steps_begin(&steps, req);

    tr_kernel_count_call(TR_KERNEL_CTR);
    while (steps.nbytes != 0) {
        unsigned int len = stream_step(&steps), rest = len % TR_BLOCK;
        /* Without a partial block, one bulk call suffices, and it acquires the registers itself. */
        bool held = rest != 0 && tr_kernel_hold(key, len);

        if (len != rest)
            tr_bulk(key, TR_OP_CTR, steps.out, steps.in, len / TR_BLOCK, steps.iv);
        if (rest != 0) {
            memcpy(last, steps.in + len - rest, rest);
            tr_bulk(key, TR_OP_CTR, last, last, 1, steps.iv);
            memcpy(steps.out + len - rest, last, rest);
            memzero_explicit(last, sizeof(last));
        }
        tr_kernel_release(held);
        tr_kernel_count_step(TR_KERNEL_CTR, len);
        err = tr_steps_next(&steps, steps.nbytes - len);
    }
    return err;
}

/* XCTR (HCTR2, Crowley, Huckleberry and Biggers, 2021, ia.cr/2021/1441): keystream block i = 1, 2,
 * .. is the encryption of IV XOR i, with i in little-endian order. The core has no operation for
 * XCTR, so ECB computes the keystream, 32 blocks per call. */
#define XCTR_BLOCKS 32u

static void xctr_step(const struct tr_aes_key *key, const u8 *iv, unsigned int done, u8 *out,
                      const u8 *in, unsigned int len)
{
    u8 keystream[XCTR_BLOCKS * TR_BLOCK];
    __le32 number;

    while (len != 0) {
        unsigned int n = min_t(unsigned int, len, sizeof(keystream));
        unsigned int blocks = DIV_ROUND_UP(n, TR_BLOCK), i;

        for (i = 0; i < blocks; i++) {
            number = cpu_to_le32(done / TR_BLOCK + i + 1);
            memcpy(keystream + i * TR_BLOCK, iv, TR_BLOCK);
            crypto_xor(keystream + i * TR_BLOCK, (u8 *)&number, sizeof(number));
        }
        tr_bulk(key, TR_OP_ECB_ENCRYPT, keystream, keystream, blocks, NULL);
        crypto_xor_cpy(out, in, keystream, n);
        done += n;
        out += n;
        in += n;
        len -= n;
    }
    memzero_explicit(keystream, sizeof(keystream));
}

static int xctr(struct skcipher_request *req)
{
    const struct tr_aes_key *key = key_of(crypto_skcipher_reqtfm(req));
    struct tr_steps steps __uninitialized;
    unsigned int done = 0;
    int err = tr_steps_begin(&steps, req);

    tr_kernel_count_call(TR_KERNEL_XCTR);
    while (steps.nbytes != 0) {
        unsigned int len = stream_step(&steps);
        bool held = tr_kernel_hold(key, len);

        xctr_step(key, steps.iv, done, steps.out, steps.in, len);
        tr_kernel_release(held);
        done += len;
        tr_kernel_count_step(TR_KERNEL_XCTR, len);
        err = tr_steps_next(&steps, steps.nbytes - len);
    }
    return err;
}

/* ---- xts ---- */

/* One data unit of XTS. */
struct xts_unit {
    const struct tr_xts_key *keys;
    struct tr_xts_run run; /* has no tweak until the first blocks are processed */
};

static int xts_blocks(struct skcipher_request *req, struct xts_unit *x, int decrypt)
{
    struct tr_steps steps __uninitialized;
    int err = tr_steps_begin(&steps, req);

    while (steps.nbytes != 0) {
        unsigned int rest = steps.nbytes % TR_BLOCK, len = steps.nbytes - rest;
        bool held = tr_kernel_hold(&x->keys->data, len);

        tr_xts_blocks(&x->keys->data, decrypt, steps.out, steps.in, len / TR_BLOCK, &x->run);
        tr_kernel_release(held);
        tr_kernel_count_step(TR_KERNEL_XTS, len);
        err = tr_steps_next(&steps, rest);
    }
    return err;
}

/* Ciphertext stealing: processes the last 17 to 31 bytes, from the offset `begin` on. */
static void xts_end(struct skcipher_request *req, struct xts_unit *x, int decrypt,
                    unsigned int begin)
{
    unsigned int len = req->cryptlen - begin;
    u8 end[2 * TR_BLOCK];
    bool held;

    tr_copy_few(end, req->src, begin, len, 0);
    held = tr_kernel_hold(&x->keys->data, len);
    tr_xts_steal(&x->keys->data, decrypt, end, end, len - TR_BLOCK, &x->run);
    tr_kernel_release(held);
    tr_copy_few(end, req->dst, begin, len, 1);
    tr_kernel_count_step(TR_KERNEL_XTS, len);
    memzero_explicit(end, sizeof(end));
}

static int xts(struct skcipher_request *req, int decrypt)
{
    const struct tr_xts_key *keys = xts_keys_of(crypto_skcipher_reqtfm(req));
    struct xts_unit x = {.keys = keys, .run = {.key = &keys->tweak, .unit = req->iv}};
    unsigned int rest = req->cryptlen % TR_BLOCK;
    unsigned int whole = req->cryptlen - (rest != 0 ? TR_BLOCK + rest : 0);
    struct skcipher_request part;
    int err = 0;

    if (req->cryptlen < TR_BLOCK)
        return -EINVAL;
    tr_kernel_count_call(TR_KERNEL_XTS);
    if (rest == 0) {
        err = xts_blocks(req, &x, decrypt);
    } else {
        first_part(&part, req, whole);
        if (whole != 0)
            err = xts_blocks(&part, &x, decrypt);
        if (err == 0)
            xts_end(req, &x, decrypt, whole);
    }
    memzero_explicit(x.run.tweak, sizeof(x.run.tweak));
    return err;
}

static int xts_encrypt(struct skcipher_request *req)
{
    return xts(req, 0);
}

static int xts_decrypt(struct skcipher_request *req)
{
    return xts(req, 1);
}

/* ---- Registration ---- */

#define BASE(name, driver, block, context)                                                         \
    .base = {.cra_name = name,                                                                     \
             .cra_driver_name = driver "-tenrounds-",                                              \
             .cra_blocksize = block,                                                               \
             .cra_ctxsize = TR_KERNEL_CONTEXT_SIZE(context),                                       \
             .cra_module = THIS_MODULE}

#define AES(setkey_, encrypt_, decrypt_)                                                           \
    .min_keysize = AES_MIN_KEY_SIZE, .max_keysize = AES_MAX_KEY_SIZE, .setkey = setkey_,           \
    .encrypt = encrypt_, .decrypt = decrypt_

static struct skcipher_alg algs[] = {
    {
        BASE("ecb(aes)", "ecb-aes", TR_BLOCK, struct tr_aes_key),
        AES(set_key, ecb_encrypt, ecb_decrypt),
    },
    {
        BASE("cbc(aes)", "cbc-aes", TR_BLOCK, struct tr_aes_key),
        AES(set_key, cbc_encrypt, cbc_decrypt),
        .ivsize = TR_BLOCK,
    },
    {
        BASE("cts(cbc(aes))", "cts-cbc-aes", TR_BLOCK, struct tr_aes_key),
        AES(set_key, cts_encrypt, cts_decrypt),
        .ivsize = TR_BLOCK,
    },
    {
        BASE("ctr(aes)", "ctr-aes", 1, struct tr_aes_key),
        AES(set_key, ctr, ctr),
        .ivsize = TR_BLOCK,
        .chunksize = TR_BLOCK,
    },
    {
        BASE("xctr(aes)", "xctr-aes", 1, struct tr_aes_key),
        AES(set_key, xctr, xctr),
        .ivsize = TR_BLOCK,
        .chunksize = TR_BLOCK,
    },
    {
        BASE("xts(aes)", "xts-aes", TR_BLOCK, struct tr_xts_key),
        .min_keysize = 2 * AES_MIN_KEY_SIZE,
        .max_keysize = 2 * AES_MAX_KEY_SIZE,
        .setkey = xts_set_key,
        .encrypt = xts_encrypt,
        .decrypt = xts_decrypt,
        .ivsize = TR_BLOCK,
    },
};

int tr_kernel_register_skciphers(const char *backend, int priority)
{
    unsigned int i;

    for (i = 0; i < ARRAY_SIZE(algs); i++) {
        tr_kernel_name_driver(algs[i].base.cra_driver_name, backend);
        algs[i].base.cra_priority = priority;
    }
    return crypto_register_skciphers(algs, ARRAY_SIZE(algs));
}

void tr_kernel_unregister_skciphers(void)
{
    crypto_unregister_skciphers(algs, ARRAY_SIZE(algs));
}
