/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "evp.h"

#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <string.h>

/* A loaded object: from its lowest to its highest address. */
struct object {
    uintptr_t address; /* one within, looked for */
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

/* dlsym() looks at what the library itself needs, too, which may be another libcrypto. */
static int find(void *library, const struct object *object, const char *name, void *function)
{
    void *const symbol = dlsym(library, name);
    if ((uintptr_t)symbol < object->begin || (uintptr_t)symbol >= object->end)
        return 0;
    memcpy(function, &symbol, sizeof(symbol));
    return 1;
}

int trp_evp_find(struct trp_evp *evp, const void *address)
{
    struct object object = {(uintptr_t)address, 0, 0, NULL};
    struct trp_evp found;
    memset(evp, 0, sizeof(*evp));
    dl_iterate_phdr(contains, &object);
    if (object.name == NULL)
        return 0;
    /* Loaded it is, perhaps where RTLD_DEFAULT does not look; the program itself has no name. */
    const char *const name = object.name[0] == '\0' ? NULL : object.name;
    void *library = dlopen(name, RTLD_LAZY | (name == NULL ? 0 : RTLD_NOLOAD));
    if (library == NULL)
        return 0;
    if (find(library, &object, "EVP_MAC_fetch", &found.mac_fetch) &&
        find(library, &object, "EVP_MAC_free", &found.mac_free) &&
        find(library, &object, "EVP_MAC_CTX_new", &found.mac_ctx_new) &&
        find(library, &object, "EVP_MAC_CTX_free", &found.mac_ctx_free) &&
        find(library, &object, "EVP_MAC_CTX_dup", &found.mac_ctx_dup) &&
        find(library, &object, "EVP_MAC_init", &found.mac_init) &&
        find(library, &object, "EVP_MAC_update", &found.mac_update) &&
        find(library, &object, "EVP_MAC_final", &found.mac_final) &&
        find(library, &object, "EVP_MAC_CTX_get_params", &found.mac_ctx_get_params) &&
        find(library, &object, "EVP_MAC_CTX_set_params", &found.mac_ctx_set_params))
        *evp = found;
    dlclose(library); /* it stays: who has loaded us outlives us */
    return evp->mac_fetch != NULL;
}
