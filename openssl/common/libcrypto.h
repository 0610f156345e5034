/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds functions of the libcrypto that loaded this module. The module is not linked with
 * libcrypto, and the process may contain several. The search is therefore limited to the object
 * that called the module, even if that was opened with RTLD_LOCAL.
 */
#ifndef TENROUNDS_LIBCRYPTO_H
#define TENROUNDS_LIBCRYPTO_H

#include <stdint.h>

struct trossl_libcrypto {
    void *handle;
    uintptr_t begin, end; /* address range of the object */
};

/* Finds the loaded object that contains the address. Returns 0 if there is none. */
int trossl_libcrypto_open(struct trossl_libcrypto *libcrypto, const void *address);

/*
 * Stores the function of that name in *function, a pointer to a function, and returns 1. Returns 0
 * if the object does not export it: a program can contain libcrypto without exporting its
 * functions.
 */
int trossl_libcrypto_find(const struct trossl_libcrypto *libcrypto, const char *name,
                          void *function);

/* Closes the handle. The functions that were found stay valid, because the library that loaded this
 * module outlives it. */
void trossl_libcrypto_close(struct trossl_libcrypto *libcrypto);

#endif
