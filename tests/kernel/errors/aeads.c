/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Tests AEADs with bad input: keys, tags and AAD of any length, wrong tags, invalid IVs,
 * allocations that fail. */
#include "errors.h"

#include <crypto/aead.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/string.h>

#define MAX_KEY 40
#define MAX_TAG 20

static const struct pair gcm = {"gcm-aes", "generic-gcm-aesni"};
static const struct pair rfc4106 = {"rfc4106-gcm-aes", "rfc4106-gcm-aesni"};
static const struct pair ccm = {"ccm-aes", "ccm_base(ctr-aes-aesni,cbcmac(aes-aesni))"};

static struct crypto_aead *tfm[2];
static struct aead_request *request[2];
static struct scene scene[2];
static u8 iv[2][BLOCK];

static bool make(const struct pair *pair, int whose)
{
    char name[128];

    tfm[whose] = crypto_alloc_aead(driver_name(pair, whose, name), 0, 0);
    if (IS_ERR(tfm[whose])) {
        differ(driver_name(pair, whose, name), "cannot be opened (%ld)", PTR_ERR(tfm[whose]));
        return false;
    }
    request[whose] = aead_request_alloc(tfm[whose], GFP_KERNEL);
    return request[whose] != NULL;
}

static void unmake(int whose)
{
    aead_request_free(request[whose]);
    crypto_free_aead(tfm[whose]);
}

static unsigned int good_key_len(const struct pair *pair)
{
    return pair == &rfc4106 ? 20 : 16;
}

/* Sets the IV. CCM's first IV byte is the size of the length field less one. */
static void set_iv(const struct pair *pair, int whose, unsigned int first)
{
    fill(iv[whose], BLOCK, 77);
    if (pair == &ccm) {
        iv[whose][0] = first;
        memset(iv[whose] + BLOCK - min(first + 1, 8u), 0, min(first + 1, 8u));
    }
}

/* Makes one request from the scene and the IV. Checks that our driver wrote only the output. */
static int run(const struct pair *pair, int whose, bool decrypt, unsigned int aad, unsigned int len)
{
    DECLARE_CRYPTO_WAIT(wait);
    struct scene *s = &scene[whose];
    int err;

    s->may_copy = aad;
    aead_request_set_callback(request[whose], CRYPTO_TFM_REQ_MAY_SLEEP, crypto_req_done, &wait);
    aead_request_set_crypt(request[whose], s->from, s->to, len, iv[whose]);
    aead_request_set_ad(request[whose], aad);
    err = decrypt ? crypto_aead_decrypt(request[whose]) : crypto_aead_encrypt(request[whose]);
    err = crypto_wait_req(err, &wait);
    if (whose == OURS && !scene_intact(s))
        differ(pair->prefix,
               "%s of %u bytes, AAD of %u bytes, error %d: bytes outside the output were written",
               decrypt ? "decryption" : "encryption", len, aad, err);
    return err;
}

static int seal(const struct pair *pair, int whose, unsigned int aad, unsigned int len,
                bool scattered)
{
    scene_set(&scene[whose], aad + len, aad + len + crypto_aead_authsize(tfm[whose]), scattered,
              aad * 1000 + len);
    set_iv(pair, whose, 3);
    return run(pair, whose, false, aad, len);
}

static void seal_both(const struct pair *pair, unsigned int aad, unsigned int len, bool scattered)
{
    int ours = seal(pair, OURS, aad, len, scattered);
    int theirs = seal(pair, THEIRS, aad, len, scattered);

    same_error(pair, ours, theirs, "%u bytes, AAD of %u bytes", len, aad);
    if (ours == 0 && theirs == 0 &&
        memcmp(scene_out(&scene[OURS]) + aad, scene_out(&scene[THEIRS]) + aad,
               len + crypto_aead_authsize(tfm[OURS])) != 0)
        differ(pair->prefix, "%u bytes, AAD of %u bytes: the output differs", len, aad);
}

static void test_keys(const struct pair *pair)
{
    u8 key[MAX_KEY];
    unsigned int len;

    seal_both(pair, 16, BLOCK, false); /* no key was set */
    for (len = 0; len <= MAX_KEY; len++) {
        fill(key, len, len);
        same_error(pair, crypto_aead_setkey(tfm[OURS], key, len),
                   crypto_aead_setkey(tfm[THEIRS], key, len), "key of %u bytes", len);
        seal_both(pair, 16, BLOCK, false);
    }
}

static void set_good_keys(const struct pair *pair)
{
    u8 key[MAX_KEY];

    fill(key, sizeof(key), 3);
    same_error(pair, crypto_aead_setkey(tfm[OURS], key, good_key_len(pair)),
               crypto_aead_setkey(tfm[THEIRS], key, good_key_len(pair)), "a good key");
}

/* Sets the tag size of both transforms. Returns whether they accept it. */
static bool set_tag_len(const struct pair *pair, unsigned int size)
{
    int ours = crypto_aead_setauthsize(tfm[OURS], size);
    int theirs = crypto_aead_setauthsize(tfm[THEIRS], size);

    same_error(pair, ours, theirs, "tags of %u bytes", size);
    return ours == 0 && theirs == 0;
}

static void test_lengths(const struct pair *pair)
{
    static const unsigned int lens[] = {
        0, 1, 15, 16, 17, 32, 63, 257, PAGE_SIZE - 1, PAGE_SIZE + 1};
    static const unsigned int aads[] = {0, 1, 7, 8, 12, 15, 16, 17, 19, 20, 21, 24, 40, 300};
    unsigned int i, j;

    for (i = 0; i < ARRAY_SIZE(lens); i++) {
        for (j = 0; j < ARRAY_SIZE(aads); j++) {
            seal_both(pair, aads[j], lens[i], false);
            seal_both(pair, aads[j], lens[i], true);
        }
    }
}

/* Decrypts len bytes, tag included. First changes byte number `wrong` of the message, counted from
 * 1 at the start of the AAD, or no byte if `wrong` is 0. */
static int open(const struct pair *pair, int whose, const u8 *sealed, unsigned int aad,
                unsigned int len, unsigned int wrong)
{
    unsigned int size = crypto_aead_authsize(tfm[whose]);

    scene_set(&scene[whose], aad + len, aad + (len > size ? len - size : 0), wrong % 2 == 0, 1);
    memcpy(scene_in(&scene[whose]), sealed, aad + len);
    if (wrong != 0)
        scene_in(&scene[whose])[wrong - 1] ^= 1 << wrong % 8;
    set_iv(pair, whose, 3);
    return run(pair, whose, true, aad, len);
}

/* Changes each byte of AAD, data and tag in turn. Then truncates the message to each length. */
static void test_wrong(const struct pair *pair, unsigned int size)
{
    const unsigned int aad = 16, len = 21, whole = aad + len + size;
    u8 sealed[128];
    unsigned int i;
    int ours, theirs;

    if (seal(pair, OURS, aad, len, false) != 0) {
        differ(pair->prefix, "cannot seal");
        return;
    }
    memcpy(sealed, scene_out(&scene[OURS]), whole);
    memcpy(sealed, scene_in(&scene[OURS]), aad);
    for (i = 0; i <= whole; i++) {
        ours = open(pair, OURS, sealed, aad, len + size, i);
        theirs = open(pair, THEIRS, sealed, aad, len + size, i);
        same_error(pair, ours, theirs, "byte %u wrong, tag of %u bytes", i, size);
        /* In rfc4106, the last 8 bytes of AAD are for the IV, and are not authenticated. */
        if ((ours == -EBADMSG) == (i == 0 || (pair == &rfc4106 && i > 8 && i <= aad)))
            differ(pair->prefix, "byte %u wrong, tag of %u bytes: our driver returned %d", i, size,
                   ours);
    }
    for (i = 0; i < len + size; i++)
        same_error(pair, open(pair, OURS, sealed, aad, i, 0), open(pair, THEIRS, sealed, aad, i, 0),
                   "%u bytes with a tag of %u bytes", i, size);
}

static void test_tags(const struct pair *pair)
{
    unsigned int size;

    for (size = 0; size <= MAX_TAG; size++) {
        if (set_tag_len(pair, size))
            test_wrong(pair, size);
    }
    if (!set_tag_len(pair, BLOCK))
        differ(pair->prefix, "refuses a tag of 16 bytes");
}

/* Tests CCM with every kind of first IV byte, including invalid ones. */
static void test_ccm_iv(void)
{
    unsigned int first, decrypt, whose;
    int err[2];

    for (first = 0; first < 256; first += first < 9 ? 1 : 50) {
        for (decrypt = 0; decrypt < 2; decrypt++) {
            for (whose = OURS; whose <= THEIRS; whose++) {
                scene_set(&scene[whose], 20 + BLOCK, decrypt ? 20 : 20 + 2 * BLOCK, false, first);
                set_iv(&ccm, whose, first);
                err[whose] = run(&ccm, whose, decrypt, 20, BLOCK);
            }
            same_error(&ccm, err[OURS], err[THEIRS], "IV that begins with %u", first);
        }
    }
}

/* Encrypts len bytes of CCM in place, with a length field of 2 bytes. All scatterlist entries are
 * the same page, because the contents do not matter. */
static int run_long(int whose, unsigned int len)
{
    DECLARE_CRYPTO_WAIT(wait);
    static struct scatterlist pages[20];
    unsigned int i;

    sg_init_table(pages, ARRAY_SIZE(pages));
    for (i = 0; i < ARRAY_SIZE(pages); i++)
        sg_set_buf(&pages[i], scene[whose].in, PAGE_SIZE);
    set_iv(&ccm, whose, 1);
    aead_request_set_callback(request[whose], CRYPTO_TFM_REQ_MAY_SLEEP, crypto_req_done, &wait);
    aead_request_set_crypt(request[whose], pages, pages, len, iv[whose]);
    aead_request_set_ad(request[whose], 0);
    return crypto_wait_req(crypto_aead_encrypt(request[whose]), &wait);
}

/* Tests CCM messages too long for a length field of 2 bytes, and the longest message that fits.
 * Omits 65536 bytes, because the kernel's driver accepts them and computes the tag for length 0. */
static void test_ccm_too_long(void)
{
    static const unsigned int lens[] = {65535, 65537, 65600};
    unsigned int i;

    for (i = 0; i < ARRAY_SIZE(lens); i++)
        same_error(&ccm, run_long(OURS, lens[i]), run_long(THEIRS, lens[i]),
                   "%u bytes with a length field of 2 bytes", lens[i]);
}

/* Repeats one request. In run n, the nth allocation fails. Ends with the first run that makes fewer
 * than n allocations. Returns the number of failed allocations. */
static unsigned int starve(const struct pair *pair, int whose, unsigned int aad, unsigned int len)
{
    static u8 wanted[ROOM];
    unsigned int nth, kept, failed = 0;
    int err = seal(pair, whose, aad, len, true);

    memcpy(wanted, scene_out(&scene[whose]), scene[whose].out_len);
    for (nth = 1;; nth++) {
        bool hit;

        starve_begin(nth);
        err = seal(pair, whose, aad, len, true);
        hit = starve_end(&kept);
        failed += hit;
        cases++;
        if (kept != 0)
            differ(pair->prefix, "allocation %u fails, %u bytes: %u allocations were not freed",
                   nth, len, kept);
        if (err != 0 && (err != -ENOMEM || !hit))
            differ(pair->prefix, "allocation %u fails, %u bytes: the request returned %d", nth, len,
                   err);
        if (err == 0 &&
            memcmp(wanted + aad, scene_out(&scene[whose]) + aad, scene[whose].out_len - aad) != 0)
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
    for (nth = 1;; nth++) {
        struct crypto_aead *one;
        int err;
        bool hit;

        driver_name(pair, whose, name);
        starve_begin(nth);
        one = crypto_alloc_aead(whose == OURS ? name : pair->theirs, 0, 0);
        err = PTR_ERR_OR_ZERO(one);
        if (err == 0) {
            err = crypto_aead_setkey(one, key + 1, good_key_len(pair));
            crypto_free_aead(one);
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
    unsigned int whose, failed[2] = {0, 0}, made[2];

    for (whose = OURS; whose <= THEIRS; whose++) {
        failed[whose] += starve(pair, whose, 16, 100);
        failed[whose] += starve(pair, whose, 20, 3000);
        made[whose] = starve_making(pair, whose);
    }
    pr_info("%s: allocations that were made to fail: ours %u in requests, %u for a transform; "
            "theirs %u, %u\n",
            pair->prefix, failed[OURS], made[OURS], failed[THEIRS], made[THEIRS]);
    if (made[OURS] == 0 || made[THEIRS] == 0)
        differ(pair->prefix,
               "in one driver's setup no allocation was made to fail: the probes do not work");
}

static void test(const struct pair *pair)
{
    if (!make(pair, OURS) || !make(pair, THEIRS))
        return;
    test_keys(pair);
    set_good_keys(pair);
    test_tags(pair);
    test_lengths(pair);
    if (pair == &ccm) {
        test_ccm_iv();
        test_ccm_too_long();
    }
    test_starved(pair);
    unmake(OURS);
    unmake(THEIRS);
}

void test_aeads(void)
{
    if (!scene_make(&scene[OURS]) || !scene_make(&scene[THEIRS])) {
        differ("aeads", "no memory");
        return;
    }
    test(&gcm);
    test(&rfc4106);
    test(&ccm);
    scene_free(&scene[OURS]);
    scene_free(&scene[THEIRS]);
}
