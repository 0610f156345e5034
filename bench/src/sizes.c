/* SPDX-License-Identifier: BSD-2-Clause */
/* The sizes of the core's objects, which Rust keeps without looking into them. */
#include "tenrounds.h"

#define SIZE(type)                                                                                 \
    size_t bench_size_##type(void);                                                                \
    size_t bench_size_##type(void)                                                                 \
    {                                                                                              \
        return sizeof(struct tr_##type);                                                           \
    }
SIZE(aes_key)
SIZE(xts)
SIZE(cmac)
SIZE(gcm)
SIZE(ccm)
SIZE(ocb)
SIZE(gcm_siv)
