/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions of the libcrypto that has loaded us. We are not linked with libcrypto, and another one
 * than ours may be in the process, so they are looked for in the very object that called us, also
 * where that was opened with RTLD_LOCAL.
 */
#ifndef TENROUNDS_LIBCRYPTO_H
#define TENROUNDS_LIBCRYPTO_H

#include <stdint.h>

struct trossl_libcrypto {
    void *handle;
    uintptr_t begin, end; /* its addresses */
};

/* Finds the loaded object that contains the address. Returns 0 if there is none. */
int trossl_libcrypto_open(struct trossl_libcrypto *libcrypto, const void *address);

/*
 * Stores the function of that name in *function, a pointer to a function, and returns 1; or 0 if
 * the object does not export it: a program may contain libcrypto without exporting its functions.
 */
int trossl_libcrypto_find(const struct trossl_libcrypto *libcrypto, const char *name,
                          void *function);

/* What was found may still be called: who has loaded us outlives us. */
void trossl_libcrypto_close(struct trossl_libcrypto *libcrypto);

#endif
