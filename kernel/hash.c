/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The MACs cmac (SP 800-38B) and xcbc (RFC 3566), which the kernel calls hashes. SMB3 signs with
 * cmac, IPsec authenticates with xcbc. The two differ only in how they derive the chaining key and
 * the two subkeys, so xcbc uses CMAC's key object.
 *
 * The kernel's templates call the cipher once per block, and aes-aesni acquires the vector
 * registers in each call. These drivers acquire them once per step of at most TR_KERNEL_HOLD bytes.
 *
 * Any number of requests can use the key in a transform's context at the same time. A request's
 * context (struct state) has no pointers and needs no PTR_ALIGN(). To export a request's state, the
 * kernel can therefore copy the context.
 */
#include "tenrounds_kernel.h"

#include <linux/module.h>

#include <crypto/internal/hash.h>

/* The state between two calls for a message: a struct tr_cmac without the key pointer and phase. */
struct state {
    u8 chain[TR_BLOCK], buffer[TR_BLOCK];
    u32 used;
};

static struct tr_cmac_key *key_of(struct crypto_shash *tfm)
{
    return PTR_ALIGN(crypto_shash_ctx(tfm), __alignof__(struct tr_cmac_key));
}

static int cmac_set_key(struct crypto_shash *tfm, const u8 *raw, unsigned int len)
{
    return tr_cmac_set_key(key_of(tfm), tr_kernel_backend, raw, len) == TR_OK ? 0 : -EINVAL;
}

/* Encrypts the three constants of RFC 3566 section 4. The results are the chaining key and the
 * subkeys. As in the kernel's template, the raw key may have any size of AES keys, not only RFC
 * 3566's 128 bits. */
static int xcbc_set_key(struct crypto_shash *tfm, const u8 *raw, unsigned int len)
{
    struct tr_cmac_key *key = key_of(tfm);
    u8 keys[3][TR_BLOCK];
    enum tr_status status = tr_aes_set_encryption_key(&key->aes, tr_kernel_backend, raw, len);

    if (status != TR_OK)
        return -EINVAL;
    memset(keys[0], 1, TR_BLOCK);
    memset(keys[1], 2, TR_BLOCK);
    memset(keys[2], 3, TR_BLOCK);
    tr_bulk(&key->aes, TR_OP_ECB_ENCRYPT, keys[0], keys[0], 3, NULL);
    memcpy(key->subkey, keys[1], sizeof(key->subkey));
    status = tr_aes_set_encryption_key(&key->aes, tr_kernel_backend, keys[0], TR_BLOCK);
    memzero_explicit(keys, sizeof(keys));
    return status == TR_OK ? 0 : -EINVAL;
}

static enum tr_kernel_alg alg_of(struct shash_desc *desc);

/* Adds data to a message. If a `tag` is given, also ends the message and writes its tag. The last
 * step and the tag are computed in one hold. */
static int add(struct shash_desc *desc, const u8 *data, unsigned int len, u8 *tag)
{
    const struct tr_cmac_key *key = key_of(desc->tfm);
    struct state *state = shash_desc_ctx(desc);
    enum tr_kernel_alg alg = alg_of(desc);
    enum tr_status status;
    struct tr_cmac m;

    status = tr_cmac_start(&m, key);
    memcpy(m.chain, state->chain, TR_BLOCK);
    memcpy(m.buffer, state->buffer, TR_BLOCK);
    m.used = state->used;
    do {
        unsigned int step = min(len, TR_KERNEL_HOLD);
        bool held = tr_kernel_hold(&key->aes, step);

        if (status == TR_OK)
            status = tr_cmac_update(&m, data, step);
        if (status == TR_OK && tag != NULL && step == len)
            status = tr_cmac_tag(&m, tag, TR_BLOCK); /* cleanses chain and buffer */
        tr_kernel_release(held);
        if (step != 0)
            tr_kernel_count_step(alg, step);
        data += step;
        len -= step;
    } while (len != 0);
    memcpy(state->chain, m.chain, TR_BLOCK);
    memcpy(state->buffer, m.buffer, TR_BLOCK);
    state->used = m.used;
    memzero_explicit(&m, sizeof(m));
    if (tag != NULL)
        tr_kernel_count_call(alg);
    return status == TR_OK ? 0 : -EINVAL;
}

static int init(struct shash_desc *desc)
{
    memset(shash_desc_ctx(desc), 0, sizeof(struct state));
    return 0;
}

static int update(struct shash_desc *desc, const u8 *data, unsigned int len)
{
    return add(desc, data, len, NULL);
}

static int final(struct shash_desc *desc, u8 *tag)
{
    return add(desc, NULL, 0, tag);
}

static int finup(struct shash_desc *desc, const u8 *data, unsigned int len, u8 *tag)
{
    return add(desc, data, len, tag);
}

static int digest(struct shash_desc *desc, const u8 *data, unsigned int len, u8 *tag)
{
    init(desc);
    return add(desc, data, len, tag);
}

/* ---- Registration ---- */

#define HASH(name, driver, setkey_)                                                                \
    {                                                                                              \
        .base = {.cra_name = name,                                                                 \
                 .cra_driver_name = driver "-tenrounds-",                                          \
                 .cra_blocksize = TR_BLOCK,                                                        \
                 .cra_ctxsize = TR_KERNEL_CONTEXT_SIZE(struct tr_cmac_key),                        \
                 .cra_module = THIS_MODULE},                                                       \
        .digestsize = TR_BLOCK, .descsize = sizeof(struct state), .setkey = setkey_, .init = init, \
        .update = update, .final = final, .finup = finup, .digest = digest                         \
    }

static struct shash_alg algs[] = {
    HASH("cmac(aes)", "cmac-aes", cmac_set_key),
    HASH("xcbc(aes)", "xcbc-aes", xcbc_set_key),
};

static enum tr_kernel_alg alg_of(struct shash_desc *desc)
{
    return crypto_shash_alg(desc->tfm) == &algs[0] ? TR_KERNEL_CMAC : TR_KERNEL_XCBC;
}

int tr_kernel_register_hashes(const char *backend, int priority)
{
    unsigned int i;

    for (i = 0; i < ARRAY_SIZE(algs); i++) {
        tr_kernel_name_driver(algs[i].base.cra_driver_name, backend);
        algs[i].base.cra_priority = priority;
    }
    return crypto_register_shashes(algs, ARRAY_SIZE(algs));
}

void tr_kernel_unregister_hashes(void)
{
    crypto_unregister_shashes(algs, ARRAY_SIZE(algs));
}
