/* SPDX-License-Identifier: BSD-2-Clause */
/* The variables that hide processor features from libcrypto: OPENSSL_ia32cap, on Arm
 * OPENSSL_armcap. Each function returns the features that a value hides, or 0 for NULL. Every value
 * is valid, as in libcrypto. */
#ifndef TENROUNDS_FEATURE_VARIABLES_H
#define TENROUNDS_FEATURE_VARIABLES_H

#include "tenrounds.h"

tr_features trossl_ia32cap_masked(const char *value);
tr_features trossl_armcap_masked(const char *value);

#endif
