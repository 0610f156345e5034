/* SPDX-License-Identifier: BSD-2-Clause */
/* What GCM and CCM have in common as EVP_CIPHER has them: flags, and the records of TLS 1.2. */
#ifndef TENROUNDS_ENGINE_AEAD_H
#define TENROUNDS_ENGINE_AEAD_H

#include "mode.h"

#include <string.h>

#define TAG_BYTES 16
#define AAD_BYTES EVP_AEAD_TLS1_AAD_LEN /* of a record */
#define EXPLICIT  8                     /* bytes of the nonce that a record begins with */
#define FIXED     4                     /* bytes of it that stay for a key, at least */

#define AEAD_FLAGS                                                                                 \
    (TRE_DEFAULT_ASN1 | EVP_CIPH_FLAG_AEAD_CIPHER | EVP_CIPH_CUSTOM_IV |                           \
     EVP_CIPH_FLAG_CUSTOM_CIPHER | EVP_CIPH_ALWAYS_CALL_INIT | EVP_CIPH_CTRL_INIT |                \
     EVP_CIPH_CUSTOM_COPY | EVP_CIPH_CUSTOM_IV_LENGTH)

/* Takes the AAD of a record, whose length counts explicit nonce and, when it is to be opened, the tag;
 * in buffer it counts the plaintext alone (RFC 5246 section 6.2.3.3). Returns how much the record grows
 * by the tag, or 0 if the AAD is none. */
static inline int tre_take_aad(uint8_t buffer[16], const uint8_t *aad, int len, int encrypting,
                               unsigned tag_len)
{
    if (len != AAD_BYTES || aad == NULL)
        return 0;
    const unsigned frame = EXPLICIT + (encrypting ? 0 : tag_len);
    const unsigned n = (unsigned)aad[AAD_BYTES - 2] << 8 | aad[AAD_BYTES - 1];
    if (n < frame)
        return 0;
    memcpy(buffer, aad, AAD_BYTES);
    buffer[AAD_BYTES - 2] = (uint8_t)((n - frame) >> 8);
    buffer[AAD_BYTES - 1] = (uint8_t)(n - frame);
    return (int)tag_len;
}

#endif
