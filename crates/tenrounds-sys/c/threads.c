/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether the process has one thread: glibc 2.32 and later tell (sys/single_threaded.h). */

extern char __libc_single_threaded __attribute__((weak));

extern const char *const shim_single_threaded;
/* NULL in another C library. */
const char *const shim_single_threaded = &__libc_single_threaded;
