/* SPDX-License-Identifier: BSD-2-Clause */
/* OPENSSL_armcap, which on Arm does what OPENSSL_ia32cap does on x86. */
#ifndef TENROUNDS_ARMCAP_H
#define TENROUNDS_ARMCAP_H

#include "tenrounds.h"

/* The features that libcrypto would not see with OPENSSL_armcap set to value; none for NULL. */
tr_features trossl_armcap_masked(const char *value);

#endif
