/* SPDX-License-Identifier: BSD-2-Clause */
/* OPENSSL_ia32cap, the variable by which people hide processor features from libcrypto. */
#ifndef TENROUNDS_IA32CAP_H
#define TENROUNDS_IA32CAP_H

#include "tenrounds.h"

/*
 * The features that libcrypto would not see with OPENSSL_ia32cap set to value; none for NULL. Every
 * value has a meaning, as it has for libcrypto.
 */
tr_features trossl_ia32cap_masked(const char *value);

#endif
