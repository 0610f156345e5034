/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compares the functions that trossl_libcrypto_find() finds with those of dlsym(), in libcrypto and
 * in the C library, which has several versions of some functions.
 */
#define _GNU_SOURCE
#include "libcrypto.h"
#include "tap.h"

#include <dlfcn.h>
#include <openssl/evp.h>

static const struct {
    const char *name;
    bool is_there;
} in_libcrypto[] = {
    {"EVP_MAC_fetch", true},
    {"EVP_MAC_CTX_get_params", true},
    {"RAND_bytes_ex", true},
    {"ASN1_ANY_it", true},
    {"EVP_MAC_fetc", false},
    {"EVP_MAC_fetch_", false},
    {"malloc", false}, /* used by libcrypto, and in the C library */
    {"", false},
};
#define NAMES (sizeof(in_libcrypto) / sizeof(in_libcrypto[0]))

/* Whether both find the same function, or both none. */
static bool same(const struct trossl_libcrypto *object, void *handle, const char *name, bool there)
{
    void (*function)(void) = NULL;
    void *const expected = there ? dlsym(handle, name) : NULL;
    const bool found = trossl_libcrypto_find(object, name, &function) != 0;
    return found == there && (expected != NULL) == there &&
           memcmp(&function, &expected, sizeof(expected)) == 0;
}

int main(void)
{
    struct trossl_libcrypto object;
    void *const handle = dlopen(NULL, RTLD_LAZY);
    tap_plan(NAMES + 3);
    EVP_CIPHER_free(NULL); /* the linker would drop a libcrypto that is not used */
    const bool opened = trossl_libcrypto_open(&object, dlsym(handle, "EVP_CIPHER_fetch")) != 0;
    for (unsigned i = 0; i < NAMES; i++)
        tap_ok(opened && same(&object, handle, in_libcrypto[i].name, in_libcrypto[i].is_there),
               "libcrypto: \"%s\" is %s", in_libcrypto[i].name,
               in_libcrypto[i].is_there ? "found" : "not found");
    void *const libc = dlopen("libc.so.6", RTLD_LAZY);
    const bool in_libc = libc != NULL && trossl_libcrypto_open(&object, dlsym(libc, "qsort")) != 0;
    tap_ok(in_libc && same(&object, libc, "realpath", true),
           "the C library: the default one of two versions");
    tap_ok(in_libc && same(&object, libc, "EVP_MAC_fetch", false),
           "the C library: a function of libcrypto is not found");
    tap_ok(!trossl_libcrypto_open(&object, &object), "an address in no object");
    return tap_done();
}
