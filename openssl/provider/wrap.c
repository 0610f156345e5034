/* SPDX-License-Identifier: BSD-2-Clause */
/* AES key wrap, KW and KWP of SP 800-38F: each update wraps or unwraps one key, and an init may be
 * followed by several. The "INV" ciphers wrap with the inverse of AES (section 5.1). */
#include "dispatch.h"

#include <limits.h>

#define SEMIBLOCK 8
#define IV_PAD    4 /* the IV length of KWP (key wrap with padding); an IV of KW has 8 bytes */

static int wrap_is_padded(const struct trp_keyed *w)
{
    return w->cipher.head.kind->iv_len == IV_PAD;
}

static void wrap_begin(void *ctx)
{
    struct trp_keyed *w = ctx;
    trp_keyed_begin(w);
    w->cipher.core.padding = (uint8_t)wrap_is_padded(w);
}

static const struct trp_family wrap = {
    .context_size = sizeof(struct trp_keyed), .begin = wrap_begin, .copied = trp_keyed_copied};

static int wrap_set_ctx_params(void *ctx, const OSSL_PARAM params[])
{
    OSSL_PARAM *p = (OSSL_PARAM *)trp_param_find(params, OSSL_CIPHER_PARAM_KEYLEN);
    return p == NULL || trp_set_key_len(ctx, p);
}

static inline int wrap_init(TRP_INIT_PARAMETERS, int encrypt)
{
    struct trp_keyed *w = ctx;
    w->cipher.core.decrypt = !encrypt;
    return (iv == NULL || trp_set_iv(&w->cipher, iv, iv_len)) &&
           (key == NULL || trp_set_key(w, key, key_len)) && wrap_set_ctx_params(w, params);
}

TRP_INITS(static, wrap)

static enum tr_status wrap_run(struct trp_keyed *w, uint8_t *out, size_t *out_len,
                               const uint8_t *in, size_t len)
{
    const struct tr_aes_key *key = &w->key;
    const uint8_t *iv = w->cipher.iv_set ? w->cipher.core.iv : NULL;
    int inverse = w->cipher.head.kind->inverse;
    if (w->cipher.core.decrypt) {
        return wrap_is_padded(w) ? tr_kwp_unwrap(key, inverse, iv, out, out_len, in, len)
                                 : tr_kw_unwrap(key, inverse, iv, out, in, len);
    }
    return wrap_is_padded(w) ? tr_kwp_wrap(key, inverse, iv, out, in, len)
                             : tr_kw_wrap(key, inverse, iv, out, in, len);
}

static int wrap_update(TRP_DATA_PARAMETERS)
{
    struct trp_keyed *w = ctx;
    int decrypt = w->cipher.core.decrypt;
    *out_len = 0;
    if (len == 0)
        return 1;
    if (out_size < len)
        return trp_failed(w, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
    if (in == NULL)
        return 0;
    if (len > INT_MAX - 2 * SEMIBLOCK || (decrypt && len < 2 * SEMIBLOCK) ||
        ((decrypt || !wrap_is_padded(w)) && len % SEMIBLOCK != 0))
        return trp_failed(w, PROV_R_INVALID_INPUT_LENGTH);
    const size_t size =
        decrypt ? len - SEMIBLOCK : (len + SEMIBLOCK - 1) / SEMIBLOCK * SEMIBLOCK + SEMIBLOCK;
    if (out == NULL) { /* the caller asks for the size of the output */
        *out_len = size;
        return 1;
    }
    /* Wrapping adds one semiblock, and in KWP up to 7 bytes of padding. This check cannot require
     * those 7 bytes, because EVP_CipherUpdate() passes len + 8 as out_size, whatever the buffer's
     * size. */
    if (!decrypt && out_size < len + SEMIBLOCK)
        return trp_failed(w, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
    if (!w->cipher.key_set)
        return trp_failed(w, PROV_R_NO_KEY_SET);
    *out_len = size;
    enum tr_status status = wrap_run(w, out, out_len, in, len);
    if (status == TR_OK)
        return 1;
    *out_len = 0;
    return trp_failed(w, PROV_R_CIPHER_OPERATION_FAILED);
}

#define wrap_get_ctx_params trp_get_ctx_params

#define WRAP(name, iv, inv)                                                                        \
    TRP_TABLES(name, 1, wrap, wrap, trp_no_final, wrap, trp, (), .family = &wrap,                  \
               .evp_mode = EVP_CIPH_WRAP_MODE, .iv_len = iv, .block_size = SEMIBLOCK,              \
               .custom_iv = 1, .tests = TR_TESTS_KW, .inverse = inv)

WRAP(wrap, SEMIBLOCK, 0);
WRAP(wrap_pad, IV_PAD, 0);
WRAP(wrap_inv, SEMIBLOCK, 1);
WRAP(wrap_pad_inv, IV_PAD, 1);
