/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds functions of the libcrypto that loaded this module. The module is not linked with
 * libcrypto, and the process may contain several copies of libcrypto. The search is therefore
 * limited to the object that called the module. The search also works if that object was loaded
 * with RTLD_LOCAL. */
#ifndef TENROUNDS_LIBCRYPTO_H
#define TENROUNDS_LIBCRYPTO_H

#include <link.h>
#include <stdint.h>

/* The dynamic symbol table of an object in memory (ELF gABI, "Dynamic Section"). */
struct trossl_libcrypto {
    uintptr_t address; /* the address to search for */
    uintptr_t base;    /* the difference between addresses in memory and in the file */
    const ElfW(Sym) * symbols;
    const char *names;
    const ElfW(Half) * versions; /* of the symbols, or NULL */
    const uint32_t *gnu_hash;    /* NULL: not found */
};

/* Finds the loaded object that contains the address, and its symbol table. Returns 0 if there is no
 * such object, or if it has no table of GNU hashes, as in a static program. */
int trossl_libcrypto_open(struct trossl_libcrypto *libcrypto, const void *address);

/* Stores the address of the named function in *function, a function pointer, and returns 1. Returns
 * 0 if the object does not export the function, as in a program that contains libcrypto without
 * exporting its functions. */
int trossl_libcrypto_find(const struct trossl_libcrypto *libcrypto, const char *name,
                          void *function);

#endif
