/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds functions of the libcrypto that loaded this module. The module is not linked with
 * libcrypto, and the process may contain several copies of libcrypto. The search is therefore
 * limited to the object that called the module. The search also works if that object was loaded
 * with RTLD_LOCAL.
 */
#ifndef TENROUNDS_LIBCRYPTO_H
#define TENROUNDS_LIBCRYPTO_H

#include <stdint.h>

struct trossl_libcrypto {
    void *handle;
    uintptr_t begin, end; /* address range of the object */
};

/* Finds the loaded object that contains the address. Returns 0 if there is no such object. */
int trossl_libcrypto_open(struct trossl_libcrypto *libcrypto, const void *address);

/*
 * Stores the address of the named function in *function, a function pointer, and returns 1. Returns
 * 0 if the object does not export the function, as in a program that contains libcrypto without
 * exporting its functions.
 */
int trossl_libcrypto_find(const struct trossl_libcrypto *libcrypto, const char *name,
                          void *function);

/* Closes the handle. The functions that were found stay valid, because the object that loaded this
 * module stays loaded as long as the module. */
void trossl_libcrypto_close(struct trossl_libcrypto *libcrypto);

#endif
