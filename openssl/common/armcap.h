/* SPDX-License-Identifier: BSD-2-Clause */
/* OPENSSL_armcap, the counterpart of OPENSSL_ia32cap on Arm. */
#ifndef TENROUNDS_ARMCAP_H
#define TENROUNDS_ARMCAP_H

#include "tenrounds.h"

/* The features that libcrypto does not see with OPENSSL_armcap set to value; none for NULL. */
tr_features trossl_armcap_masked(const char *value);

#endif
