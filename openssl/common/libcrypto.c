/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "libcrypto.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

/* The loaded object that contains an address. */
struct object {
    uintptr_t address; /* the address to search for */
    uintptr_t begin, end;
    const char *name; /* NULL: not found */
};

static int contains(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct object *object = arg;
    uintptr_t begin = UINTPTR_MAX, end = 0;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const uintptr_t from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        const uintptr_t to = from + info->dlpi_phdr[i].p_memsz;
        if (info->dlpi_phdr[i].p_type != PT_LOAD)
            continue;
        begin = from < begin ? from : begin;
        end = to > end ? to : end;
    }
    if (object->address < begin || object->address >= end)
        return 0;
    object->begin = begin;
    object->end = end;
    object->name = info->dlpi_name;
    return 1;
}

int trossl_libcrypto_open(struct trossl_libcrypto *libcrypto, const void *address)
{
    struct object object = {(uintptr_t)address, 0, 0, NULL};
    dl_iterate_phdr(contains, &object);
    if (object.name == NULL)
        return 0;
    /* Opens the object by its name, because RTLD_DEFAULT does not reach objects loaded with
     * RTLD_LOCAL. dl_iterate_phdr() gives the program itself an empty name, but dlopen() needs NULL
     * for the program. */
    const char *const name = object.name[0] == '\0' ? NULL : object.name;
    libcrypto->handle = dlopen(name, RTLD_LAZY | (name == NULL ? 0 : RTLD_NOLOAD));
    libcrypto->begin = object.begin;
    libcrypto->end = object.end;
    return libcrypto->handle != NULL;
}

/* Accepts only a symbol in the object itself. dlsym() also searches the object's dependencies, one
 * of which may be another libcrypto. */
int trossl_libcrypto_find(const struct trossl_libcrypto *libcrypto, const char *name,
                          void *function)
{
    void *const symbol = dlsym(libcrypto->handle, name);
    if ((uintptr_t)symbol < libcrypto->begin || (uintptr_t)symbol >= libcrypto->end)
        return 0;
    memcpy(function, &symbol, sizeof(symbol));
    return 1;
}

void trossl_libcrypto_close(struct trossl_libcrypto *libcrypto)
{
    dlclose(libcrypto->handle);
}
