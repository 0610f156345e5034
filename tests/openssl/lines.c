/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks that two contexts never write to the same cache line, even if the allocator places them
 * next to each other. Otherwise two threads, each with its own context, would delay each other in
 * every call. The test allocates the provider's parts of the contexts without a gap. It puts
 * libcrypto's parts into separate cache lines, because they are not tested.
 */
#include "sides.h"

#include <openssl/crypto.h>

#define LINE   64u
#define ARENA  (1u << 20)
#define LINES  (ARENA / LINE)
#define BYTES  240u
#define ROUNDS 8u

/* ---- Memory --------------------------------------------------------------------------------- */

static uint8_t arena[ARENA] __attribute__((aligned(LINE))), before[ARENA];
static size_t arena_used;
static enum { ELSEWHERE, APART, CLOSE } where;

static bool in_arena(const void *p)
{
    return (uintptr_t)p - (uintptr_t)arena < ARENA;
}

static void *allocate(size_t size, const char *file, int line)
{
    (void)file;
    (void)line;
    if (where == ELSEWHERE)
        return malloc(size);
    const size_t unit = where == APART ? LINE : 16;
    const size_t at = (arena_used + unit - 1) / unit * unit;
    const size_t end = at + (size + unit - 1) / unit * unit;
    if (end > ARENA)
        return NULL;
    arena_used = end;
    return arena + at;
}

static void release(void *p, const char *file, int line)
{
    (void)file;
    (void)line;
    if (!in_arena(p))
        free(p);
}

/* Refuses to resize memory in the arena, because the provider never resizes memory. */
static void *reallocate(void *p, size_t size, const char *file, int line)
{
    (void)file;
    (void)line;
    return in_arena(p) ? NULL : realloc(p, size);
}

/* ---- Messages ------------------------------------------------------------------------------- */

static uint8_t key[64];
static struct tap_random seeded;

static EVP_CIPHER_CTX *new_context(void)
{
    where = APART;
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    where = ELSEWHERE;
    return ctx;
}

static bool set_key(EVP_CIPHER_CTX *ctx, const EVP_CIPHER *cipher)
{
    where = CLOSE;
    const bool good = EVP_EncryptInit_ex2(ctx, cipher, key, key, NULL) == 1;
    where = ELSEWHERE;
    return good;
}

static bool message(EVP_CIPHER_CTX *ctx)
{
    uint8_t iv[16], data[BYTES], out[BYTES + 16];
    int n;
    tap_fill(&seeded, iv, sizeof(iv));
    tap_fill(&seeded, data, sizeof(data));
    const bool is_aead =
        (EVP_CIPHER_get_flags(EVP_CIPHER_CTX_get0_cipher(ctx)) & EVP_CIPH_FLAG_AEAD_CIPHER) != 0;
    const bool is_ccm = EVP_CIPHER_CTX_get_mode(ctx) == EVP_CIPH_CCM_MODE;
    return EVP_EncryptInit_ex2(ctx, NULL, NULL, iv, NULL) == 1 &&
           (!is_ccm || EVP_EncryptUpdate(ctx, NULL, &n, NULL, BYTES) == 1) &&
           (!is_aead || EVP_EncryptUpdate(ctx, NULL, &n, data, 64) == 1) &&
           EVP_EncryptUpdate(ctx, out, &n, data, BYTES) == 1 &&
           EVP_EncryptFinal_ex(ctx, out + n, &n) == 1;
}

/* A context. The provider's part of the context lies in the arena from `begin` to `end`. */
struct context {
    EVP_CIPHER_CTX *ctx;
    size_t begin, end;
    uint8_t writes[LINES];
};

static bool make(struct context *c, const EVP_CIPHER *cipher)
{
    c->begin = arena_used;
    const bool good = set_key(c->ctx, cipher);
    c->end = arena_used;
    return good;
}

/* Finds out which cache lines of the provider's part the messages write. */
static bool watch(struct context *c)
{
    memset(c->writes, 0, sizeof(c->writes));
    for (unsigned i = 0; i < ROUNDS; i++) {
        memcpy(before + c->begin, arena + c->begin, c->end - c->begin);
        if (!message(c->ctx))
            return false;
        for (size_t at = c->begin; at < c->end; at++)
            c->writes[at / LINE] |= arena[at] != before[at];
    }
    return true;
}

static unsigned written_lines(const struct context *c, size_t begin, size_t end)
{
    unsigned n = 0;
    for (size_t i = begin / LINE; i * LINE < end; i++)
        n += c->writes[i];
    return n;
}

/* Tests two contexts, for each multiple of 16 bytes at which a context can begin in a cache
 * line. */
static void test(const struct evp_side *ours, const char *name)
{
    static struct context c[2];
    EVP_CIPHER *cipher = evp_fetch(ours, name);
    unsigned written = 0, in_other = 0;
    bool good = true;
    for (size_t offset = 0; offset < LINE; offset += 16) {
        for (unsigned i = 0; i < 2; i++)
            good = good && (c[i].ctx = new_context()) != NULL;
        arena_used += offset;
        for (unsigned i = 0; i < 2; i++)
            good = good && make(&c[i], cipher);
        for (unsigned i = 0; good && i < 2; i++) {
            good = watch(&c[i]);
            written += written_lines(&c[i], c[i].begin, c[i].end);
            in_other += written_lines(&c[i], c[1 - i].begin, c[1 - i].end);
        }
        for (unsigned i = 0; i < 2; i++)
            EVP_CIPHER_CTX_free(c[i].ctx);
    }
    tap_ok(good && written != 0 && in_other == 0,
           "%s: two contexts share no written cache line (%u written, %u shared)", name, written,
           in_other);
    EVP_CIPHER_free(cipher);
}

int main(void)
{
    static const char *const names[] = {
        "AES-128-CBC", "AES-128-CFB", "AES-128-CTR", "AES-128-CBC-CTS", "AES-128-XTS",
        "AES-128-GCM", "AES-128-CCM", "AES-128-OCB", "AES-128-GCM-SIV", "AES-256-GCM"};
    if (CRYPTO_set_mem_functions(allocate, reallocate, release) != 1)
        return 2;
    tap_plan(sizeof(names) / sizeof(names[0]));
    seeded = tap_random(0);
    tap_fill(&seeded, key, sizeof(key));
    struct evp_side ours = evp_open("tenrounds");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        test(&ours, names[i]);
    evp_close(&ours);
    return tap_done();
}
