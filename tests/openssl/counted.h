/* SPDX-License-Identifier: BSD-2-Clause */
/* Counters files for tests, made as `tenrounds run --count` makes them. */
#ifndef TENROUNDS_TESTS_COUNTED_H
#define TENROUNDS_TESTS_COUNTED_H

#include "counters_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct counting {
    int fd;
    char path[64]; /* the value of TENROUNDS_COUNTERS */
};

/* Makes a memfd of this size, with these seals, that begins like a new counters file. Exits on
 * failure. */
static inline struct counting counting_with(size_t size, int seals)
{
    struct counting c = {memfd_create("tenrounds-counters", MFD_CLOEXEC | MFD_ALLOW_SEALING), ""};
    if (c.fd < 0 || ftruncate(c.fd, (off_t)size) != 0 ||
        pwrite(c.fd, TROSSL_COUNTERS_NEW, 8, 0) != 8 ||
        (seals != 0 && fcntl(c.fd, F_ADD_SEALS, seals) != 0)) {
        perror("memfd_create");
        exit(2);
    }
    snprintf(c.path, sizeof(c.path), "/proc/%ld/fd/%d", (long)getpid(), c.fd);
    return c;
}

static inline struct counting counting_new(void)
{
    return counting_with(TROSSL_COUNTERS_ROOM, F_SEAL_SHRINK | F_SEAL_GROW);
}

/* Returns the counts since counting_new() or the last counting_clear(). */
static inline struct trossl_counters_file counting_read(const struct counting *c)
{
    struct trossl_counters_file file;
    if (pread(c->fd, &file, sizeof(file), 0) != (ssize_t)sizeof(file)) {
        perror("reading the counters");
        exit(2);
    }
    return file;
}

/* Clears the counts. No process that counts may be alive. */
static inline void counting_clear(const struct counting *c)
{
    struct trossl_counters_file none = {0};
    memcpy(none.magic, TROSSL_COUNTERS_NEW, sizeof(none.magic));
    if (pwrite(c->fd, &none, sizeof(none), 0) != (ssize_t)sizeof(none)) {
        perror("clearing the counters");
        exit(2);
    }
}

#endif
