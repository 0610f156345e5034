/* SPDX-License-Identifier: BSD-2-Clause */
/* The sizes of the core's objects, which Rust allocates without knowing their layout. */
#include "tenrounds.h"

#define SIZE(type)                                                                                 \
    size_t bench_size_##type(void);                                                                \
    size_t bench_size_##type(void)                                                                 \
    {                                                                                              \
        return sizeof(struct tr_##type);                                                           \
    }
SIZE(aes_key)
SIZE(xts_key)
SIZE(cmac_key)
SIZE(gcm_key)
SIZE(ccm_key)
SIZE(ocb_key)
SIZE(gcm_siv_key)
SIZE(ccm_job)
