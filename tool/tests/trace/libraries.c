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
    note(function, name, length, out);
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

// On x86 the outer function is counted, elsewhere the one that it calls or jumps to.
#ifdef __x86_64__
#    define OUTER(outer, inner) outer
#else
#    define OUTER(outer, inner) inner
#endif

typedef void cipher(const void *, size_t, unsigned char *, const unsigned char *);

static void nettle(int what, size_t length, size_t blocks, unsigned char *out)
{
    FUNCTION(void, nettle_aes128_set_encrypt_key, void *, const void *);
    FUNCTION(void, nettle_aes192_set_encrypt_key, void *, const void *);
    FUNCTION(void, nettle_aes256_set_encrypt_key, void *, const void *);
    FUNCTION(void, nettle_aes256_set_decrypt_key, void *, const void *);
    FUNCTION(void, nettle_camellia128_set_encrypt_key, void *, const void *);
    cipher *const aes128 = (cipher *)find("nettle_aes128_encrypt");
    cipher *const aes192 = (cipher *)find("nettle_aes192_encrypt");
    cipher *const aes256 = (cipher *)find("nettle_aes256_encrypt");
    cipher *const backwards = (cipher *)find("nettle_aes256_decrypt");
    cipher *const camellia = (cipher *)find("nettle_camellia128_crypt");
    void (*mode)(const void *, cipher *, size_t, void *, size_t, void *, const void *);
    switch (what) {
    case 0:
        nettle_aes128_set_encrypt_key(context, key);
        aes128(context, blocks, out, a);
        return; // Not counted: the library calls it for each block of CBC.
    case 1:
        nettle_aes256_set_decrypt_key(context, key);
        backwards(context, blocks, out, a);
        return;
    case 2: {
        FUNCTION(void, nettle_gcm_aes128_set_key, void *, const void *);
        FUNCTION(void, nettle_gcm_aes128_set_iv, void *, size_t, const void *);
        FUNCTION(void, nettle_gcm_aes128_update, void *, size_t, const void *);
        FUNCTION(void, nettle_gcm_aes128_encrypt, void *, size_t, void *, const void *);
        FUNCTION(void, nettle_gcm_aes128_decrypt, void *, size_t, void *, const void *);
        FUNCTION(void, nettle_gcm_aes128_digest, void *, size_t, void *);
        nettle_gcm_aes128_set_key(context, key);
        nettle_gcm_aes128_set_iv(context, 12, iv);
        nettle_gcm_aes128_update(context, blocks, a);
        note("nettle_gcm_update", "gcm", blocks, NULL);
        const int encrypt = (int)draw(2);
        (encrypt ? nettle_gcm_aes128_encrypt : nettle_gcm_aes128_decrypt)(context, length, out, a);
        note(encrypt ? OUTER("nettle_gcm_aes128_encrypt", "nettle_gcm_encrypt")
                     : OUTER("nettle_gcm_aes128_decrypt", "nettle_gcm_decrypt"),
             "aes-128-gcm", length, out);
        return nettle_gcm_aes128_digest(context, 16, iv);
    }
    case 3: {
        FUNCTION(void, nettle_gcm_aes256_set_key, void *, const void *);
        FUNCTION(void, nettle_gcm_aes256_set_iv, void *, size_t, const void *);
        FUNCTION(void, nettle_gcm_aes256_encrypt, void *, size_t, void *, const void *);
        nettle_gcm_aes256_set_key(context, key);
        nettle_gcm_aes256_set_iv(context, 12, iv);
        nettle_gcm_aes256_encrypt(context, length, out, a);
        return note(OUTER("nettle_gcm_aes256_encrypt", "nettle_gcm_encrypt"), "aes-256-gcm", length,
                    out);
    }
    case 4:
        *(void **)&mode = find("nettle_cbc_encrypt");
        nettle_aes192_set_encrypt_key(context, key);
        mode(context, aes192, 16, iv, blocks, out, a);
        return note("nettle_cbc_encrypt", "aes-192-cbc", blocks, out);
    case 5:
        *(void **)&mode = find("nettle_cbc_decrypt");
        nettle_aes256_set_decrypt_key(context, key);
        mode(context, backwards, 16, iv, blocks, out, a);
        return note("nettle_cbc_decrypt", "aes-256-cbc", blocks, out);
    case 6: {
        FUNCTION(void, nettle_cbc_aes128_encrypt, const void *, void *, size_t, void *,
                 const void *);
        nettle_aes128_set_encrypt_key(context, key);
        nettle_cbc_aes128_encrypt(context, iv, blocks, out, a);
        return note(OUTER("nettle_cbc_aes128_encrypt", "nettle_cbc_encrypt"), "aes-128-cbc", blocks,
                    out);
    }
    case 7:
        *(void **)&mode = find("nettle_ctr_crypt");
        nettle_aes256_set_encrypt_key(context, key);
        mode(context, aes256, 16, iv, length, out, a);
        return note("nettle_ctr_crypt", "aes-256-ctr", length, out);
    case 8:
        *(void **)&mode = find("nettle_ctr_crypt");
        nettle_camellia128_set_encrypt_key(context, key);
        mode(context, camellia, 16, iv, length, out, a);
        return note("nettle_ctr_crypt", "ctr", length, out);
    case 9:
        *(void **)&mode = find("nettle_cfb_encrypt");
        nettle_aes128_set_encrypt_key(context, key);
        mode(context, aes128, 16, iv, length, out, a);
        return note("nettle_cfb_encrypt", "aes-128-cfb", length, out);
    case 10: {
        FUNCTION(void, nettle_xts_aes128_set_encrypt_key, void *, const void *);
        FUNCTION(void, nettle_xts_aes128_encrypt_message, void *, const void *, size_t, void *,
                 const void *);
        nettle_xts_aes128_set_encrypt_key(context, key);
        nettle_xts_aes128_encrypt_message(context, iv, length + 16, out, a);
        return note(OUTER("nettle_xts_aes128_encrypt_message", "nettle_xts_encrypt_message"),
                    "aes-128-xts", length + 16, out);
    }
    case 11: {
        FUNCTION(void, nettle_gcm_set_key, void *, const void *, cipher *);
        FUNCTION(void, nettle_gcm_set_iv, void *, const void *, size_t, const void *);
        FUNCTION(void, nettle_gcm_decrypt, void *, const void *, const void *, cipher *, size_t,
                 void *, const void *);
        unsigned char *const tables = context + 4096, *const aes = context + 12288;
        nettle_aes192_set_encrypt_key(aes, key);
        nettle_gcm_set_key(tables, aes, aes192);
        nettle_gcm_set_iv(context, tables, 12, iv);
        nettle_gcm_decrypt(context, tables, aes, aes192, length, out, a);
        return note("nettle_gcm_decrypt", "aes-192-gcm", length, out);
    }
    default: {
#ifdef __x86_64__
        FUNCTION(void, nettle_ccm_aes128_set_key, void *, const void *);
        FUNCTION(void, nettle_ccm_aes128_set_nonce, void *, size_t, const void *, size_t, size_t,
                 size_t);
        FUNCTION(void, nettle_ccm_aes128_decrypt, void *, size_t, void *, const void *);
        FUNCTION(void, nettle_ccm_aes128_encrypt_message, void *, size_t, const void *, size_t,
                 const void *, size_t, size_t, void *, const void *);
        FUNCTION(void, nettle_ccm_aes128_digest, void *, size_t, void *);
        nettle_ccm_aes128_set_key(context, key);
        if (draw(2)) {
            nettle_ccm_aes128_encrypt_message(context, 12, iv, 7, key, 16, length + 16, out, a);
            return note("nettle_ccm_encrypt_message", "aes-128-ccm", length, out);
        }
        nettle_ccm_aes128_set_nonce(context, 12, iv, 0, length, 16);
        nettle_ccm_aes128_decrypt(context, length, out, a);
        note("nettle_ccm_decrypt", "aes-128-ccm", length, out);
        nettle_ccm_aes128_digest(context, 16, iv);
#endif
    }
    }
}

static void mbedtls(int what, size_t length, size_t blocks, unsigned char *out)
{
    FUNCTION(void, mbedtls_aes_init, void *);
    FUNCTION(int, mbedtls_aes_setkey_enc, void *, const void *, unsigned);
    enum { ENCRYPT = 1, AES = 2, AES_128_CTR = 11, AES_256_GCM = 16 };
    unsigned char tag[16], block[16] = {0};
    size_t at = 0, written = 0;
    if (what < 7) {
        mbedtls_aes_init(context);
        good(!mbedtls_aes_setkey_enc(context, key, what % 2 ? 192 : 256), "setkey");
    }
    switch (what) {
    case 0: {
        FUNCTION(int, mbedtls_aes_crypt_ecb, void *, int, const void *, void *);
        good(!mbedtls_aes_crypt_ecb(context, ENCRYPT, a, out), "ecb");
        return; // Not counted: the library calls it for each block.
    }
    case 1: {
        FUNCTION(int, mbedtls_aes_crypt_cbc, void *, int, size_t, void *, const void *, void *);
        good(!mbedtls_aes_crypt_cbc(context, ENCRYPT, blocks, iv, a, out), "cbc");
        return note("mbedtls_aes_crypt_cbc", "aes-192-cbc", blocks, out);
    }
    case 2: {
        FUNCTION(int, mbedtls_aes_crypt_ctr, void *, size_t, size_t *, void *, void *, const void *,
                 void *);
        good(!mbedtls_aes_crypt_ctr(context, length, &at, iv, block, a, out), "ctr");
        return note("mbedtls_aes_crypt_ctr", "aes-256-ctr", length, out);
    }
    case 3: {
        FUNCTION(int, mbedtls_aes_crypt_cfb128, void *, int, size_t, size_t *, void *, const void *,
                 void *);
        good(!mbedtls_aes_crypt_cfb128(context, ENCRYPT, length, &at, iv, a, out), "cfb128");
        return note("mbedtls_aes_crypt_cfb128", "aes-192-cfb", length, out);
    }
    case 4: {
        FUNCTION(int, mbedtls_aes_crypt_cfb8, void *, int, size_t, void *, const void *, void *);
        good(!mbedtls_aes_crypt_cfb8(context, ENCRYPT, length, iv, a, out), "cfb8");
        return note("mbedtls_aes_crypt_cfb8", "aes-256-cfb8", length, out);
    }
    case 5: {
        FUNCTION(int, mbedtls_aes_crypt_ofb, void *, size_t, size_t *, void *, const void *,
                 void *);
        good(!mbedtls_aes_crypt_ofb(context, length, &at, iv, a, out), "ofb");
        return note("mbedtls_aes_crypt_ofb", "aes-192-ofb", length, out);
    }
    case 6: {
        FUNCTION(int, mbedtls_aes_xts_setkey_enc, void *, const void *, unsigned);
        FUNCTION(int, mbedtls_aes_crypt_xts, void *, int, size_t, const void *, const void *,
                 void *);
        memset(context, 0, sizeof context);
        good(!mbedtls_aes_xts_setkey_enc(context, key, 512), "xts_setkey");
        good(!mbedtls_aes_crypt_xts(context, ENCRYPT, blocks, iv, a, out), "xts");
        return note("mbedtls_aes_crypt_xts", "aes-256-xts", blocks, out);
    }
    case 7: {
        FUNCTION(void, mbedtls_gcm_init, void *);
        FUNCTION(int, mbedtls_gcm_setkey, void *, int, const void *, unsigned);
        FUNCTION(int, mbedtls_gcm_crypt_and_tag, void *, int, size_t, const void *, size_t,
                 const void *, size_t, const void *, void *, size_t, void *);
        FUNCTION(void, mbedtls_gcm_free, void *);
        mbedtls_gcm_init(context);
        good(!mbedtls_gcm_setkey(context, AES, key, 128), "gcm_setkey");
        good(!mbedtls_gcm_crypt_and_tag(context, ENCRYPT, length, iv, 12, key, 9, a, out, 16, tag),
             "gcm");
        mbedtls_gcm_free(context);
        return note("mbedtls_gcm_update", "aes-128-gcm", length, out);
    }
    case 8: {
        FUNCTION(void, mbedtls_ccm_init, void *);
        FUNCTION(int, mbedtls_ccm_setkey, void *, int, const void *, unsigned);
        FUNCTION(int, mbedtls_ccm_encrypt_and_tag, void *, size_t, const void *, size_t,
                 const void *, size_t, const void *, void *, void *, size_t);
        FUNCTION(void, mbedtls_ccm_free, void *);
        mbedtls_ccm_init(context);
        good(!mbedtls_ccm_setkey(context, AES, key, 192), "ccm_setkey");
        good(!mbedtls_ccm_encrypt_and_tag(context, length, iv, 12, key, 9, a, out, tag, 16), "ccm");
        mbedtls_ccm_free(context);
        const int is_new = dlsym(library, "mbedtls_ccm_update") != NULL;
        return note(is_new ? "mbedtls_ccm_update" : "mbedtls_ccm_star_encrypt_and_tag",
                    "aes-192-ccm", length, out);
    }
    default: {
        FUNCTION(const void *, mbedtls_cipher_info_from_type, int);
        FUNCTION(void, mbedtls_cipher_init, void *);
        FUNCTION(int, mbedtls_cipher_setup, void *, const void *);
        FUNCTION(int, mbedtls_cipher_setkey, void *, const void *, int, int);
        FUNCTION(int, mbedtls_cipher_set_iv, void *, const void *, size_t);
        FUNCTION(int, mbedtls_cipher_reset, void *);
        FUNCTION(int, mbedtls_cipher_update, void *, const void *, size_t, void *, size_t *);
        FUNCTION(void, mbedtls_cipher_free, void *);
        const int is_gcm = what % 2;
        mbedtls_cipher_init(context);
        const void *const info = mbedtls_cipher_info_from_type(is_gcm ? AES_256_GCM : AES_128_CTR);
        good(!mbedtls_cipher_setup(context, info), "setup");
        good(!mbedtls_cipher_setkey(context, key, is_gcm ? 256 : 128, ENCRYPT), "cipher_setkey");
        good(!mbedtls_cipher_set_iv(context, iv, is_gcm ? 12 : 16), "cipher_set_iv");
        good(!mbedtls_cipher_reset(context), "cipher_reset");
        // It has no additional data, which it needs before the message.
        FUNCTION(int, mbedtls_cipher_update_ad, void *, const void *, size_t);
        good(!is_gcm || !mbedtls_cipher_update_ad(context, key, 0), "update_ad");
        // In place, it takes whole blocks alone.
        good(!mbedtls_cipher_update(context, a, blocks, out, &written), "update");
        mbedtls_cipher_free(context);
        return is_gcm ? note("mbedtls_gcm_update", "aes-256-gcm", blocks, out)
                      : note("mbedtls_aes_crypt_ctr", "aes-128-ctr", blocks, out);
    }
    }
}

// AES-GCM of NSS by PK11_AEADOp(), which calls PK11_AEADRawOp(), or by the latter. Both call
// PK11_Encrypt() or PK11_Decrypt() where the token has no functions for messages; the library can
// pretend that.
static void nss_gcm(void *handle, size_t length, unsigned char *out)
{
    // CK_GCM_MESSAGE_PARAMS (pkcs11t.h)
    struct message {
        void *iv;
        unsigned long iv_length, fixed, generator;
        void *tag;
        unsigned long tag_bits;
    };
    enum { GCM = 0x1087 };
    static const unsigned long operations[] = {
        0x82000104, 0x82000105}; // CKA_ENCRYPT and CKA_DECRYPT with CKA_NSS_MESSAGE
    FUNCTION(void *, PK11_CreateContextBySymKey, unsigned long, unsigned long, void *,
             const void *);
    FUNCTION(int, _PK11_ContextSetAEADSimulation, void *);
    FUNCTION(int, PK11_AEADOp, void *, unsigned long, int, void *, int, const void *, int, void *,
             int *, int, void *, int, const void *, int);
    FUNCTION(int, PK11_AEADRawOp, void *, void *, int, const void *, int, void *, int *, int,
             const void *, int);
    FUNCTION(void, PK11_DestroyContext, void *, int);
    static const struct {
        int kind;
        const void *data;
        unsigned length;
    } none;
    unsigned char nonce[12] = {1}, tag[16];
    const struct message message = {nonce, sizeof nonce, 0, 0, tag, 128};
    // Encrypts, and decrypts in place.
    for (int i = 0; i < 2; i++) {
        const void *const in = i == 0 ? a : out;
        const int room = sizeof b, size = (int)length;
        struct message copy = message;
        int written;
        void *const ctx = PK11_CreateContextBySymKey(GCM, operations[i], handle, &none);
        good(ctx != NULL, "message context");
        if (draw(2))
            good(!_PK11_ContextSetAEADSimulation(ctx), "simulation");
        if (draw(2)) {
            good(!PK11_AEADOp(ctx, 0, 0, nonce, sizeof nonce, key, 9, out, &written, room, tag,
                              sizeof tag, in, size),
                 "AEADOp");
            note("PK11_AEADOp", "-", length, i == 0 ? out : a);
        } else {
            good(!PK11_AEADRawOp(ctx, &copy, sizeof copy, key, 9, out, &written, room, in, size),
                 "AEADRawOp");
            note("PK11_AEADRawOp", "-", length, i == 0 ? out : a);
        }
        PK11_DestroyContext(ctx, 1);
    }
}

static void nss(int what, size_t length, size_t blocks, unsigned char *out)
{
    struct item {
        int kind;
        const void *data;
        unsigned length;
    };
    enum { CBC = 0x1082, UNWRAP = 4, ENCRYPT = 0x104, DECRYPT = 0x105 };
    FUNCTION(int, NSS_NoDB_Init, const char *);
    FUNCTION(void *, PK11_GetInternalSlot, void);
    FUNCTION(void *, PK11_ImportSymKey, void *, unsigned long, int, unsigned long, struct item *,
             void *);
    FUNCTION(void *, PK11_CreateContextBySymKey, unsigned long, unsigned long, void *,
             struct item *);
    FUNCTION(int, PK11_CipherOp, void *, void *, int *, int, const void *, int);
    FUNCTION(int, PK11_Encrypt, void *, unsigned long, struct item *, void *, unsigned *, unsigned,
             const void *, unsigned);
    FUNCTION(int, PK11_Decrypt, void *, unsigned long, struct item *, void *, unsigned *, unsigned,
             const void *, unsigned);
    FUNCTION(void, PK11_DestroyContext, void *, int);
    FUNCTION(void, PK11_FreeSymKey, void *);
    static void *slot;
    if (slot == NULL) {
        good(NSS_NoDB_Init(NULL) == 0, "init");
        slot = PK11_GetInternalSlot();
    }
    struct item k = {0, key, 16}, i = {0, iv, 16};
    const unsigned long operation = what == 2 ? DECRYPT : ENCRYPT;
    void *const handle = PK11_ImportSymKey(slot, CBC, UNWRAP, operation, &k, NULL);
    good(slot != NULL && handle != NULL, "import");
    int written;
    unsigned size;
    if (what > 2) {
        nss_gcm(handle, length, out);
    } else if (what == 0) {
        void *const ctx = PK11_CreateContextBySymKey(CBC, ENCRYPT, handle, &i);
        good(ctx != NULL, "context");
        good(!PK11_CipherOp(ctx, out, &written, sizeof b, a, (int)blocks), "CipherOp");
        note("PK11_CipherOp", "-", blocks, out);
        PK11_DestroyContext(ctx, 1);
    } else {
        const int encrypt = what == 1;
        good(!(encrypt ? PK11_Encrypt : PK11_Decrypt)(handle, CBC, &i, out, &size, sizeof b, a,
                                                      (unsigned)blocks),
             "crypt");
        note(encrypt ? "PK11_Encrypt" : "PK11_Decrypt", "aes-cbc", blocks, out);
    }
    PK11_FreeSymKey(handle);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*call)(int, size_t, size_t, unsigned char *);
        unsigned kinds;
    } libraries[] = {
        {"gcrypt", gcrypt, 6},    {"gnutls", gnutls, 16}, {"nettle", nettle, 14},
        {"mbedtls", mbedtls, 11}, {"nss", nss, 5},
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
