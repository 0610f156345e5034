/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the crate needs beyond tenrounds.h: the core's inline functions as external functions, and
 * a counting table with its counters as one opaque object. The counters are in private memory or in
 * the counters file.
 */
#include "counters_file.h"
#include "dispatch/backend.h"
#include "dispatch/counting.h"
#include "dispatch/tuning.h"
#include "util.h"

#include <stdlib.h>

const struct tr_backend *shim_backend_doing(const struct tr_backend *backend, unsigned op);
struct shim_counted *shim_counted_new(const struct tr_backend *below);
const struct tr_backend *shim_counted_in_file(const struct tr_backend *below, const char *path);
const struct tr_backend *shim_counted_backend(const struct shim_counted *counted);
void shim_counted_read(const struct shim_counted *counted, unsigned backend, unsigned op,
                       uint64_t *calls, uint64_t *bytes);
unsigned shim_ops(void);
int shim_clock_drops(const char *vendor, unsigned family, unsigned model);
int shim_equal(const uint8_t *a, const uint8_t *b, size_t n);

struct shim_counted {
    struct tr_counting counting;
    struct tr_counters counters;
    const struct tr_backend *front;
};

const struct tr_backend *shim_backend_doing(const struct tr_backend *backend, unsigned op)
{
    return op < TR_OPS ? tr_backend_doing(backend, (enum tr_op)op) : NULL;
}

struct shim_counted *shim_counted_new(const struct tr_backend *below)
{
    struct shim_counted *counted = calloc(1, sizeof(*counted));
    if (counted != NULL)
        counted->front = tr_counting_init(&counted->counting, below, &counted->counters);
    return counted;
}

/* Never frees the counting table, because keys may refer to it until the process ends. */
const struct tr_backend *shim_counted_in_file(const struct tr_backend *below, const char *path)
{
    struct trossl_counters_file *file = trossl_counters_open(path, TROSSL_HOST_PKCS11);
    struct tr_counting *counting = file != NULL ? calloc(1, sizeof(*counting)) : NULL;
    if (counting == NULL) {
        trossl_counters_close(file);
        return NULL;
    }
    return tr_counting_init(counting, below, &file->counters);
}

const struct tr_backend *shim_counted_backend(const struct shim_counted *counted)
{
    return counted->front;
}

void shim_counted_read(const struct shim_counted *counted, unsigned backend, unsigned op,
                       uint64_t *calls, uint64_t *bytes)
{
    *calls = *bytes = 0;
    if (backend >= TR_MAX_BACKENDS || op >= TR_OPS)
        return;
    *calls = counted->counters.bulk[backend][op].calls;
    *bytes = counted->counters.bulk[backend][op].bytes;
}

unsigned shim_ops(void)
{
    return TR_OPS;
}

int shim_clock_drops(const char *vendor, unsigned family, unsigned model)
{
    return tr_tuning_of(vendor, family, model)->clock_drops;
}

int shim_equal(const uint8_t *a, const uint8_t *b, size_t n)
{
    return TR_PUBLIC(tr_equal(a, b, n));
}
