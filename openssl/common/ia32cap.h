/* SPDX-License-Identifier: BSD-2-Clause */
/* OPENSSL_ia32cap, the variable that hides processor features from libcrypto. */
#ifndef TENROUNDS_IA32CAP_H
#define TENROUNDS_IA32CAP_H

#include "tenrounds.h"

/* Returns the features that this value of OPENSSL_ia32cap hides from libcrypto, or 0 for NULL.
 * Every value is valid, as in libcrypto. */
tr_features trossl_ia32cap_masked(const char *value);

#endif
