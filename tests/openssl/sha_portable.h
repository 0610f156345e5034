/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TENROUNDS_TESTS_SHA_PORTABLE_H
#define TENROUNDS_TESTS_SHA_PORTABLE_H

#include "sha.h"

extern const struct trossl_sha_code sha1_portable, sha256_portable;

#endif
