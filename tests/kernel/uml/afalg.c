/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Measures requests through AF_ALG as programs make them: one sendmsg(), then read() until all
 * output has arrived:
 *
 *     afalg ALGORITHM DRIVER KEY_BITS encrypt|decrypt BYTES
 *
 * Prints one line of JSON with the median time per request, over 41 windows of 32 requests each.
 * KEY_BITS is the size of an AES key, of which XTS gets two.
 */
#include "../afalg.h"

#include <stdlib.h>
#include <time.h>

#define WINDOWS  41
#define REQUESTS 32

static void fail(const char *what)
{
    fprintf(stderr, "afalg: %s: %s\n", what, strerror(errno));
    exit(1);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int open_cipher(const char *driver, size_t key_len)
{
    uint8_t key[64];
    for (size_t i = 0; i < sizeof(key); i++)
        key[i] = (uint8_t)(i * 7 + 1);
    int listener = alg_open("skcipher", driver);
    if (listener < 0) {
        errno = -listener;
        fail(driver);
    }
    if (alg_set_key(listener, key, key_len) != 0)
        fail("cannot set the key");
    int cipher = accept(listener, NULL, 0);
    if (cipher < 0)
        fail("accept");
    return cipher;
}

static void request(int cipher, int decrypt, uint8_t *data, size_t len)
{
    union {
        struct cmsghdr first;
        char room[CMSG_SPACE(sizeof(uint32_t)) + CMSG_SPACE(sizeof(struct af_alg_iv) + 16)];
    } control = {0};
    struct iovec io = {.iov_base = data, .iov_len = len};
    struct msghdr message = {.msg_iov = &io,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control)};
    struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    c->cmsg_level = SOL_ALG;
    c->cmsg_type = ALG_SET_OP;
    c->cmsg_len = CMSG_LEN(sizeof(uint32_t));
    uint32_t direction = decrypt ? ALG_OP_DECRYPT : ALG_OP_ENCRYPT;
    memcpy(CMSG_DATA(c), &direction, sizeof(direction));
    c = CMSG_NXTHDR(&message, c);
    c->cmsg_level = SOL_ALG;
    c->cmsg_type = ALG_SET_IV;
    c->cmsg_len = CMSG_LEN(sizeof(struct af_alg_iv) + 16);
    struct af_alg_iv *iv = (struct af_alg_iv *)CMSG_DATA(c);
    iv->ivlen = 16;
    memset(iv->iv, 1, 16);
    if (sendmsg(cipher, &message, 0) != (ssize_t)len)
        fail("sendmsg");
    for (size_t done = 0; done < len;) {
        ssize_t n = read(cipher, data + done, len - done);
        if (n <= 0)
            fail("read");
        done += (size_t)n;
    }
}

int main(int argc, char **argv)
{
    static double ns[WINDOWS];
    if (argc != 6) {
        fputs("usage: afalg ALGORITHM DRIVER KEY_BITS encrypt|decrypt BYTES\n", stderr);
        return 2;
    }
    size_t key_len = strtoul(argv[3], NULL, 10) / 8 * (strncmp(argv[2], "xts", 3) == 0 ? 2 : 1);
    int decrypt = strcmp(argv[4], "decrypt") == 0;
    size_t len = strtoul(argv[5], NULL, 10);
    uint8_t *data = aligned_alloc(4096, len);
    if (data == NULL)
        fail("no memory");
    memset(data, 1, len);
    int cipher = open_cipher(argv[2], key_len);
    request(cipher, decrypt, data, len);
    for (int w = 0; w < WINDOWS; w++) {
        double began = now();
        for (int i = 0; i < REQUESTS; i++)
            request(cipher, decrypt, data, len);
        ns[w] = (now() - began) / REQUESTS;
    }
    qsort(ns, WINDOWS, sizeof(ns[0]), by_size);
    printf("{\"path\": \"af_alg\", \"algorithm\": \"%s\", \"direction\": \"%s\", \"driver\": "
           "\"%s\", \"key_bits\": %s, "
           "\"bytes\": %zu, \"ns\": %.0f}\n",
           argv[1], argv[4], argv[2], argv[3], len, ns[WINDOWS / 2]);
    return 0;
}
