/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether the process has only one thread. glibc has this variable since 2.32
 * (sys/single_threaded.h). */

extern char __libc_single_threaded __attribute__((weak));

extern const char *const shim_single_threaded;
/* NULL with an older glibc or another C library. */
const char *const shim_single_threaded = &__libc_single_threaded;
