/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The layouts of the core's structs, which raw.rs repeats: size, alignment, and the offset of each
 * field. A test compares them.
 */
#include "tenrounds.h"

#include <stddef.h>

#define SIZE(type)                                                                                 \
    {#type, "size", sizeof(struct type)},                                                          \
    {                                                                                              \
#        type, "align", _Alignof(struct type)                                                      \
    }
#define FIELD(type, member)                                                                        \
    {                                                                                              \
#        type, #        member, offsetof(struct type, member)                                      \
    }

struct shim_layout {
    const char *type, *what;
    size_t value;
};

const struct shim_layout *shim_layout(size_t *count);

static const struct shim_layout layout[] = {
    SIZE(tr_aes_key),
    SIZE(tr_gcm_key),
    SIZE(tr_ccm_key),
    SIZE(tr_ocb_key),
    SIZE(tr_siv_key),
    SIZE(tr_gcm_siv_key),
    SIZE(tr_xts_key),
    SIZE(tr_cmac_key),
    SIZE(tr_gcm),
    SIZE(tr_cmac),
    SIZE(tr_cipher),
    SIZE(tr_cpu),
    FIELD(tr_cpu, present),
    FIELD(tr_cpu, usable),
    FIELD(tr_cpu, xcr0),
    SIZE(tr_selection),
    FIELD(tr_selection, backend),
    FIELD(tr_selection, cpu),
    FIELD(tr_selection, masked),
    FIELD(tr_selection, avoided),
    FIELD(tr_selection, failed),
    FIELD(tr_selection, bad_mask),
    SIZE(tr_tuning),
    FIELD(tr_tuning, name),
    FIELD(tr_tuning, aes_latency),
    FIELD(tr_tuning, aes512_per_cycle),
    FIELD(tr_tuning, separate_clmul),
    FIELD(tr_tuning, clock_drops),
    SIZE(tr_stream),
    FIELD(tr_stream, key),
    FIELD(tr_stream, iv),
    FIELD(tr_stream, out),
    FIELD(tr_stream, in),
    FIELD(tr_stream, len),
    SIZE(tr_cmac_job),
    FIELD(tr_cmac_job, key),
    FIELD(tr_cmac_job, data),
    FIELD(tr_cmac_job, len),
    FIELD(tr_cmac_job, tag),
    FIELD(tr_cmac_job, working),
    SIZE(tr_ccm_job),
    FIELD(tr_ccm_job, key),
    FIELD(tr_ccm_job, nonce),
    FIELD(tr_ccm_job, nonce_len),
    FIELD(tr_ccm_job, aad),
    FIELD(tr_ccm_job, aad_len),
    FIELD(tr_ccm_job, out),
    FIELD(tr_ccm_job, in),
    FIELD(tr_ccm_job, len),
    FIELD(tr_ccm_job, tag),
    FIELD(tr_ccm_job, tag_len),
    FIELD(tr_ccm_job, status),
    FIELD(tr_ccm_job, working),
};

const struct shim_layout *shim_layout(size_t *count)
{
    *count = sizeof(layout) / sizeof(layout[0]);
    return layout;
}
