/* SPDX-License-Identifier: BSD-2-Clause */
/* An environment that restricts the use of vector registers as a kernel does, for world.c. */
#ifndef TR_ENV_KERNEL_H
#define TR_ENV_KERNEL_H

#define TR_ENV_ALL_MODES 1
#define TR_ENV_STACK     65536

static inline tr_features tr_env_unusable(void)
{
    return 0;
}

int world_begin(void);
void world_end(void);
size_t world_most(void);

static inline int tr_env_vector_begin(tr_features features)
{
    return features != 0 && world_begin();
}
static inline void tr_env_vector_end(void)
{
    world_end();
}
static inline size_t tr_env_most_blocks(tr_features features)
{
    (void)features;
    return world_most();
}
static inline const char *tr_env_tuning(void)
{
    return NULL;
}
static inline int tr_env_clock_drops(void)
{
    return 0;
}
unsigned long tr_env_hwcap(void);

/* Replaces the nop of the tracing probe. The test adds up the bytes that a tracer would see. */
void world_probe(unsigned op, const char *backend, size_t bytes);
#define TR_PROBE_BULK(op, backend, bytes) world_probe(op, backend, bytes)

#endif
