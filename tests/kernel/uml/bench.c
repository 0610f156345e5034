/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Measures three implementations inside the kernel: the driver of the tenrounds module, the core on
 * the same bytes, and the kernel's generic driver. Short windows of the three alternate, so that
 * all run at the same clock and load (docs/measuring.md). This module measures while it loads.
 * Afterwards /sys/kernel/debug/tenrounds_bench has one line of JSON per algorithm, direction and
 * size.
 *
 * The data begins at a page boundary and has one scatterlist entry per page. AAD and tag have
 * separate entries. Requests are in place, except AEAD decryption, which decrypts the same message
 * repeatedly.
 */
#include <linux/debugfs.h>
#include <linux/gfp.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/scatterlist.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/vmalloc.h>

#include <crypto/aead.h>
#include <crypto/skcipher.h>

#include "tenrounds.h" /* the core, compiled as for user space */

static char *backend = "vaes512";
module_param(backend, charp, 0444);
MODULE_PARM_DESC(backend, "the backend whose drivers are measured");
static unsigned int key_bits = 128;
module_param(key_bits, uint, 0444);
static unsigned int sizes[8] = {512, 1420, 4096, 16384, 65536}, sizes_count = 5;
module_param_array(sizes, uint, &sizes_count, 0444);
MODULE_PARM_DESC(sizes, "bytes per request, 16 to 65536; modes of whole blocks round down");
static unsigned int rounds = 41;
module_param(rounds, uint, 0444);
MODULE_PARM_DESC(rounds, "windows of each implementation, at most 201");
static unsigned int window_us = 400;
module_param(window_us, uint, 0444);
static bool everything;
module_param(everything, bool, 0444);
MODULE_PARM_DESC(everything, "all algorithms, not only those of disks and networks");

#define MOST_BYTES  65536u
#define MOST_PAGES  (MOST_BYTES / PAGE_SIZE)
#define MOST_ROUNDS 201u
#define AAD         16u
#define TAG         16u
#define REPORT      65536u

/* ---- The core's environment: no mask, no fault injection ---- */

const char *tr_env_mask(void);
const char *tr_env_sabotage(void);
const char *tr_env_tuning(void);
unsigned long tr_env_hwcap(void);
void tr_env_fatal(const char *why) __noreturn;

const char *tr_env_mask(void)
{
    return NULL;
}
const char *tr_env_sabotage(void)
{
    return NULL;
}
const char *tr_env_tuning(void)
{
    return NULL;
}
unsigned long tr_env_hwcap(void)
{
    return 0;
}
void tr_env_fatal(const char *why)
{
    panic("%s", why);
}

/* ---- The measured operations ---- */

union core_key {
    struct tr_aes_key aes;
    struct tr_xts_key xts;
    struct tr_gcm_key gcm;
    struct tr_ccm_key ccm;
};

struct work {
    const struct operation *op;
    unsigned int len;
    struct page *in_pages, *out_pages;
    u8 *in, *out; /* the same buffer, except in AEAD decryption */
    u8 iv[16], core_iv[16], *aad, *tag;
    struct scatterlist src[MOST_PAGES + 2], dst[MOST_PAGES + 2];
    union core_key *key;
    struct crypto_skcipher *cipher[2]; /* ours, generic */
    struct skcipher_request *request[2];
    struct crypto_aead *aead[2];
    struct aead_request *aead_request[2];
};

struct operation {
    const char *name, *driver, *generic;
    bool main, aead, decrypt;
    unsigned int unit;       /* every length is a multiple of this many bytes */
    unsigned int keys, salt; /* a raw key has `keys` AES keys, then `salt` bytes of salt */
    enum tr_status (*set_key)(struct work *w, const struct tr_backend *b, const u8 *raw,
                              size_t len);
    enum tr_status (*run)(struct work *w); /* NULL: the core has no such call */
};

static enum tr_status aes_key(struct work *w, const struct tr_backend *b, const u8 *raw, size_t len)
{
    return tr_aes_set_key(&w->key->aes, b, raw, len);
}
static enum tr_status xts_key(struct work *w, const struct tr_backend *b, const u8 *raw, size_t len)
{
    return tr_xts_set_key(&w->key->xts, b, raw, len);
}
static enum tr_status gcm_key(struct work *w, const struct tr_backend *b, const u8 *raw, size_t len)
{
    return tr_gcm_set_key(&w->key->gcm, b, raw, len);
}
static enum tr_status ccm_key(struct work *w, const struct tr_backend *b, const u8 *raw, size_t len)
{
    return tr_ccm_set_key(&w->key->ccm, b, raw, len);
}

#define IN_PLACE(name, call)                                                                       \
    static enum tr_status name(struct work *w)                                                     \
    {                                                                                              \
        return call;                                                                               \
    }
IN_PLACE(ecb_encrypt, tr_ecb_encrypt(&w->key->aes, w->in, w->in, w->len))
IN_PLACE(ecb_decrypt, tr_ecb_decrypt(&w->key->aes, w->in, w->in, w->len))
IN_PLACE(cbc_encrypt, tr_cbc_encrypt(&w->key->aes, w->core_iv, w->in, w->in, w->len))
IN_PLACE(cbc_decrypt, tr_cbc_decrypt(&w->key->aes, w->core_iv, w->in, w->in, w->len))
IN_PLACE(cts_encrypt, tr_cbc_cts_encrypt(&w->key->aes, TR_CS3, w->core_iv, w->in, w->in, w->len))
IN_PLACE(cts_decrypt, tr_cbc_cts_decrypt(&w->key->aes, TR_CS3, w->core_iv, w->in, w->in, w->len))
IN_PLACE(xts_encrypt, tr_xts_encrypt(&w->key->xts, w->core_iv, w->in, w->in, w->len))
IN_PLACE(xts_decrypt, tr_xts_decrypt(&w->key->xts, w->core_iv, w->in, w->in, w->len))
static enum tr_status ctr(struct work *w)
{
    u8 keystream[16];
    unsigned int used = 0;

    return tr_ctr(&w->key->aes, w->core_iv, keystream, &used, w->in, w->in, w->len);
}
static enum tr_status gcm_seal(struct work *w)
{
    return tr_gcm_seal(&w->key->gcm, w->core_iv, 12, w->aad, AAD, w->in, w->in, w->len, w->tag,
                       TAG);
}
static enum tr_status gcm_open(struct work *w)
{
    return tr_gcm_open(&w->key->gcm, w->core_iv, 12, w->aad, AAD, w->out, w->in, w->len, w->tag,
                       TAG);
}
static enum tr_status ccm_seal(struct work *w)
{
    return tr_ccm_seal(&w->key->ccm, w->core_iv, 12, w->aad, AAD, w->in, w->in, w->len, w->tag,
                       TAG);
}
static enum tr_status ccm_open(struct work *w)
{
    return tr_ccm_open(&w->key->ccm, w->core_iv, 12, w->aad, AAD, w->out, w->in, w->len, w->tag,
                       TAG);
}

#define CIPHER(main, name, driver, generic, decrypt, unit, keys, set_key, run)                     \
    {                                                                                              \
        name, driver, generic, main, false, decrypt, unit, keys, 0, set_key, run                   \
    }
#define AEAD(main, name, driver, generic, decrypt, salt, set_key, run)                             \
    {                                                                                              \
        name, driver, generic, main, true, decrypt, 1, 1, salt, set_key, run                       \
    }
#define GCM     "gcm_base(ctr(aes-generic),ghash-generic)"
#define RFC4106 "rfc4106(" GCM ")"
#define CCM     "ccm_base(ctr(aes-generic),cbcmac(aes-generic))"
static const struct operation operations[] = {
    CIPHER(1, "xts(aes)", "xts-aes", "xts(ecb(aes-generic))", 0, 1, 2, xts_key, xts_encrypt),
    CIPHER(1, "xts(aes)", "xts-aes", "xts(ecb(aes-generic))", 1, 1, 2, xts_key, xts_decrypt),
    CIPHER(1, "ctr(aes)", "ctr-aes", "ctr(aes-generic)", 0, 1, 1, aes_key, ctr),
    CIPHER(1, "cbc(aes)", "cbc-aes", "cbc(aes-generic)", 1, 16, 1, aes_key, cbc_decrypt),
    AEAD(1, "gcm(aes)", "gcm-aes", GCM, 0, 0, gcm_key, gcm_seal),
    AEAD(1, "gcm(aes)", "gcm-aes", GCM, 1, 0, gcm_key, gcm_open),
    CIPHER(0, "cbc(aes)", "cbc-aes", "cbc(aes-generic)", 0, 16, 1, aes_key, cbc_encrypt),
    CIPHER(0, "ecb(aes)", "ecb-aes", "ecb(aes-generic)", 0, 16, 1, aes_key, ecb_encrypt),
    CIPHER(0, "ecb(aes)", "ecb-aes", "ecb(aes-generic)", 1, 16, 1, aes_key, ecb_decrypt),
    CIPHER(0, "cts(cbc(aes))", "cts-cbc-aes", "cts(cbc(aes-generic))", 0, 1, 1, aes_key,
           cts_encrypt),
    CIPHER(0, "cts(cbc(aes))", "cts-cbc-aes", "cts(cbc(aes-generic))", 1, 1, 1, aes_key,
           cts_decrypt),
    CIPHER(0, "xctr(aes)", "xctr-aes", "xctr(aes-generic)", 0, 1, 1, aes_key, NULL),
    AEAD(0, "rfc4106(gcm(aes))", "rfc4106-gcm-aes", RFC4106, 0, 4, NULL, NULL),
    AEAD(0, "rfc4106(gcm(aes))", "rfc4106-gcm-aes", RFC4106, 1, 4, NULL, NULL),
    AEAD(0, "ccm(aes)", "ccm-aes", CCM, 0, 0, ccm_key, ccm_seal),
    AEAD(0, "ccm(aes)", "ccm-aes", CCM, 1, 0, ccm_key, ccm_open),
};

/* ---- One call of each kind ---- */

enum { OURS, GENERIC, CORE, KINDS };

static int call(struct work *w, int kind)
{
    if (kind == CORE)
        return w->op->run(w) == TR_OK ? 0 : -EBADMSG;
    if (w->op->aead)
        return w->op->decrypt ? crypto_aead_decrypt(w->aead_request[kind])
                              : crypto_aead_encrypt(w->aead_request[kind]);
    return w->op->decrypt ? crypto_skcipher_decrypt(w->request[kind])
                          : crypto_skcipher_encrypt(w->request[kind]);
}

static bool there_is(const struct work *w, int kind)
{
    return kind != CORE || w->op->run != NULL;
}

/* ---- Windows ---- */

/* Returns the processor time of this thread in ns. In user-mode Linux, which is a process of the
 * host, asks the host's kernel. Elsewhere returns the wall-clock time, so that no window counts as
 * disturbed. */
static u64 own_ns(void)
{
#ifdef CONFIG_UML
    struct {
        s64 seconds, ns;
    } t = {0, 0};
    long status = 228; /* clock_gettime */

    asm volatile("syscall"
                 : "+a"(status)
                 : "D"(3L), "S"(&t) /* CLOCK_THREAD_CPUTIME_ID */
                 : "rcx", "r11", "memory");
    return t.seconds * NSEC_PER_SEC + t.ns;
#else
    return ktime_get_ns();
#endif
}

struct window {
    u64 ps; /* picoseconds per call */
    bool disturbed;
};

/* Times one window of calls, after an eighth as many untimed calls. A window is disturbed if the
 * thread lost the processor during the window. */
static int window(struct work *w, int kind, u32 calls, struct window *result)
{
    u64 wall, own;
    u32 i;
    int err = 0;

    cond_resched();
    for (i = 0; i < calls / 8 + 1; i++)
        err |= call(w, kind);
    own = own_ns();
    wall = ktime_get_ns();
    for (i = 0; i < calls; i++)
        err |= call(w, kind);
    wall = ktime_get_ns() - wall;
    own = own_ns() - own;
    result->ps = div_u64(wall * 1000, calls);
    /* Tolerates a difference of 5 %, and 5 µs more for reading the clocks. */
    result->disturbed = wall > own + own / 20 + 5000;
    return err;
}

/* Finds how many calls fill a window. */
static int calibrate(struct work *w, int kind, u32 *calls)
{
    struct window result;
    u32 n;

    for (n = 1;; n *= 2) {
        int err = window(w, kind, n, &result);

        if (err != 0)
            return err;
        if (result.ps * n >= (u64)window_us * 1000 * 1000 || n >= 1u << 20)
            break;
    }
    *calls = n;
    return 0;
}

static int by_size(const void *a, const void *b)
{
    u64 x = *(const u64 *)a, y = *(const u64 *)b;

    return x < y ? -1 : x > y;
}

struct samples {
    u64 ps[KINDS][MOST_ROUNDS], of_core[MOST_ROUNDS], of_generic[MOST_ROUNDS];
    unsigned int disturbed;
};

static int measure(struct work *w, struct samples *s)
{
    u32 calls[KINDS] = {0}, random = 1;
    unsigned int done = 0, tried = 0, k;
    struct window results[KINDS];
    int err = 0;

    for (k = 0; k < KINDS && err == 0; k++)
        err = there_is(w, k) ? calibrate(w, k, &calls[k]) : 0;
    s->disturbed = 0;
    while (err == 0 && done < rounds) {
        unsigned int first;
        bool disturbed = false;

        random = random * 1664525 + 1013904223;
        first = (random >> 16) % KINDS;
        for (k = 0; k < KINDS && err == 0; k++) {
            unsigned int kind = random >> 31 ? (first + k) % KINDS : (first + KINDS - k) % KINDS;

            if (!there_is(w, kind))
                continue;
            err = window(w, kind, calls[kind], &results[kind]);
            disturbed |= results[kind].disturbed;
        }
        tried++;
        if (disturbed && tried - done < 3 * rounds)
            continue;
        s->disturbed += disturbed;
        for (k = 0; k < KINDS; k++)
            s->ps[k][done] = there_is(w, k) ? results[k].ps : 0;
        s->of_generic[done] = div64_u64(results[GENERIC].ps * 1000, results[OURS].ps);
        s->of_core[done] =
            w->op->run != NULL ? div64_u64(results[CORE].ps * 1000, results[OURS].ps) : 0;
        done++;
    }
    for (k = 0; k < KINDS; k++)
        sort(s->ps[k], done, sizeof(u64), by_size, NULL);
    sort(s->of_core, done, sizeof(u64), by_size, NULL);
    sort(s->of_generic, done, sizeof(u64), by_size, NULL);
    return err;
}

/* ---- Setting up ---- */

static void entries(struct scatterlist *sg, struct work *w, struct page *pages)
{
    unsigned int n = DIV_ROUND_UP(w->len, PAGE_SIZE), i = 0, page;

    sg_init_table(sg, n + (w->op->aead ? 2 : 0));
    if (w->op->aead)
        sg_set_buf(&sg[i++], w->aad, AAD);
    for (page = 0; page < n; page++)
        sg_set_page(&sg[i++], pages + page,
                    min_t(unsigned int, PAGE_SIZE, w->len - page * PAGE_SIZE), 0);
    if (w->op->aead)
        sg_set_buf(&sg[i++], w->tag, TAG);
}

static int open_cipher(struct work *w, int kind, const char *driver, const u8 *raw,
                       unsigned int key_len)
{
    struct crypto_skcipher *tfm = crypto_alloc_skcipher(driver, 0, 0);

    if (IS_ERR(tfm))
        return PTR_ERR(tfm);
    w->cipher[kind] = tfm;
    w->request[kind] = skcipher_request_alloc(tfm, GFP_KERNEL);
    if (w->request[kind] == NULL)
        return -ENOMEM;
    skcipher_request_set_crypt(w->request[kind], w->src, w->src, w->len, w->iv);
    return crypto_skcipher_setkey(tfm, raw, key_len);
}

static int open_aead(struct work *w, int kind, const char *driver, const u8 *raw,
                     unsigned int key_len)
{
    struct crypto_aead *tfm = crypto_alloc_aead(driver, 0, 0);
    struct aead_request *req;
    bool decrypt = w->op->decrypt;
    int err;

    if (IS_ERR(tfm))
        return PTR_ERR(tfm);
    w->aead[kind] = tfm;
    err = crypto_aead_setkey(tfm, raw, key_len);
    if (err == 0)
        err = crypto_aead_setauthsize(tfm, TAG);
    req = w->aead_request[kind] = aead_request_alloc(tfm, GFP_KERNEL);
    if (err != 0 || req == NULL)
        return err != 0 ? err : -ENOMEM;
    aead_request_set_ad(req, AAD);
    /* For decryption, our driver makes the message that all implementations decrypt. */
    aead_request_set_crypt(req, w->src, w->src, w->len, w->iv);
    if (decrypt && kind == OURS)
        err = crypto_aead_encrypt(req);
    if (decrypt)
        aead_request_set_crypt(req, w->src, w->dst, w->len + TAG, w->iv);
    return err;
}

static void close_all(struct work *w)
{
    int kind;

    for (kind = 0; kind < 2; kind++) {
        if (w->request[kind] != NULL)
            skcipher_request_free(w->request[kind]);
        if (w->cipher[kind] != NULL)
            crypto_free_skcipher(w->cipher[kind]);
        if (w->aead_request[kind] != NULL)
            aead_request_free(w->aead_request[kind]);
        if (w->aead[kind] != NULL)
            crypto_free_aead(w->aead[kind]);
        w->request[kind] = NULL;
        w->cipher[kind] = NULL;
        w->aead_request[kind] = NULL;
        w->aead[kind] = NULL;
    }
}

static int open_all(struct work *w, const struct operation *op, unsigned int bytes)
{
    unsigned int key_len = op->keys * key_bits / 8 + op->salt, i;
    char driver[CRYPTO_MAX_ALG_NAME];
    u8 raw[64 + 4];
    int err = 0, kind;

    w->op = op;
    w->len = round_down(bytes, op->unit);
    w->out = op->aead && op->decrypt ? page_address(w->out_pages) : w->in;
    for (i = 0; i < sizeof(raw); i++)
        raw[i] = i * 7 + 1;
    /* The first byte of an IV for the kernel's CCM is the size of the length field, less one. All
     * other bytes of the IVs are zeros. */
    memset(w->iv, 0, sizeof(w->iv));
    w->iv[0] = strncmp(op->name, "ccm", 3) == 0 ? 2 : 0;
    memset(w->core_iv, 0, sizeof(w->core_iv));
    entries(w->src, w, w->in_pages);
    entries(w->dst, w, w->out_pages);
    snprintf(driver, sizeof(driver), "%s-tenrounds-%s", op->driver, backend);
    for (kind = 0; kind < 2 && err == 0; kind++) {
        const char *name = kind == OURS ? driver : op->generic;

        err = op->aead ? open_aead(w, kind, name, raw, key_len)
                       : open_cipher(w, kind, name, raw, key_len);
        if (err != 0)
            pr_err("tenrounds_bench: %s: error %d\n", name, -err);
    }
    if (err == 0 && op->run != NULL &&
        op->set_key(w, tr_backend_by_name(backend), raw, key_len) != TR_OK)
        err = -EINVAL;
    return err;
}

/* ---- The report ---- */

static char *report;
static struct debugfs_blob_wrapper blob;
static struct dentry *file;

__printf(1, 2) static void say(const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    blob.size += vscnprintf(report + blob.size, REPORT - blob.size, format, ap);
    va_end(ap);
}

static void say_thousandths(const char *name, u64 value)
{
    u32 rest;
    u64 whole = div_u64_rem(value, 1000, &rest);

    say(", \"%s\": %llu.%03u", name, whole, rest);
}

static void say_samples(const struct work *w, const struct samples *s)
{
    unsigned int middle = rounds / 2, quarter = rounds / 4;

    say("{\"algorithm\": \"%s\", \"direction\": \"%s\", \"backend\": \"%s\", \"key_bits\": %u, "
        "\"bytes\": %u",
        w->op->name, w->op->decrypt ? "decrypt" : "encrypt", backend, key_bits, w->len);
    say_thousandths("ns", s->ps[OURS][middle]);
    say_thousandths("generic_ns", s->ps[GENERIC][middle]);
    say_thousandths("of_generic", s->of_generic[middle]);
    if (w->op->run != NULL) {
        say_thousandths("core_ns", s->ps[CORE][middle]);
        say_thousandths("of_core", s->of_core[middle]);
        say_thousandths("of_core_low", s->of_core[quarter]);
        say_thousandths("of_core_high", s->of_core[rounds - 1 - quarter]);
    }
    say(", \"rounds\": %u, \"disturbed\": %u}\n", rounds, s->disturbed);
}

static int measure_all(struct work *w, struct samples *s)
{
    unsigned int i, size;
    int err = 0;

    for (i = 0; i < ARRAY_SIZE(operations) && err == 0; i++) {
        if (!operations[i].main && !everything)
            continue;
        for (size = 0; size < sizes_count && err == 0; size++) {
            err = open_all(w, &operations[i], clamp_t(unsigned int, sizes[size], 16, MOST_BYTES));
            if (err == 0)
                err = measure(w, s);
            if (err == 0)
                say_samples(w, s);
            else
                pr_err("tenrounds_bench: %s, %u bytes: error %d\n", operations[i].name, w->len,
                       -err);
            close_all(w);
        }
    }
    return err;
}

static int __init bench_init(void)
{
    struct samples *s = vzalloc(sizeof(*s));
    struct work *w = kzalloc(sizeof(*w), GFP_KERNEL);
    int err = -ENOMEM;

    rounds = clamp(rounds, 1u, MOST_ROUNDS);
    report = vzalloc(REPORT);
    if (s == NULL || w == NULL || report == NULL)
        goto out;
    /* AAD and tag share a separate page, as in kernel code that uses AEADs. The core's key has
     * another page. */
    w->in_pages = alloc_pages(GFP_KERNEL | __GFP_ZERO, get_order(MOST_BYTES));
    w->out_pages = alloc_pages(GFP_KERNEL | __GFP_ZERO, get_order(MOST_BYTES));
    w->aad = (u8 *)get_zeroed_page(GFP_KERNEL);
    w->key = (union core_key *)get_zeroed_page(GFP_KERNEL);
    BUILD_BUG_ON(sizeof(union core_key) > PAGE_SIZE);
    if (w->in_pages != NULL && w->out_pages != NULL && w->aad != NULL && w->key != NULL) {
        w->in = page_address(w->in_pages);
        w->tag = w->aad + 64;
        err = tr_backend_by_name(backend) == NULL ? -EINVAL : measure_all(w, s);
    }
    if (w->in_pages != NULL)
        __free_pages(w->in_pages, get_order(MOST_BYTES));
    if (w->out_pages != NULL)
        __free_pages(w->out_pages, get_order(MOST_BYTES));
    free_page((unsigned long)w->aad);
    free_page((unsigned long)w->key);
    if (err == 0) {
        blob.data = report;
        file = debugfs_create_blob("tenrounds_bench", 0400, NULL, &blob);
    }
out:
    kfree(w);
    vfree(s);
    if (err != 0)
        vfree(report);
    return err;
}
module_init(bench_init);

static void __exit bench_exit(void)
{
    debugfs_remove(file);
    vfree(report);
}
module_exit(bench_exit);

MODULE_DESCRIPTION("Throughput of tenrounds inside the kernel");
MODULE_AUTHOR("The tenrounds authors");
MODULE_LICENSE("Dual BSD/GPL");
