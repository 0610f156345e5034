/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the symbol table itself instead of calling dlsym(). dlsym() also searches the object's
 * dependencies, one of which may be another libcrypto. Besides, glibc 2.34 gave dlsym() a new
 * version, so a module that is linked there would not load with an older glibc. */
#define _GNU_SOURCE
#include "libcrypto.h"

#include <string.h>

static int libcrypto_contains(const struct dl_phdr_info *info, uintptr_t address)
{
    uintptr_t begin = UINTPTR_MAX, end = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const uintptr_t from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        const uintptr_t to = from + info->dlpi_phdr[i].p_memsz;
        if (info->dlpi_phdr[i].p_type != PT_LOAD)
            continue;
        begin = from < begin ? from : begin;
        end = to > end ? to : end;
    }
    return address >= begin && address < end;
}

/* The address of a table. glibc writes addresses in memory into the dynamic section, and musl
 * leaves those of the file there. */
static const void *libcrypto_table(const struct dl_phdr_info *info, uintptr_t address)
{
    return (const void *)(libcrypto_contains(info, address) ? address : info->dlpi_addr + address);
}

static void libcrypto_read_dynamic(struct trossl_libcrypto *libcrypto,
                                   const struct dl_phdr_info *info, const ElfW(Dyn) * dynamic)
{
    for (; dynamic->d_tag != DT_NULL; dynamic++) {
        const void *const at = libcrypto_table(info, dynamic->d_un.d_ptr);
        switch (dynamic->d_tag) {
        case DT_SYMTAB:
            libcrypto->symbols = at;
            break;
        case DT_STRTAB:
            libcrypto->names = at;
            break;
        case DT_VERSYM:
            libcrypto->versions = at;
            break;
        case DT_GNU_HASH:
            libcrypto->gnu_hash = at;
            break;
        }
    }
}

static int libcrypto_look(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct trossl_libcrypto *libcrypto = arg;
    if (!libcrypto_contains(info, libcrypto->address))
        return 0;
    libcrypto->base = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            libcrypto_read_dynamic(libcrypto, info,
                                   (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr));
    }
    return 1;
}

int trossl_libcrypto_open(struct trossl_libcrypto *libcrypto, const void *address)
{
    *libcrypto = (struct trossl_libcrypto){.address = (uintptr_t)address};
    dl_iterate_phdr(libcrypto_look, libcrypto);
    return libcrypto->gnu_hash != NULL && libcrypto->symbols != NULL && libcrypto->names != NULL;
}

/* Whether symbol i is the default version of a function that the object defines. */
static int libcrypto_is_function(const struct trossl_libcrypto *libcrypto, uint32_t i,
                                 const char *name)
{
    const ElfW(Sym) *const symbol = &libcrypto->symbols[i];
    const int hidden = libcrypto->versions != NULL && (libcrypto->versions[i] & 0x8000) != 0;
    return symbol->st_shndx != SHN_UNDEF && (symbol->st_info & 15) == STT_FUNC && !hidden &&
           strcmp(libcrypto->names + symbol->st_name, name) == 0;
}

/* A table of GNU hashes has four words, a Bloom filter, buckets and chains. A bucket has the index
 * of its first symbol. The chains have a hash per symbol, from `first` on. Its lowest bit marks the
 * bucket's last symbol. */
int trossl_libcrypto_find(const struct trossl_libcrypto *libcrypto, const char *name,
                          void *function)
{
    const uint32_t buckets = libcrypto->gnu_hash[0], first = libcrypto->gnu_hash[1];
    const size_t filter = libcrypto->gnu_hash[2] * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
    const uint32_t *const bucket = libcrypto->gnu_hash + 4 + filter, *const chain =
                                                                         bucket + buckets;
    uint32_t hash = 5381;
    for (const char *p = name; *p != '\0'; p++)
        hash = hash * 33 + (unsigned char)*p;
    uint32_t i = buckets == 0 ? 0 : bucket[hash % buckets];
    if (i < first)
        return 0;
    for (;; i++) {
        const uint32_t at = chain[i - first];
        if ((at | 1) == (hash | 1) && libcrypto_is_function(libcrypto, i, name)) {
            const uintptr_t found = libcrypto->base + libcrypto->symbols[i].st_value;
            memcpy(function, &found, sizeof(found));
            return 1;
        }
        if ((at & 1) != 0)
            return 0;
    }
}
