/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The counters file: shared memory in which provider, engine and PKCS#11 module count their calls.
 * `tenrounds run --count` creates the file, and reads it to learn which code a program's processes
 * ran.
 *
 * The environment variable TENROUNDS_COUNTERS is the path of a memfd (memfd_create(2)), in the form
 * /proc/PID/fd/N. The process that creates the memfd writes TROSSL_COUNTERS_NEW and zeros, 64 KiB
 * in all. Then it seals the memfd against shrinking (F_SEAL_SHRINK). Each process that loads
 * tenrounds maps the memfd and increments the counters atomically. Each host (provider, engine,
 * PKCS#11 module) has its own section, so that readers can tell the hosts' calls apart. All threads
 * and forked children add to the same counts. The counts survive a crash, a SIGKILL and an exec.
 * Counting needs no open descriptor and no system call.
 *
 * A host maps only such a sealed memfd. A file on disk raises SIGBUS on a full disk, or if somebody
 * truncates it. A call of pwrite() needs a descriptor, which a program may close and use for
 * another file. A sandbox may answer that system call with a signal. Counts that a process writes
 * out when it exits are lost on SIGKILL, _exit() and exec.
 *
 * A process cannot open the path without /proc, or in another user or PID namespace. Nor can it if
 * ptrace(2) forbids it to inspect the creator, because of its user or its capabilities. The host
 * then tries descriptor N, which the process may have inherited. Without it, the process is not
 * counted.
 *
 * Numbers are in the processor's byte order, little-endian on x86 and Arm. Readers use the names in
 * the file; they must not assume an order of backends and operations.
 */
#ifndef TENROUNDS_COUNTERS_FILE_H
#define TENROUNDS_COUNTERS_FILE_H

#include "dispatch/counting.h"

/* The first 8 bytes of a section, without a final NUL. The creator writes TROSSL_COUNTERS_NEW into
 * the first section and leaves the other sections zero. A process that has written the names into a
 * section replaces these 8 bytes with TROSSL_COUNTERS_MAGIC. */
#define TROSSL_COUNTERS_NEW     "TRCOUNT0"
#define TROSSL_COUNTERS_MAGIC   "TRCOUNT1"
#define TROSSL_COUNTERS_NAME    16    /* bytes of a name, padded with zeros */
#define TROSSL_COUNTERS_ROOM    65536 /* bytes of the memfd, with spare room */
#define TROSSL_COUNTERS_SECTION 16384 /* bytes of a host's section */

/* The hosts in the order of their sections. */
enum trossl_host { TROSSL_HOST_PROVIDER, TROSSL_HOST_ENGINE, TROSSL_HOST_PKCS11, TROSSL_HOSTS };

/* A section. */
struct trossl_counters_file {
    char magic[8];
    /* TR_MAX_BACKENDS. An unused entry of backend_name is empty. */
    uint32_t backends;
    uint32_t ops; /* TR_OPS */
    /* The number of times that the host was loaded. Each library context that loads the provider
     * counts as one. */
    uint32_t processes;
    uint32_t reserved;
    char backend_name[TR_MAX_BACKENDS][TROSSL_COUNTERS_NAME];
    char op_name[TR_OPS][TROSSL_COUNTERS_NAME];
    struct tr_counters counters;
};

/*
 * Maps the host's section of the memfd at `path` and adds 1 to the section's process count. The
 * memfd must be sealed against shrinking, large enough, and owned by the effective user. It must
 * begin with TROSSL_COUNTERS_NEW or TROSSL_COUNTERS_MAGIC, and the section must be unused or of
 * this layout. If descriptor N or process ID PID has been reused, `path` can lead to the program's
 * own file or memfd. The checks reject those. Returns NULL and leaves the file unchanged if a check
 * or the mapping fails, or if `path` is NULL.
 */
struct trossl_counters_file *trossl_counters_open(const char *path, enum trossl_host host);
void trossl_counters_close(struct trossl_counters_file *file);

#endif
