/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Tests MACs with bad input: no key, keys of any length, allocations that fail. */
#include "errors.h"

#include <crypto/hash.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/string.h>

#define MAX_KEY 40

static const struct pair pairs[] = {
    {"cmac-aes", "cmac(aes-aesni)"},
    {"xcbc-aes", "xcbc(aes-aesni)"},
};

static struct crypto_shash *tfm[2];

static bool make(const struct pair *pair, int whose)
{
    char name[128];

    tfm[whose] = crypto_alloc_shash(driver_name(pair, whose, name), 0, 0);
    if (!IS_ERR(tfm[whose]))
        return true;
    differ(driver_name(pair, whose, name), "cannot be opened (%ld)", PTR_ERR(tfm[whose]));
    return false;
}

/* Computes the tag of `len` bytes. */
static int tag_of(int whose, const u8 *from, unsigned int len, u8 tag[BLOCK])
{
    SHASH_DESC_ON_STACK(desc, tfm[whose]);
    int err;

    desc->tfm = tfm[whose];
    err = crypto_shash_digest(desc, from, len, tag);
    shash_desc_zero(desc);
    return err;
}

static void tag_both(const struct pair *pair, const char *what)
{
    u8 from[3 * BLOCK + 1], tag[2][BLOCK] = {{0}};
    int err[2], whose;

    fill(from, sizeof(from), 5);
    for (whose = OURS; whose <= THEIRS; whose++)
        err[whose] = tag_of(whose, from, sizeof(from), tag[whose]);
    same_error(pair, err[OURS], err[THEIRS], "a tag %s", what);
    if (memcmp(tag[OURS], tag[THEIRS], BLOCK) != 0)
        differ(pair->prefix, "%s: the tags differ", what);
}

static void test_keys(const struct pair *pair)
{
    u8 key[MAX_KEY];
    unsigned int len;

    tag_both(pair, "without a key");
    for (len = 0; len <= MAX_KEY; len++) {
        fill(key, len, len);
        same_error(pair, crypto_shash_setkey(tfm[OURS], key, len),
                   crypto_shash_setkey(tfm[THEIRS], key, len), "key of %u bytes", len);
        tag_both(pair, "after a key of any length");
    }
}

/* Repeats the creation of a transform and the setting of its key. In run n, the nth allocation
 * fails. Returns the number of failed allocations. */
static unsigned int starve_making(const struct pair *pair, int whose)
{
    char name[128];
    u8 key[MAX_KEY];
    unsigned int nth, kept;

    fill(key, sizeof(key), 2);
    for (nth = 1;; nth++) {
        struct crypto_shash *one;
        int err;
        bool hit;

        starve_begin(nth);
        one = crypto_alloc_shash(driver_name(pair, whose, name), 0, 0);
        err = PTR_ERR_OR_ZERO(one);
        if (err == 0) {
            err = crypto_shash_setkey(one, key + 1, BLOCK);
            crypto_free_shash(one);
        }
        hit = starve_end(&kept);
        cases++;
        if (err != (hit ? -ENOMEM : 0) || kept != 0)
            differ(pair->prefix,
                   "allocation %u fails in setup: returned %d, %u allocations were not freed", nth,
                   err, kept);
        if (!hit)
            return nth - 1;
    }
}

void test_hashes(void)
{
    unsigned int i, made[2];

    for (i = 0; i < ARRAY_SIZE(pairs); i++) {
        if (!make(&pairs[i], OURS) || !make(&pairs[i], THEIRS))
            return;
        test_keys(&pairs[i]);
        made[OURS] = starve_making(&pairs[i], OURS);
        made[THEIRS] = starve_making(&pairs[i], THEIRS);
        pr_info("%s: allocations that were made to fail: ours %u for a transform; theirs %u\n",
                pairs[i].prefix, made[OURS], made[THEIRS]);
        if (made[OURS] == 0 || made[THEIRS] == 0)
            differ(pairs[i].prefix, "no allocation was made to fail: the probes do not work");
        crypto_free_shash(tfm[OURS]);
        crypto_free_shash(tfm[THEIRS]);
    }
}
