/* SPDX-License-Identifier: BSD-2-Clause */
#include "tls_aead.h"

#include <string.h>

int trossl_tls_take_aad(uint8_t aad[TROSSL_TLS_AAD], const uint8_t *in, int encrypt, size_t tag_len)
{
    const size_t frame = TROSSL_TLS_EXPLICIT + (encrypt ? 0 : tag_len);
    const size_t n = (size_t)in[TROSSL_TLS_AAD - 2] << 8 | in[TROSSL_TLS_AAD - 1];
    memcpy(aad, in, TROSSL_TLS_AAD);
    if (n < frame)
        return 0;
    aad[TROSSL_TLS_AAD - 2] = (uint8_t)((n - frame) >> 8);
    aad[TROSSL_TLS_AAD - 1] = (uint8_t)(n - frame);
    return 1;
}

int trossl_iv_may_fix(size_t iv_len, size_t fixed_len)
{
    return fixed_len >= TROSSL_TLS_FIXED && fixed_len <= iv_len &&
           iv_len - fixed_len >= TROSSL_TLS_EXPLICIT;
}

void trossl_iv_next(uint8_t *iv, size_t iv_len, uint8_t *out, size_t len)
{
    if (len == 0 || len > iv_len)
        len = iv_len;
    memcpy(out, iv + iv_len - len, len);
    for (size_t i = 1; i <= TROSSL_TLS_EXPLICIT && i <= iv_len && ++iv[iv_len - i] == 0; i++)
        ;
}

enum tr_status trossl_tls_gcm(const struct tr_gcm_key *key, int encrypt, uint8_t *iv, size_t iv_len,
                              const uint8_t aad[TROSSL_TLS_AAD], uint8_t *record, size_t len,
                              size_t *out_len)
{
    if (len < TROSSL_TLS_EXPLICIT + TROSSL_TAG || iv_len < TROSSL_TLS_EXPLICIT)
        return TR_ERR_LENGTH;
    uint8_t *const text = record + TROSSL_TLS_EXPLICIT;
    const size_t n = len - TROSSL_TLS_EXPLICIT - TROSSL_TAG;
    enum tr_status status;
    if (encrypt) {
        status =
            tr_gcm_seal(key, iv, iv_len, aad, TROSSL_TLS_AAD, text, text, n, text + n, TROSSL_TAG);
        if (status == TR_OK)
            trossl_iv_next(iv, iv_len, record, TROSSL_TLS_EXPLICIT);
    } else {
        memcpy(iv + iv_len - TROSSL_TLS_EXPLICIT, record, TROSSL_TLS_EXPLICIT);
        status =
            tr_gcm_open(key, iv, iv_len, aad, TROSSL_TLS_AAD, text, text, n, text + n, TROSSL_TAG);
    }
    *out_len = encrypt ? len : n;
    return status;
}
