/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Tests skciphers with bad input: keys of any length, weak keys, data of any length, allocations
 * that fail. */
#include "errors.h"

#include <crypto/skcipher.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/string.h>

#define MAX_KEY 72

static const struct pair pairs[] = {
    {"ecb-aes", "ecb-aes-aesni"},   {"cbc-aes", "cbc-aes-aesni"},
    {"ctr-aes", "ctr-aes-aesni"},   {"cts-cbc-aes", "cts-cbc-aes-aesni"},
    {"xctr-aes", "xctr-aes-aesni"}, {"xts-aes", "xts-aes-aesni"},
};

static struct crypto_skcipher *tfm[2];
static struct skcipher_request *request[2];
static struct scene scene[2];
static u8 iv[2][BLOCK];

static int set_key(int whose, const u8 *key, unsigned int len, u32 flags)
{
    crypto_skcipher_clear_flags(tfm[whose], CRYPTO_TFM_REQ_MASK);
    crypto_skcipher_set_flags(tfm[whose], flags);
    return crypto_skcipher_setkey(tfm[whose], key, len);
}

static unsigned int good_key_len(int whose)
{
    return crypto_skcipher_min_keysize(tfm[whose]);
}

static bool make(const struct pair *pair, int whose)
{
    char name[128];

    tfm[whose] = crypto_alloc_skcipher(driver_name(pair, whose, name), 0, 0);
    if (IS_ERR(tfm[whose])) {
        differ(driver_name(pair, whose, name), "cannot be opened (%ld)", PTR_ERR(tfm[whose]));
        return false;
    }
    request[whose] = skcipher_request_alloc(tfm[whose], GFP_KERNEL);
    return request[whose] != NULL;
}

static void unmake(int whose)
{
    skcipher_request_free(request[whose]);
    crypto_free_skcipher(tfm[whose]);
}

/* Makes one request of len bytes. Checks that our driver wrote only the output. */
static int crypt(const struct pair *pair, int whose, bool decrypt, unsigned int len, bool scattered)
{
    DECLARE_CRYPTO_WAIT(wait);
    struct scene *s = &scene[whose];
    int err;

    scene_set(s, len, len, scattered, len);
    fill(iv[whose], BLOCK, ~len);
    skcipher_request_set_callback(request[whose], CRYPTO_TFM_REQ_MAY_SLEEP, crypto_req_done, &wait);
    skcipher_request_set_crypt(request[whose], s->from, s->to, len, iv[whose]);
    err =
        decrypt ? crypto_skcipher_decrypt(request[whose]) : crypto_skcipher_encrypt(request[whose]);
    err = crypto_wait_req(err, &wait);
    if (whose == OURS && !scene_intact(s))
        differ(pair->prefix, "%u bytes, error %d: bytes outside the output were written", len, err);
    return err;
}

/* Whether a request leaves the IV for the next request. XTS and CTS leave an unspecified IV. */
static bool chains(const struct pair *pair)
{
    return strcmp(pair->prefix, "xts-aes") != 0 && strcmp(pair->prefix, "cts-cbc-aes") != 0;
}

/* Makes the same request with both drivers. Compares the errno and, on success, output and IV. */
static void crypt_both(const struct pair *pair, bool decrypt, unsigned int len, bool scattered)
{
    int ours = crypt(pair, OURS, decrypt, len, scattered);
    int theirs = crypt(pair, THEIRS, decrypt, len, scattered);

    same_error(pair, ours, theirs, "%u bytes%s", len, decrypt ? ", decryption" : "");
    if (ours != 0 || theirs != 0)
        return;
    if (memcmp(scene_out(&scene[OURS]), scene_out(&scene[THEIRS]), len) != 0)
        differ(pair->prefix, "%u bytes: the output differs", len);
    if (chains(pair) && memcmp(iv[OURS], iv[THEIRS], BLOCK) != 0)
        differ(pair->prefix, "%u bytes: the IV differs afterwards", len);
}

static void test_keys(const struct pair *pair)
{
    u8 key[MAX_KEY];
    unsigned int len, equal;

    for (equal = 0; equal < 2; equal++) {
        for (len = 0; len <= MAX_KEY; len++) {
            fill(key, len, len);
            if (equal)
                memcpy(key + len / 2, key, len / 2);
            same_error(pair, set_key(OURS, key, len, 0), set_key(THEIRS, key, len, 0),
                       "key of %u bytes%s", len, equal ? ", equal halves" : "");
            same_error(pair, set_key(OURS, key, len, CRYPTO_TFM_REQ_FORBID_WEAK_KEYS),
                       set_key(THEIRS, key, len, CRYPTO_TFM_REQ_FORBID_WEAK_KEYS),
                       "key of %u bytes%s, weak keys forbidden", len,
                       equal ? ", equal halves" : "");
            /* Checks the state after a refused or accepted key. */
            crypt_both(pair, false, 2 * BLOCK, false);
        }
    }
}

static void test_lengths(const struct pair *pair)
{
    u8 key[MAX_KEY];
    unsigned int len, decrypt, scattered, which;

    fill(key, sizeof(key), 1);
    for (which = 1; which <= 2; which++) { /* the shortest valid key, and one twice as long */
        unsigned int key_len = which * good_key_len(THEIRS);

        same_error(pair, set_key(OURS, key, key_len, 0), set_key(THEIRS, key, key_len, 0), "key");
        for (decrypt = 0; decrypt < 2; decrypt++) {
            for (scattered = 0; scattered < 2; scattered++) {
                for (len = 0; len <= 3 * BLOCK + 1; len++)
                    crypt_both(pair, decrypt, len, scattered);
                for (len = PAGE_SIZE - BLOCK - 1; len <= PAGE_SIZE + BLOCK + 1; len += 3)
                    crypt_both(pair, decrypt, len, scattered);
            }
        }
    }
}

/* Repeats one request. In run n, the nth allocation fails. Ends with the first run that makes fewer
 * than n allocations. Returns the number of failed allocations. */
static unsigned int starve(const struct pair *pair, int whose, unsigned int len)
{
    static u8 wanted[PAGE_SIZE];
    unsigned int nth, kept, failed = 0;
    int err = crypt(pair, whose, false, len, true);

    memcpy(wanted, scene_out(&scene[whose]), len);
    for (nth = 1;; nth++) {
        bool hit;

        starve_begin(nth);
        err = crypt(pair, whose, false, len, true);
        hit = starve_end(&kept);
        failed += hit;
        cases++;
        if (kept != 0)
            differ(pair->prefix, "allocation %u fails, %u bytes: %u allocations were not freed",
                   nth, len, kept);
        if (err != 0 && (err != -ENOMEM || !hit))
            differ(pair->prefix, "allocation %u fails, %u bytes: the request returned %d", nth, len,
                   err);
        if (err == 0 && memcmp(wanted, scene_out(&scene[whose]), len) != 0)
            differ(pair->prefix, "allocation %u fails, %u bytes: the output is wrong", nth, len);
        if (!hit)
            return failed;
    }
}

/* Like starve(), for the creation of a transform and the setting of its key. */
static unsigned int starve_making(const struct pair *pair, int whose)
{
    char name[128];
    u8 key[MAX_KEY];
    unsigned int nth, kept;

    fill(key, sizeof(key), 2);
    driver_name(pair, whose, name);
    for (nth = 1;; nth++) {
        struct crypto_skcipher *one;
        int err;
        bool hit;

        starve_begin(nth);
        one = crypto_alloc_skcipher(driver_name(pair, whose, name), 0, 0);
        err = PTR_ERR_OR_ZERO(one);
        if (err == 0) {
            err = crypto_skcipher_setkey(one, key + 1, crypto_skcipher_min_keysize(one));
            crypto_free_skcipher(one);
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

static void test_starved(const struct pair *pair)
{
    static const unsigned int lens[] = {2 * BLOCK, 8 * BLOCK, 2000 - 2000 % BLOCK};
    u8 key[MAX_KEY];
    unsigned int i, whose, failed[2] = {0, 0}, made[2];

    fill(key, sizeof(key), 1);
    for (whose = OURS; whose <= THEIRS; whose++) {
        if (set_key(whose, key, good_key_len(whose), 0) != 0)
            differ(pair->prefix, "a key was refused");
        for (i = 0; i < ARRAY_SIZE(lens); i++)
            failed[whose] += starve(pair, whose, lens[i]);
        made[whose] = starve_making(pair, whose);
    }
    pr_info("%s: allocations that were made to fail: ours %u in requests, %u for a transform; "
            "theirs %u, %u\n",
            pair->prefix, failed[OURS], made[OURS], failed[THEIRS], made[THEIRS]);
    if (made[OURS] == 0 || made[THEIRS] == 0)
        differ(pair->prefix, "no allocation was made to fail: the probes do not work");
}

void test_ciphers(void)
{
    unsigned int i;

    if (!scene_make(&scene[OURS]) || !scene_make(&scene[THEIRS])) {
        differ("ciphers", "no memory");
        return;
    }
    for (i = 0; i < ARRAY_SIZE(pairs); i++) {
        if (!make(&pairs[i], OURS) || !make(&pairs[i], THEIRS))
            break;
        crypt_both(&pairs[i], false, BLOCK, false); /* no key was set */
        test_keys(&pairs[i]);
        test_lengths(&pairs[i]);
        test_starved(&pairs[i]);
        unmake(OURS);
        unmake(THEIRS);
    }
    scene_free(&scene[OURS]);
    scene_free(&scene[THEIRS]);
}
