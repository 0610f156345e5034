/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * No branch and no memory index depends on key or data: to be run under valgrind, whose memcheck is
 * told that they are undefined and then reports each such use (A. Langley's ctgrind). It does not run
 * VAES or AVX-512; the backends that need them are the same C source for another width of vector.
 *
 * The removal of padding is not asked: whether it is right, and its length, the caller is told anyway.
 */
#include "common.h"

#include <valgrind/memcheck.h>

#define LONGEST 400

static void secret(void *p, size_t len)
{
    VALGRIND_MAKE_MEM_UNDEFINED(p, len);
}

static void published(void *p, size_t len)
{
    VALGRIND_MAKE_MEM_DEFINED(p, len);
}

/* The same again with nothing secret; the results must be equal, so that what was watched is AES. */
static bool message(const struct tr_backend *b, enum tr_mode mode, bool decrypt, size_t key_len,
                    size_t len, bool is_secret, uint8_t out[LONGEST])
{
    uint8_t raw[32], in[LONGEST], iv[16];
    struct tr_aes_key key;
    memset(raw, 0x11, sizeof(raw));
    memset(iv, 0xfe, sizeof(iv));
    memset(in, 0x22, sizeof(in));
    if (is_secret) {
        secret(raw, sizeof(raw));
        secret(in, sizeof(in));
        if (mode != TR_CTR) /* a counter is public */
            secret(iv, sizeof(iv));
    }
    bool good = tr_aes_set_key(&key, b, raw, key_len) == TR_OK;
    struct position p = {.used = 0};
    memcpy(p.iv, iv, sizeof(iv));
    const size_t half = mode_is_whole(mode) ? 0 : mode_is_blocks(mode) ? len / 32 * 16 : len / 2;
    good &= (half == 0 || mode_run(&key, mode, decrypt, &p, out, in, half) == TR_OK) &&
            mode_run(&key, mode, decrypt, &p, out + half, in + half, len - half) == TR_OK;
    published(out, len);
    return good;
}

static bool padded(const struct tr_backend *b, size_t len, bool is_secret, uint8_t out[LONGEST])
{
    uint8_t raw[16], in[LONGEST], iv[16] = {0};
    struct tr_cipher c;
    size_t n = 0, last = 0;
    memset(&c, 0, sizeof(c));
    memset(raw, 0x11, sizeof(raw));
    memset(in, 0x22, sizeof(in));
    if (is_secret) {
        secret(raw, sizeof(raw));
        secret(in, sizeof(in));
    }
    const bool good = tr_aes_set_key(&c.key, b, raw, sizeof(raw)) == TR_OK &&
                      tr_cipher_start(&c, TR_CBC, 0, 1, iv) == TR_OK &&
                      tr_cipher_update(&c, out, &n, in, len) == TR_OK &&
                      tr_cipher_final(&c, out + n, &last) == TR_OK;
    published(out, n + last);
    return good;
}

static unsigned watch(const struct tr_backend *b, bool *right)
{
    uint8_t watched[LONGEST], plain[LONGEST];
    const unsigned before = VALGRIND_COUNT_ERRORS;
    for (int m = 0; m < ALL_MODES; m++)
        for (int way = 0; way < 2; way++)
            for (size_t k = 0; k < 3; k++)
                for (size_t len = 16; len < mode_longest(all_modes[m], LONGEST);
                     len += mode_is_blocks(all_modes[m]) ? 48 : 45)
                    *right &= message(b, all_modes[m], way, key_lengths[k], len, true, watched) &&
                              message(b, all_modes[m], way, key_lengths[k], len, false, plain) &&
                              tap_same(watched, plain, len);
    *right &=
        padded(b, 55, true, watched) && padded(b, 55, false, plain) && tap_same(watched, plain, 64);
    return VALGRIND_COUNT_ERRORS - before;
}

/* That a branch and an index are noticed. */
static void test_watcher(void)
{
    static uint8_t table[256];
    volatile uint8_t hidden = 3;
    secret((void *)(uintptr_t)&hidden, 1);
    unsigned before = VALGRIND_COUNT_ERRORS;
    if (hidden & 1)
        table[0]++;
    tap_ok(VALGRIND_COUNT_ERRORS > before, "a branch on a secret is noticed");
    before = VALGRIND_COUNT_ERRORS;
    ((volatile uint8_t *)table)[hidden & 0x7f] = 1;
    tap_ok(VALGRIND_COUNT_ERRORS > before, "an index made of a secret is noticed");
}

int main(void)
{
    static const char *const watched[] = {"aesni", "bitslice"};
    const size_t n = sizeof(watched) / sizeof(*watched);
    tap_plan(2 + (unsigned)n);
    if (RUNNING_ON_VALGRIND == 0) {
        tap_skip(2 + (unsigned)n, NULL, "not run under valgrind");
        return tap_done();
    }
    test_watcher();
    for (size_t i = 0; i < n; i++) {
        const struct tr_backend *b = tr_backend_by_name(watched[i]);
        bool right = true;
        if (backend_skip(b, 1))
            continue;
        const unsigned errors = watch(b, &right);
        tap_ok(errors == 0 && right, "%s: %u uses of secrets that time could show", watched[i],
               errors);
    }
    return tap_done();
}
