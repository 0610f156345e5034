/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks the provider's functions update, cipher (one-shot) and final: none writes beyond the
 * output size that its caller passes, except in padded key wrap (see beyond()). Also checks that a
 * caller can repeat an update that was refused because its output was too small or overlapped the
 * input. EVP functions choose the output size themselves, so the test calls the provider's
 * functions directly. To get these functions, the test registers the module as a built-in provider.
 */
#include "sides.h"

#include <dlfcn.h>
#include <openssl/core_dispatch.h>

#define MAX_LEN   80
#define ROOM      (MAX_LEN + 48)
#define CANARY    0xa5
#define SEMIBLOCK 8u

/* ---- The provider's functions ---------------------------------------------------------------- */

static OSSL_provider_init_fn *real_init;
static const OSSL_DISPATCH *provider_functions;
static void *provider_context;

static int keep(const OSSL_CORE_HANDLE *handle, const OSSL_DISPATCH *in, const OSSL_DISPATCH **out,
                void **provctx)
{
    const int good = real_init(handle, in, out, provctx);
    provider_functions = *out;
    provider_context = *provctx;
    return good;
}

static void (*function_of(const OSSL_DISPATCH *table, int id))(void)
{
    while (table->function_id != 0 && table->function_id != id)
        table++;
    return table->function;
}

struct functions {
    OSSL_FUNC_cipher_newctx_fn *newctx;
    OSSL_FUNC_cipher_freectx_fn *freectx;
    OSSL_FUNC_cipher_encrypt_init_fn *init[2]; /* index 0: decrypt, 1: encrypt */
    OSSL_FUNC_cipher_update_fn *update, *cipher;
    OSSL_FUNC_cipher_final_fn *final;
    OSSL_FUNC_cipher_get_params_fn *get_params;
};

static struct functions functions_of(const OSSL_DISPATCH *table)
{
    return (struct functions){
        (OSSL_FUNC_cipher_newctx_fn *)function_of(table, OSSL_FUNC_CIPHER_NEWCTX),
        (OSSL_FUNC_cipher_freectx_fn *)function_of(table, OSSL_FUNC_CIPHER_FREECTX),
        {(OSSL_FUNC_cipher_encrypt_init_fn *)function_of(table, OSSL_FUNC_CIPHER_DECRYPT_INIT),
         (OSSL_FUNC_cipher_encrypt_init_fn *)function_of(table, OSSL_FUNC_CIPHER_ENCRYPT_INIT)},
        (OSSL_FUNC_cipher_update_fn *)function_of(table, OSSL_FUNC_CIPHER_UPDATE),
        (OSSL_FUNC_cipher_update_fn *)function_of(table, OSSL_FUNC_CIPHER_CIPHER),
        (OSSL_FUNC_cipher_final_fn *)function_of(table, OSSL_FUNC_CIPHER_FINAL),
        (OSSL_FUNC_cipher_get_params_fn *)function_of(table, OSSL_FUNC_CIPHER_GET_PARAMS)};
}

static size_t number(const struct functions *f, const char *key)
{
    size_t value = 0;
    OSSL_PARAM params[] = {OSSL_PARAM_construct_size_t(key, &value), OSSL_PARAM_END};
    return f->get_params(params) ? value : 0;
}

/* ---- Canaries -------------------------------------------------------------------------------- */

static bool untouched(const char *name, const char *what, const uint8_t *out, size_t size,
                      size_t allowed)
{
    for (size_t i = allowed; i < ROOM; i++) {
        if (out[i] != CANARY) {
            tap_diag("%s, %s: byte %zu was written, output size %zu", name, what, i, size);
            return false;
        }
    }
    return true;
}

/* Returns how many bytes a call may write beyond the output size: 0, or up to 7 in a padded key
 * wrap. A padded key wrap rounds its input up to a multiple of 8 bytes and adds 8 bytes.
 * EVP_CipherUpdate() passes only the input length plus 8 as the output size, so the provider must
 * be allowed to write up to 7 bytes more. */
static size_t beyond(const char *name, int encrypt, size_t size, size_t len)
{
    const bool padded = strstr(name, "WRAP-PAD") != NULL;
    return padded && encrypt && size >= len + SEMIBLOCK && len % SEMIBLOCK != 0
               ? SEMIBLOCK - len % SEMIBLOCK
               : 0;
}

/* Makes an update of `first` bytes, an update or cipher call of `len` bytes, and a final call.
 * Checks the last two calls, which get the output size `size`. */
static bool one(const char *name, const struct functions *f, OSSL_FUNC_cipher_update_fn *update,
                int encrypt, size_t first, size_t len, size_t size)
{
    static const uint8_t key[64] = {1, 2, 3}, iv[16] = {4, 5, 6}, in[MAX_LEN] = {7, 8, 9};
    uint8_t out[ROOM], before[ROOM];
    size_t n = 0;
    void *ctx = f->newctx(provider_context);
    bool good = ctx != NULL;
    const size_t key_len = number(f, OSSL_CIPHER_PARAM_KEYLEN);
    uint8_t halves[64];
    memcpy(halves, key, sizeof(halves));
    halves[key_len / 2] = 99; /* XTS refuses equal halves */
    /* A new CCM context expects an IV of 7 bytes, although the cipher reports 12. */
    const size_t iv_len = strstr(name, "CCM") != NULL ? 7 : number(f, OSSL_CIPHER_PARAM_IVLEN);
    if (!f->init[encrypt](ctx, halves, key_len, iv_len != 0 ? iv : NULL, iv_len, NULL))
        good = false;
    if (first != 0) /* leaves a partial block in the context */
        (void)f->update(ctx, before, &n, ROOM, in, first);
    memset(out, CANARY, sizeof(out));
    n = 0;
    if (update(ctx, out, &n, size, in, len) && n > size + beyond(name, encrypt, size, len)) {
        tap_diag("%s: %zu bytes of output for an output size of %zu bytes", name, n, size);
        good = false;
    }
    good = good && untouched(name, "data", out, size, size + beyond(name, encrypt, size, len));
    memset(out, CANARY, sizeof(out));
    n = 0;
    (void)f->final(ctx, out, &n, size);
    good = good && untouched(name, "final", out, size, size);
    f->freectx(ctx);
    ERR_clear_error();
    return good;
}

static bool bounded(const char *name, const struct functions *f)
{
    static const size_t lens[] = {0, 1, 8, 15, 16, 17, 24, 31, 32, 33, 40, 64, 79, 80};
    bool good = true;
    for (int encrypt = 0; encrypt < 2; encrypt++) {
        for (size_t first = 0; first < 2; first++) {
            for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
                for (size_t size = 0; size <= lens[i] + 24; size++) {
                    good &= one(name, f, f->update, encrypt, 5 * first, lens[i], size);
                    if (f->cipher != NULL)
                        good &= one(name, f, f->cipher, encrypt, 0, lens[i], size);
                }
            }
        }
    }
    return good;
}

/* ---- Refused updates ------------------------------------------------------------------------- */

static void *begun(const char *name, const struct functions *f, int encrypt)
{
    static const uint8_t iv[16] = {4, 5, 6};
    uint8_t key[64] = {1, 2, 3};
    const size_t key_len = number(f, OSSL_CIPHER_PARAM_KEYLEN);
    const size_t iv_len = strstr(name, "CCM") != NULL ? 7 : number(f, OSSL_CIPHER_PARAM_IVLEN);
    void *ctx = f->newctx(provider_context);
    key[key_len / 2] = 99; /* XTS refuses equal halves */
    if (ctx == NULL || !f->init[encrypt](ctx, key, key_len, iv_len != 0 ? iv : NULL, iv_len, NULL))
        exit(2);
    return ctx;
}

/* The return values, lengths and outputs of two updates and a final call. */
struct result {
    int good[3];
    size_t n[3];
    uint8_t out[3][ROOM];
};

/* Makes an update of `first` bytes, one of `len` bytes, and a final call. Before the second update,
 * makes the same update in ways that the provider may refuse: if size < ROOM, with this output
 * size; if shift is not 0, with an output that begins `shift` bytes after the input. Returns
 * whether the provider refused these calls. */
static bool refused(const char *name, const struct functions *f, int encrypt, size_t first,
                    size_t len, size_t size, size_t shift, struct result *r)
{
    uint8_t in[2 * ROOM] = {7, 8, 9}, text[MAX_LEN] = {7, 8, 9};
    size_t n = 0;
    void *ctx = begun(name, f, encrypt);
    bool all = true;
    memset(r, 0, sizeof(*r));
    if (first != 0)
        r->good[0] = f->update(ctx, r->out[0], &r->n[0], ROOM, text, first);
    if (size < ROOM)
        all = !f->update(ctx, r->out[1], &n, size, text, len);
    if (shift != 0)
        all = all && !f->update(ctx, in + shift, &n, ROOM, in, len);
    r->good[1] = f->update(ctx, r->out[1], &r->n[1], ROOM, text, len);
    r->good[2] = f->final(ctx, r->out[2], &r->n[2], ROOM);
    f->freectx(ctx);
    ERR_clear_error();
    return all;
}

static bool repeats_as(const char *name, const struct result *a, const struct result *b,
                       const char *what, size_t first, size_t len)
{
    if (memcmp(a, b, sizeof(*a)) == 0)
        return true;
    tap_diag("%s: a repeated update differs, %zu then %zu bytes, first %s", name, first, len, what);
    return false;
}

static bool repeatable(const char *name, const struct functions *f)
{
    static const size_t lens[] = {1, 11, 16, 24, 27, 32, 40, 64, 80};
    static struct result plain, again;
    bool good = true;
    for (int encrypt = 0; encrypt < 2; encrypt++) {
        for (size_t first = 0; first < 10; first += 5) {
            for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
                (void)refused(name, f, encrypt, first, lens[i], ROOM, 0, &plain);
                for (size_t size = 0; size < lens[i]; size += 5)
                    if (refused(name, f, encrypt, first, lens[i], size, 0, &again))
                        good &= repeats_as(name, &plain, &again, "too small", first, lens[i]);
                for (size_t shift = 1; shift < lens[i]; shift += 5)
                    if (refused(name, f, encrypt, first, lens[i], ROOM, shift, &again))
                        good &= repeats_as(name, &plain, &again, "overlapping", first, lens[i]);
            }
        }
    }
    return good;
}

int main(void)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/tenrounds.so", getenv("OPENSSL_MODULES"));
    void *module = dlopen(path, RTLD_NOW);
    if (module == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    *(void **)&real_init = dlsym(module, "OSSL_provider_init");
    OSSL_LIB_CTX *libctx = OSSL_LIB_CTX_new();
    OSSL_PROVIDER *provider = NULL;
    if (OSSL_PROVIDER_add_builtin(libctx, "direct", keep))
        provider = OSSL_PROVIDER_load(libctx, "direct");
    if (provider == NULL) {
        ERR_print_errors_fp(stderr);
        return 2;
    }
    OSSL_FUNC_provider_query_operation_fn *query =
        (OSSL_FUNC_provider_query_operation_fn *)function_of(provider_functions,
                                                             OSSL_FUNC_PROVIDER_QUERY_OPERATION);
    int no_cache;
    const OSSL_ALGORITHM *list = query(provider_context, OSSL_OP_CIPHER, &no_cache);
    unsigned ciphers = 0;
    while (list[ciphers].algorithm_names != NULL)
        ciphers++;
    tap_plan(2 * ciphers);
    for (unsigned i = 0; i < ciphers; i++) {
        char name[64];
        const int len = (int)strcspn(list[i].algorithm_names, ":");
        snprintf(name, sizeof(name), "%.*s", len, list[i].algorithm_names);
        const struct functions f = functions_of(list[i].implementation);
        tap_ok(bounded(name, &f), "%s never writes beyond the output size", name);
        tap_ok(repeatable(name, &f), "%s: an update that was refused can be repeated", name);
    }
    OSSL_PROVIDER_unload(provider);
    OSSL_LIB_CTX_free(libctx);
    dlclose(module);
    return tap_done();
}
