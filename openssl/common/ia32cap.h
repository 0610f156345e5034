/* SPDX-License-Identifier: BSD-2-Clause */
/* OPENSSL_ia32cap, the variable that hides processor features from libcrypto. */
#ifndef TENROUNDS_IA32CAP_H
#define TENROUNDS_IA32CAP_H

#include "tenrounds.h"

/* The features that libcrypto does not see with OPENSSL_ia32cap set to value; none for NULL. Every
 * value is valid, as in libcrypto. */
tr_features trossl_ia32cap_masked(const char *value);

#endif
