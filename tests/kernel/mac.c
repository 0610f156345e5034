/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Compares two MAC drivers through AF_ALG, with messages that are sent in random pieces:
 *
 *     mac OURS THEIRS SEED MESSAGES
 *
 * Between two pieces, the test sometimes copies the message with accept(), so that the kernel
 * exports and imports its state. The test then continues with the copy. Messages have 0 to 39,999
 * bytes and begin at any address.
 */
#include "afalg.h"

#include <stdlib.h>

#define LONGEST 40000u

static uint8_t data[LONGEST + 64];
static unsigned long state, copies;

/* A random number below n (Knuth's MMIX generator). */
static unsigned below(unsigned n)
{
    state = state * 6364136223846793005ul + 1442695040888963407ul;
    return n == 0 ? 0 : (unsigned)((state >> 33) % n);
}

static unsigned any_length(void)
{
    switch (below(3)) {
    case 0:
        return below(100);
    case 1:
        return 16 * below(500);
    default:
        return below(LONGEST);
    }
}

/* Replaces the message's socket by a copy, which has the message's state so far. */
static int copy(int op)
{
    int other = accept(op, NULL, 0);

    close(op);
    copies++;
    return other;
}

/* Returns the number of bytes of the tag, or a negative errno. */
static ssize_t one_tag(int alg, const uint8_t *from, unsigned len, uint8_t tag[16])
{
    int op = accept(alg, NULL, 0);
    ssize_t n;

    while (op >= 0 && len != 0 && below(8) != 0) {
        unsigned piece = 1 + below(below(2) == 0 ? len : len < 50 ? len : 50);

        if (send(op, from, piece, MSG_MORE) != (ssize_t)piece)
            return -errno;
        from += piece;
        len -= piece;
        if (below(4) == 0)
            op = copy(op);
    }
    if (op < 0)
        return -errno;
    n = alg_hash(op, from, len, tag, 16);
    close(op);
    return n;
}

/* Sets the same random key for both drivers. Its length is one of the first `sizes` elements of
 * lens[]. For xcbc, `sizes` is 1, because newer kernels refuse keys that do not have 16 bytes. */
static int set_keys(const int alg[2], unsigned sizes)
{
    static const size_t lens[] = {16, 24, 32};
    const uint8_t *key = data + below(LONGEST);
    size_t len = lens[below(sizes)];
    int err = alg_set_key(alg[0], key, len);

    return err != 0 ? err : alg_set_key(alg[1], key, len);
}

int main(int argc, char **argv)
{
    int alg[2];

    if (argc != 5)
        return 2;
    state = strtoul(argv[3], NULL, 0);
    for (unsigned i = 0; i < sizeof(data); i++)
        data[i] = (uint8_t)below(256);
    for (int i = 0; i < 2; i++) {
        alg[i] = alg_open("hash", argv[1 + i]);
        if (alg[i] < 0) {
            printf("%s: %s\n", argv[1 + i], strerror(-alg[i]));
            return 1;
        }
    }
    for (unsigned long i = strtoul(argv[4], NULL, 0); i > 0; i--) {
        unsigned len = any_length(), at = below(64);
        uint8_t tag[2][16];

        if (set_keys(alg, strncmp(argv[1], "xcbc", 4) == 0 ? 1 : 3) != 0) {
            printf("a key is refused\n");
            return 1;
        }
        for (int j = 0; j < 2; j++) {
            ssize_t n = one_tag(alg[j], data + at, len, tag[j]);
            if (n != 16) {
                printf("%s, %u bytes: %zd\n", argv[1 + j], len, n);
                return 1;
            }
        }
        if (memcmp(tag[0], tag[1], 16) != 0) {
            printf("the tags of %u bytes differ, %lu messages before the end, seed %s\n", len,
                   i - 1, argv[3]);
            return 1;
        }
    }
    printf("%s tags are equal, with %lu copies\n", argv[4], copies);
    return copies == 0;
}
