/* SPDX-License-Identifier: BSD-2-Clause */
/* OPENSSL_armcap, the variable that hides processor features from libcrypto on Arm. */
#ifndef TENROUNDS_ARMCAP_H
#define TENROUNDS_ARMCAP_H

#include "tenrounds.h"

/* Returns the features that this value of OPENSSL_armcap hides from libcrypto, or 0 for NULL. */
tr_features trossl_armcap_masked(const char *value);

#endif
