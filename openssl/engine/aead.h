/* SPDX-License-Identifier: BSD-2-Clause */
/* Code that GCM and CCM share: flags, and the AAD of TLS 1.2 records. */
#ifndef TENROUNDS_ENGINE_AEAD_H
#define TENROUNDS_ENGINE_AEAD_H

#include "mode.h"
#include "tls_aead.h"

#include <string.h>

#define AEAD_FLAGS                                                                                 \
    (TRE_DEFAULT_ASN1 | EVP_CIPH_FLAG_AEAD_CIPHER | EVP_CIPH_CUSTOM_IV |                           \
     EVP_CIPH_FLAG_CUSTOM_CIPHER | EVP_CIPH_ALWAYS_CALL_INIT | EVP_CIPH_CTRL_INIT |                \
     EVP_CIPH_CUSTOM_COPY | EVP_CIPH_CUSTOM_IV_LENGTH)

/* EVP_CTRL_AEAD_TLS1_AAD: stores the AAD of a record. Returns how many bytes the tag adds to the
 * record, or 0 if the AAD is wrong. */
static inline int tre_take_aad(uint8_t buffer[TROSSL_TLS_AAD], const uint8_t *aad, int len,
                               int encrypt, unsigned tag_len)
{
    if (len != (int)TROSSL_TLS_AAD || aad == NULL ||
        !trossl_tls_take_aad(buffer, aad, encrypt, tag_len))
        return 0;
    return (int)tag_len;
}

#endif
