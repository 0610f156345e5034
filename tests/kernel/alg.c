/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Requests through AF_ALG, for the tests that count, load and unload:
 *
 *   alg hold TYPE NAME               keeps a transform open until it is killed; prints "open" once it is
 *   alg encrypt TYPE NAME BYTES N    N requests of so many bytes, from and to memory that begins at a page
 *   alg traffic TYPE:NAME...         until SIGTERM: opens one after the other, if it is there, encrypts and decrypts messages
 *                                    of all sizes, compares, closes; prints how many there were
 *
 * TYPE is skcipher or aead, NAME that of a driver or of an algorithm.
 */
#include "afalg.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>

#define ROOM  (65536u + 4096)
#define AAD   16u /* what rfc4106 takes, too */
#define NONCE 16u

static volatile sig_atomic_t stop;
static uint8_t *in, *out, *back;

static void on_term(int signal)
{
    (void)signal;
    stop = 1;
}

static uint8_t *pages(void)
{
    uint8_t *p = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED)
        exit(2);
    memset(p, 0x5a, ROOM);
    return p;
}

struct algorithm {
    int aead, fd;
    size_t iv_len;
};

/* The sizes of key and IV follow from the name. Negative errno. */
static int open_algorithm(struct algorithm *a, const char *type, const char *name)
{
    static const uint8_t key[64] = {1, 2, 3, 4, [40] = 5};
    size_t key_len = strncmp(name, "xts", 3) == 0 ? 64 : strncmp(name, "rfc4106", 7) == 0 ? 36 : 32;
    int err;

    a->aead = strcmp(type, "aead") == 0;
    a->iv_len = strncmp(name, "ecb", 3) == 0       ? 0
                : strncmp(name, "gcm", 3) == 0     ? 12
                : strncmp(name, "rfc4106", 7) == 0 ? 8
                                                   : 16;
    a->fd = alg_open(type, name);
    if (a->fd < 0)
        return a->fd;
    err = alg_set_key(a->fd, key, key_len);
    if (err == 0 && a->aead)
        err = alg_set_tag_size(a->fd, 16);
    if (err != 0)
        close(a->fd);
    return err;
}

static ssize_t request(const struct algorithm *a, int decrypt, const uint8_t *from, size_t len,
                       uint8_t *to, size_t room)
{
    /* For CCM a length field of four bytes; for all others as good as any. */
    static const uint8_t iv[NONCE] = {3, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    int op = accept(a->fd, NULL, 0);
    ssize_t n;

    if (op < 0)
        return -errno;
    n = alg_crypt(op, decrypt, iv, a->iv_len, a->aead ? AAD : 0, from, len, to, room);
    close(op);
    return n;
}

static int encrypt(const char *type, const char *name, size_t len, unsigned times)
{
    struct algorithm a;
    int err = open_algorithm(&a, type, name);
    size_t total = len + (a.aead ? AAD : 0), room = total + (a.aead ? 16 : 0);

    if (err != 0 || room > ROOM) {
        printf("%s: %s\n", name, strerror(-err));
        return 1;
    }
    for (unsigned i = 0; i < times; i++) {
        ssize_t n = request(&a, 0, in, total, out, room);

        if (n != (ssize_t)room) {
            printf("%s: encryption of %zu bytes gave %zd\n", name, len, n);
            return 1;
        }
    }
    close(a.fd);
    return 0;
}

static int round_trip(const struct algorithm *a, const char *name, size_t len)
{
    size_t plain = len + (a->aead ? AAD : 0), room = plain + (a->aead ? 16 : 0);
    ssize_t n = request(a, 0, in, plain, out, room);

    if (n == (ssize_t)room)
        n = request(a, 1, out, room, back, plain);
    if (n == (ssize_t)plain && memcmp(in, back, plain) == 0)
        return 0;
    printf("%s: %zu bytes came back as %zd, or wrong\n", name, len, n);
    return 1;
}

static int traffic(char **names, int count)
{
    unsigned done = 0, opened = 0, wrong = 0;

    signal(SIGTERM, on_term);
    for (unsigned i = 0; !stop; i++) {
        char *name = strchr(names[i % (unsigned)count], ':') + 1;
        struct algorithm a;

        if (open_algorithm(&a, name[-2] == 'd' ? "aead" : "skcipher", name) == 0) {
            opened++;
            for (unsigned j = 1; j <= 2 && !stop; j++, done++)
                wrong += (unsigned)round_trip(&a, name, j * j * 16 * (1 + i % 50));
            close(a.fd);
        }
        usleep(5000);
    }
    printf("%u opened, %u round trips, %u wrong\n", opened, done, wrong);
    return wrong != 0 || done == 0;
}

int main(int argc, char **argv)
{
    in = pages();
    out = pages();
    back = pages();
    if (argc == 4 && strcmp(argv[1], "hold") == 0) {
        struct algorithm a;
        int err = open_algorithm(&a, argv[2], argv[3]);

        printf("%s\n", err == 0 ? "open" : strerror(-err));
        fflush(stdout);
        if (err == 0)
            pause();
        return 1;
    }
    if (argc == 6 && strcmp(argv[1], "encrypt") == 0)
        return encrypt(argv[2], argv[3], strtoul(argv[4], NULL, 0),
                       (unsigned)strtoul(argv[5], NULL, 0));
    if (argc > 2 && strcmp(argv[1], "traffic") == 0)
        return traffic(argv + 2, argc - 2);
    return 2;
}
