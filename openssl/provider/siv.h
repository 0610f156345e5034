/* SPDX-License-Identifier: BSD-2-Clause */
/* What AES-SIV and AES-GCM-SIV share: a tag of 16 bytes, the same parameters, and "speed", which lets a
 * benchmark do message after message without an init. */
#ifndef TENROUNDS_PROVIDER_SIV_H
#define TENROUNDS_PROVIDER_SIV_H

#include "cipher.h"

OSSL_FUNC_cipher_gettable_ctx_params_fn trp_siv_gettable_ctx_params;
OSSL_FUNC_cipher_settable_ctx_params_fn trp_siv_settable_ctx_params;

/* Tells the tag, NULL if there is none to tell now, and the lengths of tag and key. */
int trp_siv_get_params(const struct trp_provider *provider, const struct trp_kind *kind,
                       const uint8_t *tag, OSSL_PARAM params[]);

/* Takes "speed", if it is there: 1 and its value in *speed, 0 and an error. */
int trp_siv_get_speed(const struct trp_provider *provider, const OSSL_PARAM params[],
                      unsigned *speed);

#endif
