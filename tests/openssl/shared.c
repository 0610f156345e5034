/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks that threads only read the memory that they share. This memory is the writable static data
 * of the library and the provider, the provider's struct trp_provider, and keys of AES, XTS and
 * CMAC. AEAD keys are not shared here, because threads add powers of H to a GCM key. After loading,
 * the test makes this memory read-only. Then several threads run all modes at once, with the core's
 * calls and through libcrypto. A write to shared memory would move a cache line between processors.
 * In this test, such a write ends the program with SIGSEGV.
 *
 * The dynamic linker must bind all functions at load (LD_BIND_NOW). Otherwise it would later write
 * the functions' addresses into the read-only memory.
 */
#define _GNU_SOURCE
#include "../core/aead.h"
#include "sides.h"

#include <link.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4
#define TIMES   3
#define BYTES   9000 /* long enough for every loop */
#define CIPHERS 100

/* ---- Shared memory --------------------------------------------------------------------------- */

static struct region {
    const char *of;
    uint8_t *from;
    size_t len;
} regions[16];
static unsigned n_regions;
static size_t page;

static void add_region(const char *of, uintptr_t from, uintptr_t to)
{
    from &= ~(page - 1);
    to = (to + page - 1) & ~(page - 1);
    if (n_regions < sizeof(regions) / sizeof(*regions))
        regions[n_regions++] = (struct region){of, (uint8_t *)from, to - from};
}

/* Adds the writable segments of the library whose file name begins with `data`. */
static int add_segments(struct dl_phdr_info *info, size_t size, void *data)
{
    const char *file = data, *slash = strrchr(info->dlpi_name, '/');
    (void)size;
    if (slash == NULL || strncmp(slash + 1, file, strlen(file)) != 0)
        return 0;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        if (h->p_type == PT_LOAD && (h->p_flags & PF_W))
            add_region(file, info->dlpi_addr + h->p_vaddr,
                       info->dlpi_addr + h->p_vaddr + h->p_memsz);
    }
    return 0;
}

/* While true, take() puts the allocations of openssl/provider/provider.c into separate pages.
 * libcrypto allocates through take(). */
static bool loading;

static bool is_region(const void *p)
{
    for (unsigned i = 0; i < n_regions; i++)
        if (regions[i].from == p)
            return true;
    return false;
}

static void *take(size_t size, const char *file, int line)
{
    (void)line;
    if (!loading || file == NULL || strstr(file, "provider/provider.c") == NULL)
        return malloc(size);
    uint8_t *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    add_region("the provider's object", (uintptr_t)p, (uintptr_t)p + size);
    return p;
}

static void *take_more(void *p, size_t size, const char *file, int line)
{
    (void)file, (void)line;
    return realloc(p, size);
}

static void give_back(void *p, const char *file, int line)
{
    (void)file, (void)line;
    if (!is_region(p))
        free(p);
}

static bool protect(int how)
{
    bool good = true;
    for (unsigned i = 0; i < n_regions; i++)
        good &= mprotect(regions[i].from, regions[i].len, how) == 0;
    return good;
}

/* Whether a write to the region ends a child process with SIGSEGV, as the test assumes. */
static bool is_protected(const struct region *r)
{
    int status;
    const pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL); /* a sanitizer may have set a handler */
        volatile uint8_t *last = r->from + r->len - 1;
        *last = *last;
        _exit(0);
    }
    return child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status) &&
           WTERMSIG(status) == SIGSEGV;
}

/* ---- Keys that all threads use, in separate pages -------------------------------------------- */

static struct keys {
    struct tr_aes_key aes[3];
    struct tr_xts_key xts;
    struct tr_cmac_key cmac;
} * keys;

static const uint8_t raw[64] = "a key of up to 64 bytes, in which no part occurs a second time";
static const uint8_t iv[16] = "sixteen bytes..";
static uint8_t text[BYTES];

static bool make_keys(void)
{
    keys = mmap(NULL, sizeof(*keys), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (keys == MAP_FAILED)
        return false;
    bool good = true;
    for (unsigned i = 0; i < 3; i++)
        good &= tr_aes_set_key(&keys->aes[i], NULL, raw, key_lengths[i]) == TR_OK;
    good &= tr_xts_set_key(&keys->xts, NULL, raw, 64) == TR_OK;
    good &= tr_cmac_set_key(&keys->cmac, NULL, raw, 32) == TR_OK;
    add_region("the keys", (uintptr_t)keys, (uintptr_t)keys + sizeof(*keys));
    return good;
}

/* ---- All modes, by the core ------------------------------------------------------------------ */

/* The memory of one thread. */
struct own {
    uint8_t out[BYTES + 64], back[BYTES + 64];
    uint64_t digest;
    const char *failed;
    unsigned ciphers;
};

static void digest(struct own *own, const void *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        own->digest = (own->digest ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3;
}

static void expect(struct own *own, bool good, const char *what)
{
    if (!good && own->failed == NULL)
        own->failed = what;
}

static void plain_modes(struct own *own)
{
    for (unsigned k = 0; k < 3; k++) {
        for (unsigned m = 0; m < ALL_MODES; m++) {
            const enum tr_mode mode = all_modes[m];
            const size_t len =
                mode_longest(mode, mode_is_blocks(mode) ? BYTES - BYTES % 16 : BYTES);
            struct position there = position_at(iv), back = position_at(iv);
            const bool good =
                mode_run(&keys->aes[k], mode, false, &there, own->out, text, len) == TR_OK &&
                mode_run(&keys->aes[k], mode, true, &back, own->back, own->out, len) == TR_OK &&
                memcmp(own->back, text, len) == 0;
            expect(own, good, mode_name(mode));
            digest(own, own->out, len);
        }
    }
    const bool xts = tr_xts_encrypt(&keys->xts, iv, own->out, text, BYTES) == TR_OK &&
                     tr_xts_decrypt(&keys->xts, iv, own->back, own->out, BYTES) == TR_OK &&
                     memcmp(own->back, text, BYTES) == 0;
    expect(own, xts, "XTS with two keys");
}

static void wraps(struct own *own)
{
    size_t len = 0;
    const struct tr_aes_key *key = &keys->aes[2];
    expect(own,
           tr_kw_wrap(key, 0, NULL, own->out, text, 64) == TR_OK &&
               tr_kw_unwrap(key, 0, NULL, own->back, own->out, 72) == TR_OK &&
               memcmp(own->back, text, 64) == 0,
           "KW");
    digest(own, own->out, 72);
    expect(own,
           tr_kwp_wrap(key, 0, NULL, own->out, text, 61) == TR_OK &&
               tr_kwp_unwrap(key, 0, NULL, own->back, &len, own->out, 72) == TR_OK && len == 61,
           "KWP");
    digest(own, own->out, 72);
}

static void aeads(struct own *own)
{
    struct aead_state *state = NULL;
    if (posix_memalign((void **)&state, 64, sizeof(*state)) != 0)
        exit(2);
    for (unsigned i = 0; i < AEADS; i++) {
        const struct aead *a = &all_aeads[i];
        const struct aead_lengths n = {a->key.max, a->iv.usual, 13, BYTES, 16};
        uint8_t tag[16];
        const bool good = a->set_key(state, NULL, raw, n.key) == TR_OK &&
                          a->whole(state, false, &n, iv, text, own->out, text, tag) == TR_OK &&
                          a->whole(state, true, &n, iv, text, own->back, own->out, tag) == TR_OK &&
                          memcmp(own->back, text, BYTES) == 0;
        expect(own, good, a->name);
        digest(own, own->out, BYTES);
        digest(own, tag, 16);
    }
    free(state);
}

#define JOBS 20
static void many(struct own *own)
{
    struct tr_stream streams[JOBS];
    struct tr_cmac_job macs[JOBS];
    uint8_t ivs[JOBS][16];
    for (unsigned cfb = 0; cfb < 2; cfb++) {
        uint8_t *at = own->out;
        for (unsigned i = 0; i < JOBS; i++) {
            const size_t len = 16 * (1 + i);
            memcpy(ivs[i], iv, 16);
            streams[i] = (struct tr_stream){&keys->aes[i % 3], ivs[i], at, text, len};
            macs[i] = (struct tr_cmac_job){.key = &keys->cmac, .data = text, .len = len + 5};
            at += len;
        }
        expect(own, (cfb ? tr_cfb128_encrypt_many : tr_cbc_encrypt_many)(streams, JOBS) == TR_OK,
               "many messages");
        digest(own, own->out, (size_t)(at - own->out));
    }
    expect(own, tr_cmac_sign_many(macs, JOBS) == TR_OK, "many MACs");
    for (unsigned i = 0; i < JOBS; i++)
        digest(own, macs[i].tag, 16);
    uint8_t tag[16];
    expect(own, tr_cmac_sign(&keys->cmac, text, BYTES, tag, 16) == TR_OK, "CMAC");
    digest(own, tag, 16);
}

/* ---- All ciphers and MACs, through libcrypto ------------------------------------------------- */

static struct evp_side us;

static bool has(const EVP_CIPHER *cipher, const char *part)
{
    return strstr(EVP_CIPHER_get0_name(cipher), part) != NULL;
}

/* Returns the length of the text for a cipher, in bytes. */
static int length_for(const EVP_CIPHER *cipher)
{
    if (EVP_CIPHER_get_mode(cipher) == EVP_CIPH_WRAP_MODE)
        return 64;
    if (has(cipher, "CFB1") || has(cipher, "CFB8"))
        return 100;
    return 8976; /* whole blocks */
}

/* Seals or opens a TLS 1.2 record in place with an AES-CBC-HMAC cipher. The buffer `data` must have
 * room for MAC and padding. Returns the number of bytes processed, or -1 on failure. */
static int tls_record(EVP_CIPHER_CTX *ctx, uint8_t *data, bool encrypt, int len)
{
    uint8_t aad[13] = {0, 0, 0, 0, 0, 0, 0, 1, 23, 3, 3};
    aad[11] = (uint8_t)(len >> 8);
    aad[12] = (uint8_t)len;
    const int more = EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_TLS1_AAD, 13, aad);
    if (more <= 0)
        return -1;
    len += encrypt ? more : 0;
    return EVP_Cipher(ctx, data, data, (unsigned)len) > 0 ? len : -1;
}

static bool record_there_and_back(struct own *own, EVP_CIPHER *cipher, EVP_CIPHER_CTX *ctx)
{
    static const uint8_t mac_key[32] = "a key of the MAC";
    const int len = 4096;
    memcpy(own->out, text, (size_t)len);
    bool good = EVP_CipherInit_ex2(ctx, cipher, raw, iv, 1, NULL) > 0 &&
                EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_MAC_KEY, 32, (void *)mac_key) > 0;
    const int all = good ? tls_record(ctx, own->out, true, len) : -1;
    if (all < 0)
        return false;
    digest(own, own->out, (size_t)all);
    good = EVP_CipherInit_ex2(ctx, cipher, raw, iv, 0, NULL) > 0 &&
           EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_MAC_KEY, 32, (void *)mac_key) > 0;
    return good && tls_record(ctx, own->out, false, all) > 0 &&
           memcmp(own->out + 16, text + 16, (size_t)len - 16) == 0;
}

static bool one_way(EVP_CIPHER *cipher, EVP_CIPHER_CTX *ctx, bool encrypt, uint8_t *out,
                    int *out_len, const uint8_t *in, int len, uint8_t tag[16])
{
    const bool aead = (EVP_CIPHER_get_flags(cipher) & EVP_CIPH_FLAG_AEAD_CIPHER) != 0;
    const bool ccm = EVP_CIPHER_get_mode(cipher) == EVP_CIPH_CCM_MODE;
    int n = 0, m = 0;
    bool good = EVP_CipherInit_ex2(ctx, cipher, NULL, NULL, encrypt, NULL) > 0;
    if (aead && (ccm || !encrypt))
        good &= EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, 16, encrypt ? NULL : tag) > 0;
    good &= EVP_CipherInit_ex2(ctx, NULL, raw, iv, encrypt, NULL) > 0;
    if (!aead)
        good &= EVP_CIPHER_CTX_set_padding(ctx, 0) > 0;
    if (ccm)
        good &= EVP_CipherUpdate(ctx, NULL, &n, NULL, len) > 0;
    if (aead)
        good &= EVP_CipherUpdate(ctx, NULL, &n, text, 13) > 0;
    good = good && EVP_CipherUpdate(ctx, out, &n, in, len) > 0;
    if (good && !(ccm && !encrypt))
        good = EVP_CipherFinal_ex(ctx, out + n, &m) > 0;
    *out_len = n + m;
    if (good && aead && encrypt)
        good = EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, 16, tag) > 0;
    return good;
}

static bool there_and_back(struct own *own, EVP_CIPHER *cipher)
{
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new(), *copy = EVP_CIPHER_CTX_new();
    const int len = length_for(cipher);
    uint8_t tag[16] = {0};
    int all = 0, back = 0;
    bool good;
    if (has(cipher, "HMAC")) {
        good = record_there_and_back(own, cipher, ctx);
    } else {
        good = one_way(cipher, ctx, true, own->out, &all, text, len, tag);
        digest(own, own->out, good ? (size_t)all : 0);
        digest(own, tag, 16);
        EVP_CIPHER_CTX_reset(ctx);
        good = good && one_way(cipher, ctx, false, own->back, &back, own->out, all, tag) &&
               back == len && memcmp(own->back, text, (size_t)len) == 0;
    }
    EVP_CIPHER_CTX_copy(copy, ctx); /* some ciphers refuse a copy */
    EVP_CIPHER_CTX_free(copy);
    EVP_CIPHER_CTX_free(ctx);
    return good;
}

static void each_cipher(EVP_CIPHER *cipher, void *data)
{
    struct own *own = data;
    ERR_clear_error();
    expect(own, there_and_back(own, cipher), EVP_CIPHER_get0_name(cipher));
    own->ciphers++;
}

static void mac(struct own *own, const char *name, const char *cipher)
{
    const OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_CIPHER, (char *)cipher, 0),
        *name == 'G' ? OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_IV, (void *)iv, 12)
                     : OSSL_PARAM_construct_end(),
        OSSL_PARAM_construct_end()};
    EVP_MAC *fetched = EVP_MAC_fetch(us.libctx, name, NULL);
    EVP_MAC_CTX *ctx = EVP_MAC_CTX_new(fetched);
    uint8_t tag[16];
    size_t len = 0;
    expect(own,
           EVP_MAC_init(ctx, raw, 16, params) > 0 && EVP_MAC_update(ctx, text, BYTES) > 0 &&
               EVP_MAC_final(ctx, tag, &len, 16) > 0 && len == 16,
           name);
    digest(own, tag, 16);
    EVP_MAC_CTX_free(ctx);
    EVP_MAC_free(fetched);
}

/* ---- Threads --------------------------------------------------------------------------------- */

static pthread_barrier_t barrier;

static void *core_thread(void *data)
{
    struct own *own = data;
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < TIMES; i++) {
        plain_modes(own);
        wraps(own);
        aeads(own);
        many(own);
    }
    return NULL;
}

static void *evp_thread(void *data)
{
    struct own *own = data;
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < TIMES; i++) {
        own->ciphers = 0;
        EVP_CIPHER_do_all_provided(us.libctx, each_cipher, own);
        mac(own, "CMAC", "AES-128-CBC");
        mac(own, "GMAC", "AES-128-GCM");
    }
    return NULL;
}

/* Runs `what` in all threads at once and checks that their results are equal. */
static bool together(void *(*what)(void *), unsigned *ciphers)
{
    static struct own own[THREADS];
    pthread_t threads[THREADS];
    bool good = pthread_barrier_init(&barrier, NULL, THREADS) == 0;
    memset(own, 0, sizeof(own));
    for (unsigned i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, what, &own[i]) != 0)
            exit(2);
    for (unsigned i = 0; i < THREADS; i++) {
        good &= pthread_join(threads[i], NULL) == 0;
        if (own[i].failed != NULL)
            tap_diag("failed: %s", own[i].failed);
        good &= own[i].failed == NULL && own[i].digest == own[0].digest;
    }
    *ciphers = own[0].ciphers;
    pthread_barrier_destroy(&barrier);
    return good;
}

int main(void)
{
    unsigned ciphers;
    if (CRYPTO_set_mem_functions(take, take_more, give_back) != 1)
        return 2;
    tap_plan(6);
    page = (size_t)sysconf(_SC_PAGESIZE);
    struct tap_random random = tap_random(0);
    tap_fill(&random, text, sizeof(text));
    if (getenv("LD_BIND_NOW") == NULL || *getenv("LD_BIND_NOW") == '\0') {
        fprintf(stderr, "LD_BIND_NOW is not set: set LD_BIND_NOW=1 in the environment\n");
        return 2;
    }

    loading = true;
    us = evp_open("tenrounds");
    loading = false;
    const unsigned objects = n_regions;
    tap_ok(objects == 1, "the provider allocates one object for a library context (%u found)",
           objects);
    /* The first multi-buffer call of a process, and the first key of a mode in the provider, run
     * known-answer tests and store their result. */
    static struct own first;
    tap_ok(tr_backend_selected() != NULL && make_keys(),
           "a backend is selected and the keys are set");
    many(&first);
    EVP_CIPHER_do_all_provided(us.libctx, each_cipher, &first);
    mac(&first, "CMAC", "AES-128-CBC");
    mac(&first, "GMAC", "AES-128-GCM");
    dl_iterate_phdr(add_segments, (void *)"libtenrounds.so");
    dl_iterate_phdr(add_segments, (void *)"tenrounds.so");
    bool guarded = protect(PROT_READ) && n_regions >= objects + 3;
    for (unsigned i = 0; i < n_regions; i++) {
        guarded &= is_protected(&regions[i]);
        tap_diag("%zu bytes of %s", regions[i].len, regions[i].of);
    }
    tap_ok(guarded, "a write to any shared memory ends the process");

    tap_ok(together(core_thread, &ciphers), "%u threads run all modes of the core", THREADS);
    const bool through = together(evp_thread, &ciphers);
    tap_ok(through && ciphers > 50, "threads run all %u ciphers and two MACs through libcrypto",
           ciphers);

    const bool writable = protect(PROT_READ | PROT_WRITE); /* for unloading and exit */
    evp_close(&us);
    tap_ok(writable, "the shared memory becomes writable again, and the provider unloads");
    return tap_done();
}
