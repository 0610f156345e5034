/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Compares two drivers, request by request, with scatterlists of random shapes:
 *
 *   insmod shapes.ko kind=xts ours=xts-aes-tenrounds-aesni theirs=xts(ecb(aes-generic))
 *                    seed=1 cases=1000
 *
 * Loading succeeds if both drivers gave the same result for every request. Both drivers get the
 * same request and the same memory contents. The return values must agree. After a success, the IV
 * (in CBC and CTR) and all memory, even outside the pieces, must agree, too.
 *
 * The seed determines:
 *
 * - lengths from 0 to 5 pages, including lengths that the mode refuses
 * - pieces of 1 byte to several pages, at any offset and in any order, some ending at page ends
 * - chained scatterlists, and lists that are longer than the data
 * - in-place requests with one list or with two lists of the same memory, and out-of-place requests
 * - unaligned keys and IVs, AAD in pieces, wrong tags, counters that wrap
 *
 * Our driver runs in three contexts: a plain task, with softirqs disabled, and after
 * kernel_fpu_begin(), where the kernel refuses the vector registers.
 */
#include <linux/err.h>
#include <linux/gfp.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/prandom.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <asm/fpu/api.h>
#include <crypto/aead.h>
#include <crypto/skcipher.h>

static char *kind = "", *ours = "", *theirs = "";
static ulong seed = 1;
static uint cases = 100;
module_param(kind, charp, 0);
module_param(ours, charp, 0);
module_param(theirs, charp, 0);
module_param(seed, ulong, 0);
module_param(cases, uint, 0);

/* An arena is the memory in which the pieces of a scatterlist lie. */
#define ORDER     4
#define ARENA     (PAGE_SIZE << ORDER)
#define PIECES    48u
#define MAX_LEN   (5 * 4096u)
#define MAX_AAD   (2 * 4096u)
#define MAX_TOTAL (MAX_LEN + MAX_AAD + 16)

enum { ECB, CBC, CTS, CTR, XCTR, XTS, GCM, RFC4106, CCM, KINDS };
static const char *const kinds[KINDS] = {"ecb", "cbc", "cts",     "ctr", "xctr",
                                         "xts", "gcm", "rfc4106", "ccm"};
static int k;

enum { PLAIN, SOFTIRQ_OFF, WITHIN_FPU, CONTEXTS };
enum { OUT_OF_PLACE, SAME_LIST, SAME_MEMORY, PLACES };

static struct rnd_state rnd;

static u32 below(u32 n)
{
    return n == 0 ? 0 : prandom_u32_state(&rnd) % n;
}

static u32 between(u32 low, u32 high)
{
    return low + below(high - low + 1);
}

static bool one_in(u32 n)
{
    return below(n) == 0;
}

/* ---- Shapes ---- */

struct shape {
    /* The number of pieces, and the offset in the arena after the last piece that was placed. */
    u32 count, end;
    struct {
        u32 at, len;
    } piece[PIECES + 1];
};

static u32 piece_length(u32 style)
{
    switch (style) {
    case 0:
        return MAX_TOTAL;
    case 1:
        return between(1, 17);
    case 2:
        return between(1, 100);
    case 3:
        return 16 * between(1, 20);
    case 4:
        return between(1, 5000);
    default:
        return piece_length(between(1, 4));
    }
}

static void shuffle(struct shape *s)
{
    u32 i;

    for (i = s->count; i > 1; i--) {
        u32 other = below(i); /* swap() would evaluate below(i) twice */

        swap(s->piece[i - 1], s->piece[other]);
    }
}

/* Makes a random shape of `total` bytes. */
static void make_shape(struct shape *s, u32 total)
{
    u32 style = below(6), at = below(64), left = total;
    bool page_ends = one_in(3);

    s->count = 0;
    while (left != 0) {
        u32 len = min(left, piece_length(style));

        if (s->count == PIECES - 1)
            len = left;
        /* Moves the piece so that it ends at a page end, if the arena has room for that. */
        if (page_ends && at + len + 2 * PAGE_SIZE + left < ARENA)
            at = round_up(at + len, PAGE_SIZE) - len;
        s->piece[s->count].at = at;
        s->piece[s->count].len = len;
        s->count++;
        left -= len;
        at += len;
        if (at + left + 128 < ARENA)
            at += below(64);
    }
    s->end = at;
    if (one_in(2))
        shuffle(s);
}

struct list {
    struct scatterlist first[PIECES + 3], second[PIECES + 3];
};

/* Makes the scatterlist of a shape over an arena. Piece number `split` begins a chained table; 0
 * means that there is no chained table. */
static struct scatterlist *make_list(struct list *list, const struct shape *s, u8 *arena, u32 split)
{
    struct scatterlist *sg = list->first;
    u32 i;

    if (s->count == 0) {
        sg_init_one(sg, arena, 1);
        return list->first;
    }
    sg_init_table(sg, split != 0 ? split + 1 : s->count);
    for (i = 0; i < s->count; i++) {
        u8 *at = arena + s->piece[i].at;

        if (split != 0 && i == split) {
            sg_init_table(list->second, s->count - split);
            sg_chain(list->first, split + 1, list->second);
            sg = list->second;
        }
        sg_set_page(sg++, virt_to_page(at), s->piece[i].len, offset_in_page(at));
    }
    return list->first;
}

/* scatter() copies bytes into the pieces of a shape. gather() copies bytes out of the pieces. */
static void scatter(u8 *arena, const struct shape *s, const u8 *from, u32 len)
{
    u32 i;

    for (i = 0; i < s->count && len != 0; i++) {
        u32 n = min(len, s->piece[i].len);

        memcpy(arena + s->piece[i].at, from, n);
        from += n;
        len -= n;
    }
}

static void gather(u8 *to, const u8 *arena, const struct shape *s, u32 len)
{
    u32 i;

    for (i = 0; i < s->count && len != 0; i++) {
        u32 n = min(len, s->piece[i].len);

        memcpy(to, arena + s->piece[i].at, n);
        to += n;
        len -= n;
    }
}

/* ---- One side: a driver and its memory ---- */

struct side {
    struct crypto_skcipher *skcipher;
    struct crypto_aead *aead;
    struct skcipher_request *skcipher_request;
    struct aead_request *aead_request;
    struct crypto_wait wait;
    struct list source_list, target_list;
    u8 *source, *target; /* arenas */
    u8 iv[32];
};

static struct side side[2]; /* our driver, their driver */
static u8 *pattern;         /* random bytes, with which arenas are filled */
static u8 *message, *mixed; /* MAX_TOTAL bytes each */

static bool is_aead(void)
{
    return k >= GCM;
}

static u32 iv_size(void)
{
    return is_aead() ? crypto_aead_ivsize(side[0].aead) : crypto_skcipher_ivsize(side[0].skcipher);
}

/* Whether the kernel interface defines the IV after a request. */
static bool iv_counts(void)
{
    return k == CBC || k == CTR;
}

struct request {
    bool decrypt, may_sleep, wrong_tag;
    u32 place, context, len, aad, tag, iv_at, split[2];
    u8 iv[16];
    struct shape source, target;
};

/* Makes the request with one driver, in the given context. */
static int call(struct side *s, const struct request *r, struct scatterlist *source,
                struct scatterlist *target, u8 *iv, u32 context)
{
    u32 flags = r->may_sleep && context == PLAIN ? CRYPTO_TFM_REQ_MAY_SLEEP : 0;
    int err;

    if (context == SOFTIRQ_OFF)
        local_bh_disable();
    if (context == WITHIN_FPU)
        kernel_fpu_begin();
    if (is_aead()) {
        aead_request_set_callback(s->aead_request, flags, crypto_req_done, &s->wait);
        aead_request_set_crypt(s->aead_request, source, target, r->len, iv);
        aead_request_set_ad(s->aead_request, r->aad);
        err = r->decrypt ? crypto_aead_decrypt(s->aead_request)
                         : crypto_aead_encrypt(s->aead_request);
    } else {
        skcipher_request_set_callback(s->skcipher_request, flags, crypto_req_done, &s->wait);
        skcipher_request_set_crypt(s->skcipher_request, source, target, r->len, iv);
        err = r->decrypt ? crypto_skcipher_decrypt(s->skcipher_request)
                         : crypto_skcipher_encrypt(s->skcipher_request);
    }
    if (context == WITHIN_FPU)
        kernel_fpu_end();
    if (context == SOFTIRQ_OFF)
        local_bh_enable();
    return err;
}

static int run(struct side *s, const struct request *r, u32 context)
{
    struct scatterlist *source, *target;

    source = make_list(&s->source_list, &r->source, s->source, r->split[0]);
    if (r->place == SAME_LIST)
        target = source;
    else
        target = make_list(&s->target_list, &r->target,
                           r->place == SAME_MEMORY ? s->source : s->target, r->split[1]);
    memset(s->iv, 0x77, sizeof(s->iv));
    memcpy(s->iv + r->iv_at, r->iv, iv_size());
    return call(s, r, source, target, s->iv + r->iv_at, context);
}

/* ---- One case ---- */

static u32 any_length(void)
{
    switch (below(5)) {
    case 0:
    case 1:
        return below(100);
    case 2:
        return between(1, 4) * 4096 + between(0, 80) - 40;
    case 3:
        return 16 * below(257);
    default:
        return below(MAX_LEN);
    }
}

static u32 data_length(void)
{
    u32 len = any_length();

    if (one_in(20))
        return len;
    if (k == ECB || k == CBC)
        return round_down(len, 16);
    if (k == CTS || k == XTS)
        return max(len, 16u);
    return len;
}

static u32 aad_length(void)
{
    if (k == RFC4106)
        return one_in(2) ? 16 : 20;
    return one_in(8) ? below(MAX_AAD) : one_in(4) ? 0 : below(80);
}

static void describe(const char *what, const struct request *r, int err, int reference)
{
    u32 i;

    pr_err("shapes: FAILED: %s: %s of %u bytes, aad %u, tag %u, place %u, context %u, returned %d "
           "and %d, IV %*phN at %u\n",
           what, r->decrypt ? "decryption" : "encryption", r->len, r->aad, r->tag, r->place,
           r->context, err, reference, (int)iv_size(), r->iv, r->iv_at);
    for (i = 0; i < r->source.count; i++)
        pr_err("shapes:   source %u: %u bytes at %u\n", i, r->source.piece[i].len,
               r->source.piece[i].at);
    for (i = 0; r->place != SAME_LIST && i < r->target.count; i++)
        pr_err("shapes:   target %u: %u bytes at %u\n", i, r->target.piece[i].len,
               r->target.piece[i].at);
}

static int set_key(void)
{
    static u8 raw[80];
    static const u32 aes[] = {16, 24, 32};
    u32 at = below(16), len = aes[below(3)], i;
    int err = 0;

    prandom_bytes_state(&rnd, raw, sizeof(raw));
    if (k == XTS)
        len = one_in(2) ? 64 : 32;
    if (k == RFC4106)
        len += 4;
    for (i = 0; i < 2 && err == 0; i++)
        err = is_aead() ? crypto_aead_setkey(side[i].aead, raw + at, len)
                        : crypto_skcipher_setkey(side[i].skcipher, raw + at, len);
    if (err != 0)
        pr_err("shapes: FAILED: %s refuses a key of %u bytes: %d\n", i == 1 ? ours : theirs, len,
               err);
    return err;
}

static int set_tag(u32 *tag)
{
    static const u32 gcm[] = {4, 8, 12, 13, 14, 15, 16}, rfc4106[] = {8, 12, 16};
    u32 i;
    int err = 0;

    *tag = k == GCM       ? gcm[below(ARRAY_SIZE(gcm))]
           : k == RFC4106 ? rfc4106[below(ARRAY_SIZE(rfc4106))]
                          : 2 * between(2, 8);
    for (i = 0; i < 2 && err == 0; i++)
        err = crypto_aead_setauthsize(side[i].aead, *tag);
    if (err != 0)
        pr_err("shapes: FAILED: %s refuses a tag of %u bytes: %d\n", i == 1 ? ours : theirs, *tag,
               err);
    return err;
}

static void make_iv(struct request *r)
{
    prandom_bytes_state(&rnd, r->iv, sizeof(r->iv));
    r->iv_at = below(16);
    if (k == CTR && one_in(3)) /* a counter that wraps, with carry propagation */
        memset(r->iv + between(0, 12), 0xff, 3), memset(r->iv + 12, 0xff, 3 + one_in(2));
    if (k == CCM)
        r->iv[0] =
            (u8)between(2, 7); /* a length field of 3 to 8 bytes, enough for every length here */
}

/* Encrypts with their driver. Sets `message` to the message to decrypt (AAD, ciphertext, tag). If
 * wrong_tag is set, flips one bit of `message`. */
static int make_valid(struct request *r, u32 plain)
{
    struct request e = *r;
    struct scatterlist sg;
    u8 iv[16];
    int err;

    e.decrypt = false;
    e.len = plain;
    memcpy(iv, r->iv, sizeof(iv));
    memcpy(side[1].source, message, r->aad + plain);
    sg_init_one(&sg, side[1].source, r->aad + plain + r->tag);
    err = crypto_wait_req(call(&side[1], &e, &sg, &sg, iv, PLAIN), &side[1].wait);
    memcpy(message, side[1].source, r->aad + plain + r->tag);
    if (err == 0 && r->wrong_tag) {
        u32 at = below(r->aad + plain + r->tag);

        /* The last 8 bytes of rfc4106's AAD are for the IV, and are not authenticated. */
        if (k == RFC4106 && at < r->aad && at >= r->aad - 8)
            at = r->aad + plain;
        message[at] ^= (u8)(1u << below(8));
    }
    return err;
}

/* Whether our driver left the AAD bytes of the target unchanged or copied the source's AAD there.
 * Checks only out-of-place AEAD requests, and returns true for all others. */
static bool same_aad(const struct request *r, const u8 *before)
{
    u32 i;

    if (!is_aead() || r->place != OUT_OF_PLACE || r->aad == 0)
        return true;
    gather(mixed, side[0].target, &r->target, r->aad);
    gather(message, side[0].source, &r->source, r->aad);
    if (memcmp(mixed, message, r->aad) != 0) {
        gather(message, before, &r->target, r->aad);
        if (memcmp(mixed, message, r->aad) != 0)
            return false;
    }
    /* Writes our AAD bytes to both targets, in case only one driver copied the AAD. The arenas can
     * then be compared as a whole. */
    for (i = 0; i < 2; i++)
        scatter(side[i].target, &r->target, mixed, r->aad);
    return true;
}

/* Whether, after an error, only the target was written. */
static bool kept_outside(const struct request *r, const u8 *before, u32 target_len)
{
    u8 *arena = r->place == OUT_OF_PLACE ? side[0].target : side[0].source;

    gather(mixed, before, &r->target, target_len);
    scatter(arena, &r->target, mixed, target_len);
    return memcmp(arena, before, ARENA) == 0;
}

static const char *compare(const struct request *r, int err, int reference, const u8 *source,
                           const u8 *target, u32 target_len)
{
    if (err == -EINPROGRESS || err == -EBUSY)
        return "our driver is not synchronous";
    if (err != reference)
        return "the return values differ";
    if (r->place == OUT_OF_PLACE && memcmp(side[0].source, source, ARENA) != 0)
        return "the source was written to";
    if (err != 0)
        return kept_outside(r, r->place == OUT_OF_PLACE ? target : source, target_len)
                   ? NULL
                   : "after an error, bytes outside the target were written";
    if (!same_aad(r, target))
        return "the AAD in the target is neither a copy nor unchanged";
    if (memcmp(side[0].source, side[1].source, ARENA) != 0 ||
        memcmp(side[0].target, side[1].target, ARENA) != 0)
        return "the memory contents differ";
    if (iv_counts() && memcmp(side[0].iv, side[1].iv, sizeof(side[0].iv)) != 0)
        return "the IVs after the request differ";
    return NULL;
}

static u8 *before[2]; /* the arenas' contents before the request */

static int one_case(struct request *r)
{
    static u32 tag;
    static bool keyed;
    u32 i, plain, source_len, target_len, total, spare = one_in(3) ? between(1, 40) : 0;
    const char *what;
    int err, reference;

    if (!keyed || one_in(4)) {
        err = set_key();
        if (err == 0 && is_aead())
            err = set_tag(&tag);
        if (err != 0)
            return err;
        keyed = true;
    }
    memset(r, 0, sizeof(*r));
    r->decrypt = one_in(2);
    r->may_sleep = one_in(2);
    r->context = one_in(4) ? between(SOFTIRQ_OFF, WITHIN_FPU) : PLAIN;
    r->place = below(PLACES);
    r->tag = is_aead() ? tag : 0;
    r->aad = is_aead() ? aad_length() : 0;
    r->wrong_tag = is_aead() && r->decrypt && one_in(4);
    make_iv(r);
    plain = data_length();
    r->len = plain + (r->decrypt ? r->tag : 0);
    source_len = r->aad + r->len;
    target_len = r->aad + plain + (r->decrypt ? 0 : r->tag);
    total = max(source_len, target_len) + spare;
    make_shape(&r->source, r->place == OUT_OF_PLACE ? source_len + spare : total);
    r->target = r->source;
    if (r->place == OUT_OF_PLACE)
        make_shape(&r->target, target_len + spare);
    r->split[0] = one_in(3) && r->source.count > 1 ? between(1, r->source.count - 1) : 0;
    r->split[1] = one_in(3) && r->target.count > 1 ? between(1, r->target.count - 1) : 0;

    memcpy(before[0], pattern + below(4096), ARENA);
    memcpy(before[1], pattern + below(4096), ARENA);
    if (is_aead() && r->decrypt) {
        memcpy(message, pattern + below(4096), r->aad + plain);
        err = make_valid(r, plain);
        if (err != 0) {
            describe("their driver cannot encrypt", r, 0, err);
            return err;
        }
        scatter(before[0], &r->source, message, source_len);
    }
    for (i = 0; i < 2; i++) {
        memcpy(side[i].source, before[0], ARENA);
        memcpy(side[i].target, before[1], ARENA);
    }
    err = run(&side[0], r, r->context);
    reference = crypto_wait_req(run(&side[1], r, PLAIN), &side[1].wait);
    what = compare(r, err, reference, before[0], before[1], target_len);
    if (err == -EINPROGRESS || err == -EBUSY)
        crypto_wait_req(err, &side[0].wait);
    if (r->wrong_tag && err == 0)
        what = "a wrong tag was accepted";
    if (what != NULL)
        describe(what, r, err, reference);
    return what != NULL ? -EINVAL : 0;
}

/* ---- All ---- */

static u8 *arena(void)
{
    return (u8 *)__get_free_pages(GFP_KERNEL | __GFP_COMP, ORDER);
}

static int open_side(struct side *s, const char *driver)
{
    crypto_init_wait(&s->wait);
    s->source = arena();
    s->target = arena();
    if (s->source == NULL || s->target == NULL)
        return -ENOMEM;
    if (is_aead()) {
        s->aead = crypto_alloc_aead(driver, 0, 0);
        if (IS_ERR(s->aead))
            return PTR_ERR(s->aead);
        if (strcmp(crypto_tfm_alg_driver_name(crypto_aead_tfm(s->aead)), driver) != 0)
            return -ENOENT;
        s->aead_request = aead_request_alloc(s->aead, GFP_KERNEL);
        return s->aead_request != NULL ? 0 : -ENOMEM;
    }
    s->skcipher = crypto_alloc_skcipher(driver, 0, 0);
    if (IS_ERR(s->skcipher))
        return PTR_ERR(s->skcipher);
    if (strcmp(crypto_tfm_alg_driver_name(crypto_skcipher_tfm(s->skcipher)), driver) != 0)
        return -ENOENT;
    s->skcipher_request = skcipher_request_alloc(s->skcipher, GFP_KERNEL);
    return s->skcipher_request != NULL ? 0 : -ENOMEM;
}

static void close_side(struct side *s)
{
    if (s->aead_request != NULL)
        aead_request_free(s->aead_request);
    if (s->skcipher_request != NULL)
        skcipher_request_free(s->skcipher_request);
    if (!IS_ERR_OR_NULL(s->aead))
        crypto_free_aead(s->aead);
    if (!IS_ERR_OR_NULL(s->skcipher))
        crypto_free_skcipher(s->skcipher);
    free_pages((unsigned long)s->source, ORDER);
    free_pages((unsigned long)s->target, ORDER);
}

static int all_cases(void)
{
    /* Zeroed, because r->context is read even if one_case() fails before setting it. */
    struct request *r = kzalloc(sizeof(*r), GFP_KERNEL);
    u32 i, contexts[CONTEXTS] = {0};
    int err = r != NULL ? 0 : -ENOMEM;

    for (i = 0; i < cases && err == 0; i++) {
        err = one_case(r);
        if (err != 0)
            pr_err("shapes: FAILED: %s: case %u, seed %lu\n", ours, i, seed);
        contexts[r->context]++;
        cond_resched();
    }
    kfree(r);
    if (err == 0)
        pr_info("shapes: %s matches %s: %u cases, %u with softirqs off, "
                "%u within kernel_fpu_begin, seed %lu\n",
                ours, theirs, cases, contexts[SOFTIRQ_OFF], contexts[WITHIN_FPU], seed);
    return err;
}

static int __init shapes_init(void)
{
    int err = 0, i;

    k = match_string(kinds, KINDS, kind);
    if (k < 0)
        return -EINVAL;
    prandom_seed_state(&rnd, seed);
    pattern = kvmalloc(ARENA + 4096, GFP_KERNEL);
    message = kvmalloc(MAX_TOTAL, GFP_KERNEL);
    mixed = kvmalloc(MAX_TOTAL, GFP_KERNEL);
    before[0] = arena();
    before[1] = arena();
    if (pattern == NULL || message == NULL || mixed == NULL || before[0] == NULL ||
        before[1] == NULL)
        err = -ENOMEM;
    else
        prandom_bytes_state(&rnd, pattern, ARENA + 4096);
    for (i = 0; i < 2 && err == 0; i++) {
        err = open_side(&side[i], i == 0 ? ours : theirs);
        if (err != 0)
            pr_err("shapes: FAILED: cannot open %s: %d\n", i == 0 ? ours : theirs, err);
    }
    if (err == 0)
        err = all_cases();
    for (i = 0; i < 2; i++)
        close_side(&side[i]);
    free_pages((unsigned long)before[0], ORDER);
    free_pages((unsigned long)before[1], ORDER);
    kvfree(mixed);
    kvfree(message);
    kvfree(pattern);
    return err;
}
module_init(shapes_init);

static void __exit shapes_exit(void) {}
module_exit(shapes_exit);

MODULE_DESCRIPTION("Test: compares two drivers with scatterlists of random shapes");
MODULE_LICENSE("Dual BSD/GPL");
