// SPDX-License-Identifier: BSD-2-Clause
// Makes random calls of one library, and prints what it called: libraries LIBRARY FILE SEED. The
// lines are those of calls.c; "-" is an algorithm that the calls do not show. The prototypes are
// here, so that no headers are needed.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALLS = 600, LONGEST = 20000, CLASSES = 17, ROWS = 64 };

static struct row {
    const char *function, *algorithm;
    unsigned long calls, bytes, in_place, without_output;
    struct {
        unsigned long calls, bytes;
    } sizes[CLASSES];
} rows[ROWS];
static uint64_t state;
static void *library;
static unsigned char a[LONGEST + 64], b[LONGEST + 64];
static const unsigned char key[64] = "a key of no importance, and another one that differs from it";
// Larger than any context, and zeroed for each call.
static _Alignas(64) unsigned char context[1 << 14];
static unsigned char iv[16];

static uint64_t draw(uint64_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state >> 8) % below;
}

static void *find(const char *name)
{
    void *found = dlsym(library, name);
    if (found == NULL) {
        fprintf(stderr, "no %s\n", name);
        exit(4);
    }
    return found;
}

// A function of the library, by a prototype.
#define FUNCTION(result, name, ...)                                                                \
    result (*name)(__VA_ARGS__);                                                                   \
    *(void **)&name = find(#name)

static void good(int is_good, const char *what)
{
    if (!is_good) {
        fprintf(stderr, "%s failed\n", what);
        exit(3);
    }
}

// Notes a call. `out` is NULL, the input, or another place.
static void note(const char *function, const char *algorithm, size_t length, const void *out)
{
    struct row *row = rows;
    while (row->function != NULL &&
           (strcmp(row->function, function) != 0 || strcmp(row->algorithm, algorithm) != 0))
        row++;
    row->function = function, row->algorithm = algorithm;
    row->calls++, row->bytes += length;
    row->in_place += out == a, row->without_output += out == NULL;
    int class = 0;
    for (size_t rest = length; rest > 0; rest >>= 1)
        class ++;
    row->sizes[class].calls++, row->sizes[class].bytes += length;
}

static void gcrypt(int what, size_t length, size_t blocks, unsigned char *out)
{
    FUNCTION(unsigned, gcry_cipher_open, void **, int, int, unsigned);
    FUNCTION(unsigned, gcry_cipher_setkey, void *, const void *, size_t);
    FUNCTION(unsigned, gcry_cipher_setiv, void *, const void *, size_t);
    FUNCTION(unsigned, gcry_cipher_setctr, void *, const void *, size_t);
    FUNCTION(unsigned, gcry_cipher_encrypt, void *, void *, size_t, const void *, size_t);
    FUNCTION(unsigned, gcry_cipher_decrypt, void *, void *, size_t, const void *, size_t);
    FUNCTION(unsigned, gcry_cipher_authenticate, void *, const void *, size_t);
    FUNCTION(void, gcry_cipher_close, void *);
    enum { CBC = 3, CTR = 6, GCM = 9, AES = 7, SECURE = 1 };
    static const char *const names[] = {"aes-128", "aes-192", "aes-256"};
    const int size = (int)draw(3), mode = what < 2 ? CBC : what < 4 ? CTR : GCM;
    void *handle;
    good(!gcry_cipher_open(&handle, AES + size, mode, draw(2) ? SECURE : 0), "open");
    good(!gcry_cipher_setkey(handle, key, 16 + 8 * (size_t)size), "setkey");
    good(!(mode == CTR ? gcry_cipher_setctr : gcry_cipher_setiv)(handle, iv, mode == GCM ? 12 : 16),
         "setiv");
    if (mode == CBC)
        length = blocks;
    if (mode == GCM && draw(2)) {
        good(!gcry_cipher_authenticate(handle, a, length), "authenticate");
        note("gcry_cipher_authenticate", names[size], length, NULL);
    }
    const int encrypt = what % 2;
    unsigned (*const crypt)(void *, void *, size_t, const void *, size_t) =
        encrypt ? gcry_cipher_encrypt : gcry_cipher_decrypt;
    // In place by the same pointer, or by no input.
    if (out == a && draw(2))
        good(!crypt(handle, out, length, NULL, 0), "crypt");
    else
        good(!crypt(handle, out, length, a, length), "crypt");
    note(encrypt ? "gcry_cipher_encrypt" : "gcry_cipher_decrypt", names[size], length, out);
    gcry_cipher_close(handle);
}

struct datum {
    const void *data;
    unsigned size;
};

// The three functions that encrypt, and those that decrypt. The first works in place alone.
static void gnutls_crypt(int what, void *handle, const char *name, size_t length,
                         unsigned char *out)
{
    static const char *const functions[] = {
        "gnutls_cipher_encrypt",  "gnutls_cipher_decrypt",  "gnutls_cipher_encrypt2",
        "gnutls_cipher_decrypt2", "gnutls_cipher_encrypt3", "gnutls_cipher_decrypt3",
    };
    int (*crypt)(void *, void *, size_t);
    int (*crypt2)(void *, const void *, size_t, void *, size_t);
    int (*crypt3)(void *, const void *, size_t, void *, size_t *, unsigned);
    const char *const function = functions[what];
    size_t room = sizeof b;
    if (what < 2) {
        *(void **)&crypt = find(function);
        out = a;
        good(crypt(handle, out, length) == 0, function);
    } else if (what < 4) {
        *(void **)&crypt2 = find(function);
        good(crypt2(handle, a, length, out, sizeof b) == 0, function);
    } else {
        *(void **)&crypt3 = find(function);
        good(crypt3(handle, a, length, out, &room, 0) == 0, function);
    }
    // The third form of decryption calls the second one.
    note(functions[what == 5 ? 3 : what], name, length, out);
}

static void gnutls_stream(int what, int cipher, const char *name, size_t length, unsigned char *out)
{
    FUNCTION(int, gnutls_cipher_init, void **, int, const struct datum *, const struct datum *);
    FUNCTION(int, gnutls_cipher_add_auth, void *, const void *, size_t);
    FUNCTION(void, gnutls_cipher_deinit, void *);
    const int is_gcm = strstr(name, "gcm") != NULL;
    const struct datum k = {key, strstr(name, "256") ? 32 : 16}, i = {iv, is_gcm ? 12 : 16};
    void *handle;
    good(gnutls_cipher_init(&handle, cipher, &k, &i) == 0, "init");
    if (is_gcm) {
        good(gnutls_cipher_add_auth(handle, a, length) == 0, "add_auth");
        note("gnutls_cipher_add_auth", name, length, NULL);
    }
    gnutls_crypt(what, handle, name, length, out);
    gnutls_cipher_deinit(handle);
}

static void gnutls(int what, size_t length, size_t blocks, unsigned char *out)
{
    enum { CBC = 4, CBC256 = 5, GCM = 10, GCM256 = 11, CCM256 = 20, CFB8 = 29 };
    if (what < 6)
        return gnutls_stream(what, CBC, "aes-128-cbc", blocks, out);
    if (what < 8)
        return gnutls_stream(what - 6, CBC256, "aes-256-cbc", blocks, out);
    if (what < 10)
        return gnutls_stream(what - 8 + 2, GCM256, "aes-256-gcm", blocks, out);
    if (what < 12)
        return gnutls_stream(what - 10 + 2, CFB8, "aes-128-cfb8", length, out);
    FUNCTION(int, gnutls_aead_cipher_init, void **, int, const struct datum *);
    FUNCTION(int, gnutls_aead_cipher_encrypt, void *, const void *, size_t, const void *, size_t,
             size_t, const void *, size_t, void *, size_t *);
    FUNCTION(int, gnutls_aead_cipher_decrypt, void *, const void *, size_t, const void *, size_t,
             size_t, const void *, size_t, void *, size_t *);
    FUNCTION(void, gnutls_aead_cipher_deinit, void *);
    const int is_ccm = what % 2;
    const char *const name = is_ccm ? "aes-256-ccm" : "aes-128-gcm";
    const struct datum k = {key, is_ccm ? 32 : 16};
    void *handle;
    good(gnutls_aead_cipher_init(&handle, is_ccm ? CCM256 : GCM, &k) == 0, "aead_init");
    size_t room = sizeof b;
    good(gnutls_aead_cipher_encrypt(handle, iv, 12, key, 5, 16, a, length, out, &room) == 0,
         "aead_encrypt");
    note("gnutls_aead_cipher_encrypt", name, length, out);
    good(room == length + 16, "the length");
    memcpy(a, out, room);
    const size_t sealed = room;
    good(gnutls_aead_cipher_decrypt(handle, iv, 12, key, 5, 16, a, sealed, b, &room) == 0,
         "aead_decrypt");
    note("gnutls_aead_cipher_decrypt", name, sealed, b);
    gnutls_aead_cipher_deinit(handle);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*call)(int, size_t, size_t, unsigned char *);
        unsigned kinds;
    } libraries[] = {
        {"gcrypt", gcrypt, 6},
        {"gnutls", gnutls, 16},
    };
    if (argc != 4)
        return 2;
    library = dlopen(argv[2], RTLD_NOW);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 5;
    }
    state = strtoull(argv[3], NULL, 10) | 1ull << 40;
    for (size_t at = 0; at < sizeof libraries / sizeof *libraries; at++) {
        if (strcmp(argv[1], libraries[at].name) != 0)
            continue;
        for (int i = 0; i < CALLS; i++) {
            // In variables, because C does not say which operand is computed first.
            const size_t most = draw(LONGEST), length = (most >> draw(14)) + 1;
            memset(context, 0, sizeof context);
            const int kind = (int)draw(libraries[at].kinds);
            unsigned char *const to = draw(2) ? a : b;
            libraries[at].call(kind, length, (length + 15) / 16 * 16, to);
        }
    }
    for (const struct row *row = rows; row->function != NULL; row++) {
        printf("sum %s %s %lu %lu %lu %lu\n", row->function, row->algorithm, row->calls, row->bytes,
               row->in_place, row->without_output);
        for (int c = 0; c < CLASSES; c++)
            if (row->sizes[c].calls > 0)
                printf("size %s %s %lu %lu %lu\n", row->function, row->algorithm,
                       c == 0 ? 0 : 1ul << (c - 1), row->sizes[c].calls, row->sizes[c].bytes);
    }
    return 0;
}
