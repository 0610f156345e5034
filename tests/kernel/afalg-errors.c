/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Compares two drivers on bad input through AF_ALG:
 *
 *     afalg-errors skcipher|aead OURS THEIRS KEY-BYTES IV-BYTES
 *
 * The program makes the same calls to both drivers. It compares every return value, every errno and
 * a hash of every output. It tries keys, tags and IVs of many lengths, data that is too short,
 * operations that do not exist, and messages with wrong tags.
 */
#include "afalg.h"

#include <stdlib.h>

/* The results of all calls to one driver, in order. */
struct story {
    const char *driver;
    char what[20000][48];
    long result[20000];
    unsigned calls;
};
static struct story stories[2];
static struct story *story;

static long note(const char *what, int number, long result)
{
    if (story->calls == sizeof story->result / sizeof story->result[0]) {
        fprintf(stderr, "afalg-errors: too many calls\n");
        exit(1);
    }
    snprintf(story->what[story->calls], sizeof story->what[0], "%s, %d", what, number);
    story->result[story->calls++] = result < 0 ? -errno : result;
    return result;
}

static void add(struct msghdr *message, int type, const void *data, size_t len)
{
    struct cmsghdr *header =
        (struct cmsghdr *)((char *)message->msg_control + message->msg_controllen);
    header->cmsg_level = SOL_ALG;
    header->cmsg_type = type;
    header->cmsg_len = CMSG_LEN(len);
    memcpy(CMSG_DATA(header), data, len);
    message->msg_controllen += CMSG_SPACE(len);
}

/* Returns a hash of an output (FNV-1a), with which outputs are compared. */
static long sum(const unsigned char *bytes, size_t len)
{
    unsigned hash = 2166136261u;
    while (len-- != 0)
        hash = (hash ^ *bytes++) * 16777619u;
    return hash >> 1;
}

/* Makes one request. Records the results of its system calls and a hash of the output buffer, into
 * which it receives at most `room` bytes. */
static void request(int fd, int what, unsigned operation, unsigned iv_len, unsigned aad_len,
                    const unsigned char *data, size_t len, size_t room)
{
    static _Alignas(struct cmsghdr) char control[256];
    unsigned char out[256];
    struct af_alg_iv *iv = calloc(1, sizeof *iv + iv_len);
    struct iovec vector = {(void *)data, len};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1, .msg_control = control};

    memset(control, 0, sizeof control);
    iv->ivlen = iv_len;
    memset(iv->iv, 2, iv_len); /* 2 in byte 0 gives CCM a length field of 3 bytes */
    add(&message, ALG_SET_OP, &operation, sizeof operation);
    add(&message, ALG_SET_IV, iv, sizeof *iv + iv_len);
    if (aad_len != 0)
        add(&message, ALG_SET_AEAD_ASSOCLEN, &aad_len, sizeof aad_len);
    free(iv);

    int end = accept(fd, NULL, NULL);
    if (note("accept", what, end < 0 ? -1 : 0) < 0)
        return;
    struct timeval limit = {.tv_sec = 5};
    setsockopt(end, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    memset(out, 0, sizeof out);
    if (note("sendmsg", what, sendmsg(end, &message, 0)) >= 0) {
        ssize_t got = note("recv", what, recv(end, out, room, MSG_DONTWAIT));
        note("output", what, got < 0 ? 0 : sum(out, sizeof out));
    }
    close(end);
}

static const unsigned char key[80] =
    "a key like any other, of which as much is taken as is needed: 0123456789abcdef";
static const unsigned char data[200] = "some data, some of it AAD, and with luck some of it a tag";

static void keys(int fd, unsigned iv_len)
{
    request(fd, -1, ALG_OP_ENCRYPT, iv_len, 0, data, 32, 64); /* no key was set */
    for (unsigned len = 0; len <= sizeof key; len++) {
        note("key", (int)len, setsockopt(fd, SOL_ALG, ALG_SET_KEY, key, len));
        request(fd, (int)len, ALG_OP_ENCRYPT, iv_len, 0, data, 32, 64);
    }
}

static void ivs(int fd)
{
    for (unsigned len = 0; len <= 40; len++)
        request(fd, (int)len, ALG_OP_ENCRYPT, len, 0, data, 32, 64);
}

static void skciphers(int fd, unsigned iv_len)
{
    for (unsigned operation = 0; operation < 5; operation++)
        request(fd, (int)operation, operation, iv_len, 0, data, 32, 64);
    for (unsigned len = 0; len <= 50; len++) {
        request(fd, (int)len, ALG_OP_ENCRYPT, iv_len, 0, data, len, 64);
        request(fd, (int)len, ALG_OP_DECRYPT, iv_len, 0, data, len, 64);
        request(fd, (int)len, ALG_OP_ENCRYPT, iv_len, 0, data, 48, len);
    }
}

static void aeads(int fd, unsigned iv_len)
{
    for (unsigned size = 0; size <= 20; size++) {
        note("tag", (int)size, setsockopt(fd, SOL_ALG, ALG_SET_AEAD_AUTHSIZE, NULL, size));
        for (unsigned aad = 0; aad <= 24; aad += 4)
            for (unsigned len = 0; len <= 60; len += 7) {
                request(fd, (int)len, ALG_OP_ENCRYPT, iv_len, aad, data, len, 128);
                request(fd, (int)len, ALG_OP_DECRYPT, iv_len, aad, data, len, 128);
                request(fd, (int)len, ALG_OP_ENCRYPT, iv_len, aad, data, 60, len);
            }
    }
}

int main(int argc, char **argv)
{
    if (argc != 6) {
        fprintf(stderr, "usage: afalg-errors skcipher|aead OURS THEIRS KEY-BYTES IV-BYTES\n");
        return 2;
    }
    unsigned key_len = (unsigned)atoi(argv[4]), iv_len = (unsigned)atoi(argv[5]);
    for (int i = 0; i < 2; i++) {
        story = &stories[i];
        story->driver = argv[2 + i];
        int fd = alg_open(argv[1], story->driver);
        if (fd < 0) {
            fprintf(stderr, "%s: %s\n", story->driver, strerror(-fd));
            return 1;
        }
        keys(fd, iv_len);
        note("a good key", (int)key_len, setsockopt(fd, SOL_ALG, ALG_SET_KEY, key, key_len));
        ivs(fd);
        strcmp(argv[1], "aead") == 0 ? aeads(fd, iv_len) : skciphers(fd, iv_len);
        close(fd);
    }
    unsigned differences = 0, errors = 0;
    if (stories[0].calls != stories[1].calls)
        printf("our driver had %u calls, theirs had %u\n", stories[0].calls, stories[1].calls);
    for (unsigned i = 0; i < stories[0].calls && i < stories[1].calls && differences < 10; i++) {
        errors += stories[1].result[i] < 0;
        if (stories[0].result[i] != stories[1].result[i]) {
            differences++;
            printf("call %u, %s: ours %ld, theirs %ld (%s)\n", i, stories[0].what[i],
                   stories[0].result[i], stories[1].result[i], stories[1].what[i]);
        }
    }
    printf("%u results, %u of them errors\n", stories[1].calls, errors);
    return differences != 0 || errors == 0 || stories[0].calls != stories[1].calls;
}
