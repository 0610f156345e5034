/* SPDX-License-Identifier: BSD-2-Clause */
/* Parameters that SIV and GCM-SIV share. Their tags always have 16 bytes. */
#ifndef TENROUNDS_PROVIDER_SIV_H
#define TENROUNDS_PROVIDER_SIV_H

#include "aead.h"

OSSL_FUNC_cipher_gettable_ctx_params_fn trp_siv_gettable_ctx_params;
OSSL_FUNC_cipher_settable_ctx_params_fn trp_siv_settable_ctx_params;

/* Writes a 16-byte tag. Fails if `tag` is NULL. */
int trp_siv_put_tag(const void *ctx, OSSL_PARAM *p, const uint8_t *tag);

#endif
