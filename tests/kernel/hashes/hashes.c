/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Compares two MAC drivers, message by message, with random pieces:
 *
 *   insmod hashes.ko ours=cmac-aes-tenrounds-aesni theirs=cmac(aes-generic) seed=1 cases=1000
 *
 * Loading succeeds if both drivers computed the same tag for every message. The seed determines:
 *
 * - keys of 16, 24 and 32 bytes at any address (xcbc: 16, because newer kernels refuse others)
 * - lengths from 0 to 5 pages, at any address, in pieces of 0 bytes to the whole message
 * - the calls: digest(), or init() with update(), then final() or finup()
 * - exports of the state, which another request with another alignment imports
 *
 * Each call of our driver, except export and import, runs in one of three contexts: a plain task,
 * with softirqs disabled, or after kernel_fpu_begin(), where the kernel refuses the vector
 * registers. Around the tag, memory must stay unwritten.
 */
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/prandom.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <asm/fpu/api.h>
#include <crypto/hash.h>

static char *ours = "", *theirs = "";
static ulong seed = 1;
static uint cases = 100;
module_param(ours, charp, 0);
module_param(theirs, charp, 0);
module_param(seed, ulong, 0);
module_param(cases, uint, 0);

#define MAX_LEN (5 * 4096u)
#define TAG     16u
#define POISON  0xa5

enum { PLAIN, SOFTIRQ_OFF, WITHIN_FPU, CONTEXTS };
static u32 calls[CONTEXTS];

static struct rnd_state rnd;
static u8 *data;

static u32 below(u32 n)
{
    return n == 0 ? 0 : prandom_u32_state(&rnd) % n;
}

/* ---- One side: a driver and two requests ---- */

struct side {
    struct crypto_shash *tfm;
    void *memory[2];         /* for two requests, at addresses that are 0 and 8 modulo 16 */
    struct shash_desc *desc; /* the request in use */
    u8 tag[3 * TAG];         /* the tag is in the middle third */
};
static struct side side[2]; /* our driver, their driver */
static u8 state[1024];      /* several times as large as any exported state */

static u32 enter(bool is_ours)
{
    u32 context = is_ours && below(3) == 0 ? 1 + below(CONTEXTS - 1) : PLAIN;

    if (is_ours)
        calls[context]++;
    if (context == SOFTIRQ_OFF)
        local_bh_disable();
    if (context == WITHIN_FPU)
        kernel_fpu_begin();
    return context;
}

static void leave(u32 context)
{
    if (context == WITHIN_FPU)
        kernel_fpu_end();
    if (context == SOFTIRQ_OFF)
        local_bh_enable();
}

#define IN_CONTEXT(is_ours, call)                                                                  \
    ({                                                                                             \
        u32 context_ = enter(is_ours);                                                             \
        int err_ = (call);                                                                         \
                                                                                                   \
        leave(context_);                                                                           \
        err_;                                                                                      \
    })

static void use_request(struct side *s, u32 which)
{
    s->desc = (void *)((u8 *)PTR_ALIGN(s->memory[which], 16) + 8 * which);
    s->desc->tfm = s->tfm;
}

/* Exports the state, and continues with it in the other request. */
static int move(struct side *s)
{
    int err = crypto_shash_statesize(s->tfm) <= sizeof(state) ? crypto_shash_export(s->desc, state)
                                                              : -ENOSPC;

    memset(shash_desc_ctx(s->desc), POISON, crypto_shash_descsize(s->tfm));
    use_request(s, (u8 *)s->desc == (u8 *)PTR_ALIGN(s->memory[0], 16));
    return err != 0 ? err : crypto_shash_import(s->desc, state);
}

static int open_side(struct side *s, const char *driver)
{
    u32 i;

    s->tfm = crypto_alloc_shash(driver, 0, 0);
    if (IS_ERR(s->tfm))
        return PTR_ERR(s->tfm);
    if (strcmp(crypto_tfm_alg_driver_name(crypto_shash_tfm(s->tfm)), driver) != 0)
        return -ENOENT;
    for (i = 0; i < 2; i++) {
        s->memory[i] = kmalloc(sizeof(struct shash_desc) + HASH_MAX_DESCSIZE + 24, GFP_KERNEL);
        if (s->memory[i] == NULL)
            return -ENOMEM;
    }
    return 0;
}

static void close_side(struct side *s)
{
    kfree(s->memory[0]);
    kfree(s->memory[1]);
    if (!IS_ERR_OR_NULL(s->tfm))
        crypto_free_shash(s->tfm);
}

/* ---- One message ---- */

static int set_keys(void)
{
    static const u32 lens[] = {16, 24, 32};
    u8 raw[48];
    u32 at = below(16), len = lens[below(strncmp(ours, "xcbc", 4) == 0 ? 1 : 3)];
    int err;

    prandom_bytes_state(&rnd, raw, sizeof(raw));
    err = IN_CONTEXT(true, crypto_shash_setkey(side[0].tfm, raw + at, len));
    return err != 0 ? err : crypto_shash_setkey(side[1].tfm, raw + at, len);
}

static u32 any_length(void)
{
    switch (below(4)) {
    case 0:
        return below(100);
    case 1:
        return 16 * below(257);
    case 2:
        return 4096 * (1 + below(4)) + below(80) - 40;
    default:
        return below(MAX_LEN);
    }
}

static u32 piece_length(u32 left)
{
    switch (below(4)) {
    case 0:
        return below(min(left, 40u) + 1);
    case 1:
        return min(left, 16 * below(40));
    default:
        return below(left + 1);
    }
}

/* Computes the tag of one message in random pieces. The two drivers get different pieces, because
 * the tag must not depend on them. */
static int one_tag(struct side *s, const u8 *from, u32 len)
{
    bool is_ours = s == &side[0];
    u8 *tag = s->tag + TAG;
    int err;

    memset(s->tag, POISON, sizeof(s->tag));
    use_request(s, below(2));
    if (below(3) == 0)
        return IN_CONTEXT(is_ours, crypto_shash_digest(s->desc, from, len, tag));
    err = IN_CONTEXT(is_ours, crypto_shash_init(s->desc));
    while (err == 0 && len != 0 && below(8) != 0) {
        u32 n = piece_length(len);

        err = IN_CONTEXT(is_ours, crypto_shash_update(s->desc, from, n));
        from += n;
        len -= n;
        if (err == 0 && below(4) == 0)
            err = move(s);
    }
    if (err != 0)
        return err;
    return len == 0 && below(2) == 0
               ? IN_CONTEXT(is_ours, crypto_shash_final(s->desc, tag))
               : IN_CONTEXT(is_ours, crypto_shash_finup(s->desc, from, len, tag));
}

static int one_case(void)
{
    u32 len = any_length(), at = below(64);
    int err[2];

    err[0] = one_tag(&side[0], data + at, len);
    err[1] = one_tag(&side[1], data + at, len);
    if (err[0] != 0 || err[1] != 0) {
        pr_err("hashes: FAILED: %u bytes: ours returned %d, theirs %d\n", len, err[0], err[1]);
        return -EINVAL;
    }
    if (memcmp(side[0].tag, side[1].tag, sizeof(side[0].tag)) == 0)
        return 0;
    pr_err("hashes: FAILED: %u bytes at %u: ours %*phN, theirs %*phN\n", len, at, 3 * (int)TAG,
           side[0].tag, 3 * (int)TAG, side[1].tag);
    return -EINVAL;
}

static int all_cases(void)
{
    u32 i;
    int err = 0;

    for (i = 0; i < cases && err == 0; i++) {
        if (i == 0 || below(4) == 0)
            err = set_keys();
        if (err == 0)
            err = one_case();
        if (err != 0)
            pr_err("hashes: FAILED: %s: case %u, seed %lu: %d\n", ours, i, seed, err);
        cond_resched();
    }
    if (err == 0)
        pr_info("hashes: %s matches %s: %u cases, %u calls with softirqs off, %u within "
                "kernel_fpu_begin, seed %lu\n",
                ours, theirs, cases, calls[SOFTIRQ_OFF], calls[WITHIN_FPU], seed);
    return err;
}

static int __init hashes_init(void)
{
    int err, i;

    prandom_seed_state(&rnd, seed);
    data = kvmalloc(MAX_LEN + 64, GFP_KERNEL);
    err = data != NULL ? 0 : -ENOMEM;
    if (err == 0)
        prandom_bytes_state(&rnd, data, MAX_LEN + 64);
    for (i = 0; i < 2 && err == 0; i++) {
        err = open_side(&side[i], i == 0 ? ours : theirs);
        if (err != 0)
            pr_err("hashes: FAILED: cannot open %s: %d\n", i == 0 ? ours : theirs, err);
    }
    if (err == 0)
        err = all_cases();
    close_side(&side[0]);
    close_side(&side[1]);
    kvfree(data);
    return err;
}
module_init(hashes_init);

static void __exit hashes_exit(void) {}
module_exit(hashes_exit);

MODULE_DESCRIPTION("Test: compares two MAC drivers with messages in random pieces");
MODULE_LICENSE("Dual BSD/GPL");
