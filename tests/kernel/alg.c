/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Makes requests through AF_ALG, for tests that read the module's counters, or load and unload the
 * module:
 *
 *   alg hold TYPE NAME               prints "open", and keeps a transform open until killed
 *   alg encrypt TYPE NAME BYTES N    makes N requests of BYTES bytes in page-aligned buffers
 *   alg late TYPE NAME BYTES         sets one key while the vector registers are refused and one
 *                                    while they are granted, and compares requests under both
 *   alg shared TYPE NAME KEYS        sets KEYS keys, each used by 4 processes at the same time
 *   alg traffic TYPE:NAME...         until SIGTERM, opens each algorithm that exists, encrypts and
 *                                    decrypts messages, and compares them; then prints counts
 *
 * TYPE is skcipher, aead or hash. For a hash, to encrypt is to compute the tag. NAME is the name of
 * a driver or of an algorithm.
 */
#include "afalg.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define ROOM  (65536u + 4096)
#define AAD   16u /* bytes; rfc4106 accepts 16 or 20 */
#define NONCE 16u
#define TAG   16u

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
    int aead, hash, fd;
    int whole_blocks; /* whether the algorithm takes whole blocks only */
    size_t iv_len;
};

/* Opens an algorithm. Its name determines the sizes of key and IV. Returns 0 or a negative
 * errno. */
static int open_algorithm(struct algorithm *a, const char *type, const char *name)
{
    static const uint8_t key[64] = {1, 2, 3, 4, [40] = 5};
    size_t key_len = strncmp(name, "xts", 3) == 0 ? 64 : strncmp(name, "rfc4106", 7) == 0 ? 36 : 32;
    int err;

    a->aead = strcmp(type, "aead") == 0;
    a->hash = strcmp(type, "hash") == 0;
    a->whole_blocks = strncmp(name, "ecb", 3) == 0 || strncmp(name, "cbc", 3) == 0;
    a->iv_len = strncmp(name, "ecb", 3) == 0       ? 0
                : strncmp(name, "gcm", 3) == 0     ? 12
                : strncmp(name, "rfc4106", 7) == 0 ? 8
                                                   : 16;
    a->fd = alg_open(type, name);
    if (a->fd < 0)
        return a->fd;
    err = alg_set_key(a->fd, key, key_len);
    if (err == 0 && a->aead)
        err = alg_set_tag_size(a->fd, TAG);
    if (err != 0)
        close(a->fd);
    return err;
}

/* The number of output bytes when `plain` bytes, AAD included, are encrypted. */
static size_t sealed_len(const struct algorithm *a, size_t plain)
{
    return a->hash ? TAG : plain + (a->aead ? TAG : 0);
}

static ssize_t request(const struct algorithm *a, int decrypt, const uint8_t *from, size_t len,
                       uint8_t *to, size_t room)
{
    /* The first byte, 3, gives CCM a length field of 4 bytes; other modes accept any bytes. */
    static const uint8_t iv[NONCE] = {3, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    int op = accept(a->fd, NULL, 0);
    ssize_t n;

    if (op < 0)
        return -errno;
    n = a->hash ? alg_hash(op, from, len, to, room)
                : alg_crypt(op, decrypt, iv, a->iv_len, a->aead ? AAD : 0, from, len, to, room);
    close(op);
    return n;
}

static int encrypt(const char *type, const char *name, size_t len, unsigned times)
{
    struct algorithm a;
    int err = open_algorithm(&a, type, name);
    size_t total = len + (a.aead ? AAD : 0), room = sealed_len(&a, total);

    if (err != 0 || room > ROOM) {
        printf("%s: %s\n", name, strerror(-err));
        return 1;
    }
    for (unsigned i = 0; i < times; i++) {
        ssize_t n = request(&a, 0, in, total, out, room);

        if (n != (ssize_t)room) {
            printf("%s: encryption of %zu bytes returned %zd\n", name, len, n);
            return 1;
        }
    }
    close(a.fd);
    return 0;
}

/* Encrypts, decrypts and compares. A hash, which cannot be decrypted, is computed twice. */
static int round_trip(const struct algorithm *a, const char *name, size_t len)
{
    size_t plain = len + (a->aead ? AAD : 0), room = sealed_len(a, plain);
    ssize_t n = request(a, 0, in, plain, out, room);

    if (n == (ssize_t)room && a->hash) {
        if (request(a, 0, in, plain, back, room) == n && memcmp(out, back, room) == 0)
            return 0;
    } else if (n == (ssize_t)room)
        n = request(a, 1, out, room, back, plain);
    if (n == (ssize_t)plain && memcmp(in, back, plain) == 0)
        return 0;
    printf("%s: a round trip of %zu bytes returned %zd, or wrong bytes\n", name, len, n);
    return 1;
}

/* Sets the module's parameter `refuse`: 1 refuses the vector registers, 0 grants them. */
static void refuse(int on)
{
    FILE *file = fopen("/sys/module/tenrounds/parameters/refuse", "w");

    if (file == NULL || fprintf(file, "%d", on) < 0 || fclose(file) != 0) {
        perror("refuse");
        exit(2);
    }
}

/* Reads one of the module's counters: "holds" or "refused". */
static unsigned long counter(const char *wanted)
{
    FILE *file = fopen("/sys/kernel/debug/tenrounds/counters", "r");
    char line[256], name[64];
    unsigned long number;

    while (file != NULL && fgets(line, sizeof(line), file) != NULL)
        if (sscanf(line, "%63s %lu", name, &number) == 2 && strcmp(name, wanted) == 0) {
            fclose(file);
            return number;
        }
    perror(wanted);
    exit(2);
}

/* Makes one request with each key. Both outputs must equal `want`, or each other if `want` is NULL.
 * Sets holds[] to the number of times that each request held the registers. */
static int hold_counts(const struct algorithm keys[2], const char *name, int decrypt,
                       const uint8_t *from, size_t len, const uint8_t *want, size_t room,
                       unsigned long holds[2])
{
    for (int i = 0; i < 2; i++) {
        unsigned long before = counter("holds");
        ssize_t n = request(&keys[i], decrypt, from, len, back, room);

        holds[i] = counter("holds") - before;
        if (n != (ssize_t)room || (want != NULL && memcmp(back, want, room) != 0)) {
            printf("%s: wrong %s with the key set %s registers (%zd)\n", name,
                   decrypt ? "plaintext" : "ciphertext", i == 0 ? "with" : "without", n);
            return 1;
        }
        if (want == NULL) {
            memcpy(out, back, room);
            want = out;
        }
    }
    return 0;
}

/* Requests with both keys must hold the registers equally often. The comparison is repeated,
 * because the counter also counts other users of the module, such as the kernel's self-tests of new
 * algorithms. */
static int compare_keys(const struct algorithm keys[2], const char *name, int decrypt,
                        const uint8_t *from, size_t len, const uint8_t *want, size_t room)
{
    unsigned long holds[2];

    for (int attempt = 0; attempt < 20; attempt++, usleep(100000)) {
        if (hold_counts(keys, name, decrypt, from, len, want, room, holds))
            return 1;
        if (holds[0] != 0 && holds[0] == holds[1])
            return 0;
    }
    printf("%s: %lu holds under the key set with registers, %lu under the key set without\n", name,
           holds[0], holds[1]);
    return 1;
}

/* Tests that requests use the vector registers even if the registers were refused when the key was
 * set, and that the results are the same. */
static int late(const char *type, const char *name, size_t len)
{
    struct algorithm keys[2];
    unsigned long before;
    int err = open_algorithm(&keys[0], type, name);
    size_t plain = len + (keys[0].aead ? AAD : 0), room = sealed_len(&keys[0], plain);

    before = counter("refused");
    refuse(1);
    if (err == 0)
        err = open_algorithm(&keys[1], type, name);
    refuse(0);
    if (err != 0 || room > ROOM) {
        printf("%s: %s\n", name, strerror(-err));
        return 1;
    }
    if (counter("refused") == before) {
        printf("%s: setting the key did not request the registers\n", name);
        return 1;
    }
    return compare_keys(keys, name, 0, in, plain, NULL, room) ||
           (!keys[0].hash && compare_keys(keys, name, 1, out, room, in, plain));
}

#define PROCESSES 4
static const size_t shared_sizes[] = {16, 64, 200, 512, 1000, 4096};
#define SIZES (sizeof(shared_sizes) / sizeof(shared_sizes[0]))

/* The number of input bytes of message i: AAD and data. */
static size_t plain_len(const struct algorithm *a, unsigned i)
{
    return shared_sizes[i] - (a->whole_blocks ? shared_sizes[i] % 16 : 0) + (a->aead ? AAD : 0);
}

/* Encrypts messages of all sizes, beginning with shared_sizes[first]. Compares the results with
 * `want`. */
static int one_of_many(const struct algorithm *a, unsigned first, uint8_t *const want[SIZES])
{
    for (unsigned i = 0; i < SIZES; i++) {
        unsigned which = (first + i) % SIZES;
        size_t plain = plain_len(a, which), room = sealed_len(a, plain);

        if (request(a, 0, in, plain, out, room) != (ssize_t)room ||
            memcmp(out, want[which], room) != 0)
            return 1;
    }
    return 0;
}

/* Tests that simultaneous requests under one new key give the same results as single requests. In
 * GCM, the first requests add powers of H to the key while other requests use it. */
static int shared(const char *type, const char *name, unsigned keys)
{
    uint8_t *want[SIZES];
    struct algorithm a;
    int err = open_algorithm(&a, type, name), wrong = 0;

    for (unsigned i = 0; i < SIZES; i++)
        want[i] = pages();
    for (unsigned i = 0; i < SIZES && err == 0; i++) {
        size_t plain = plain_len(&a, i), room = sealed_len(&a, plain);

        if (request(&a, 0, in, plain, want[i], room) != (ssize_t)room)
            err = -EIO;
    }
    for (unsigned k = 0; k < keys && err == 0; k++) {
        close(a.fd);
        err = open_algorithm(&a, type, name);
        for (unsigned i = 0; i < PROCESSES && err == 0; i++)
            if (fork() == 0)
                _exit(one_of_many(&a, i, want));
        for (int status; wait(&status) > 0;)
            wrong += status != 0;
    }
    printf("%s: %u keys, %d of %u processes had wrong results (%s)\n", name, keys, wrong,
           keys * PROCESSES, strerror(-err));
    return err != 0 || wrong != 0;
}

/* The type before the name in "TYPE:NAME". */
static const char *type_of(const char *name)
{
    return name[-2] == 'd' ? "aead" : name[-2] == 'h' ? "hash" : "skcipher";
}

static int traffic(char **names, int count)
{
    unsigned done = 0, opened = 0, wrong = 0;

    signal(SIGTERM, on_term);
    for (unsigned i = 0; !stop; i++) {
        char *name = strchr(names[i % (unsigned)count], ':') + 1;
        struct algorithm a;

        if (open_algorithm(&a, type_of(name), name) == 0) {
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
    if (argc == 5 && strcmp(argv[1], "late") == 0)
        return late(argv[2], argv[3], strtoul(argv[4], NULL, 0));
    if (argc == 5 && strcmp(argv[1], "shared") == 0)
        return shared(argv[2], argv[3], (unsigned)strtoul(argv[4], NULL, 0));
    if (argc > 2 && strcmp(argv[1], "traffic") == 0)
        return traffic(argv + 2, argc - 2);
    return 2;
}
