/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Tests kernel TLS between two sockets. Usage: tls ALGORITHM OUR-DRIVER
 *
 * ALGORITHM is "gcm(aes)" or "ccm(aes)", and OUR-DRIVER is the name of our driver for it. For every
 * TLS version, and every cipher that uses the algorithm, the test makes four transfers. Sender and
 * receiver each use our driver or the kernel's driver. The test checks that:
 *
 * - the receiver gets the bytes that were sent
 * - a sender or receiver that uses our driver calls it exactly once per record, and one that uses
 *   the kernel's driver never calls ours
 * - both drivers put the same bytes on the wire
 * - a record with one wrong bit gives EBADMSG
 */
#define _GNU_SOURCE /* memmem */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tls.h"

static const char *algorithm, *ours;
static unsigned failures;

static void fatal(const char *what)
{
    printf("test stopped: %s: %s\n", what, strerror(errno));
    exit(1);
}

#define FAILED(...) (failures++, printf(__VA_ARGS__), putchar('\n'))

/* Makes our driver (if `us` is set) or the kernel's driver serve all later opens of the
 * algorithm. */
static void prefer(int us)
{
    pid_t child = fork();
    if (child == 0) {
        execlp("priority", "priority", ours, us ? "9000" : "1", (char *)NULL);
        _exit(127);
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        fatal("priority");
}

/* Reads the module's counter of calls for the algorithm. */
static unsigned long calls(void)
{
    FILE *file = fopen("/sys/kernel/debug/tenrounds/counters", "re");
    char line[256], name[64];
    unsigned long number;
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "%63s calls %lu", name, &number) == 2 && strcmp(name, algorithm) == 0) {
            fclose(file);
            return number;
        }
    fatal("no line for the algorithm in the counters");
    return 0;
}

struct cipher {
    const char *name, *algorithm;
    __u16 type;
    size_t key_len;
    unsigned tag_len;
};
static const struct cipher ciphers[] = {
    {"AES-128-GCM", "gcm(aes)", TLS_CIPHER_AES_GCM_128, 16, 16},
    {"AES-256-GCM", "gcm(aes)", TLS_CIPHER_AES_GCM_256, 32, 16},
    {"AES-128-CCM", "ccm(aes)", TLS_CIPHER_AES_CCM_128, 16, 16},
};
struct version {
    const char *name;
    __u16 number;
};
static const struct version versions[] = {{"TLS 1.2", TLS_1_2_VERSION},
                                          {"TLS 1.3", TLS_1_3_VERSION}};

/* The calls of send(): the number of bytes, and whether more bytes of the same record follow
 * (MSG_MORE). */
static const struct {
    size_t len;
    int more;
} sends[] = {{1, 0},    {15, 0},    {16, 0},    {17, 0}, {1000, 1},  {3, 1},         {4096, 0},
             {4097, 0}, {16384, 0}, {16385, 0}, {1, 1},  {40000, 0}, {2 * RECORD, 0}};
#define SENDS (sizeof sends / sizeof sends[0])
static unsigned char data[200000], wire[200000], other_wire[200000], received[200000];

static size_t bytes_sent(void)
{
    size_t sum = 0;
    for (size_t i = 0; i < SENDS; i++)
        sum += sends[i].len;
    return sum;
}

static unsigned long records_sent(void)
{
    unsigned long records = 0;
    size_t open = 0;
    for (size_t i = 0; i < SENDS; i++) {
        open += sends[i].len;
        if (!sends[i].more) {
            records += (open + RECORD - 1) / RECORD;
            open = 0;
        }
    }
    return records;
}

/* Opens a TCP connection. Its buffers have room for all bytes of send_all(), because the receiver
 * reads only afterwards. */
static void connection(int ends[2])
{
    int room = 1 << 20;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ends[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || ends[0] < 0 ||
        setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &room, sizeof room) != 0 ||
        setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof room) != 0 ||
        bind(listener, (struct sockaddr *)&address, len) != 0 || listen(listener, 1) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &len) != 0 ||
        connect(ends[0], (struct sockaddr *)&address, len) != 0)
        fatal("cannot connect through loopback");
    ends[1] = accept(listener, NULL, NULL);
    if (ends[1] < 0)
        fatal("accept");
    close(listener);
    struct timeval limit = {.tv_sec = 120};
    for (int i = 0; i < 2; i++)
        if (setsockopt(ends[i], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) != 0 ||
            setsockopt(ends[i], SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) != 0)
            fatal("cannot set a timeout");
}

/* Turns on kernel TLS for one direction of a socket. */
static void encrypt(int socket, int direction, const struct version *version,
                    const struct cipher *cipher)
{
    union {
        struct tls_crypto_info info;
        struct tls12_crypto_info_aes_gcm_128 gcm128;
        struct tls12_crypto_info_aes_gcm_256 gcm256;
        struct tls12_crypto_info_aes_ccm_128 ccm128;
    } crypto;
    socklen_t len = cipher->type == TLS_CIPHER_AES_GCM_128   ? sizeof crypto.gcm128
                    : cipher->type == TLS_CIPHER_AES_GCM_256 ? sizeof crypto.gcm256
                                                             : sizeof crypto.ccm128;
    /* Fills key, salt, IV and sequence number with the same arbitrary bytes on both sides. */
    for (size_t i = 0; i < sizeof crypto; i++)
        ((unsigned char *)&crypto)[i] = (unsigned char)(7 * i + 3);
    crypto.info.version = version->number;
    crypto.info.cipher_type = cipher->type;
    if ((setsockopt(socket, IPPROTO_TCP, TCP_ULP, "tls", sizeof "tls") != 0 && errno != EEXIST) ||
        setsockopt(socket, SOL_TLS, direction, &crypto, len) != 0)
        fatal(direction == TLS_TX ? "TLS_TX" : "TLS_RX");
}

static void send_all(int socket)
{
    const unsigned char *at = data;
    for (size_t i = 0; i < SENDS; at += sends[i].len, i++)
        if (send(socket, at, sends[i].len, sends[i].more ? MSG_MORE : 0) != (ssize_t)sends[i].len)
            fatal("send");
}

/* Reads len bytes in pieces of various sizes. Returns the number of bytes. If that is below len,
 * errno gives the reason, where 0 means the end of the stream. */
static size_t receive(int socket, unsigned char *out, size_t len)
{
    static const size_t sizes[] = {5, 16, 4096, 1, 20000, 333};
    size_t got = 0;
    for (unsigned i = 0; got < len; i++) {
        size_t want = sizes[i % (sizeof sizes / sizeof sizes[0])];
        ssize_t n = recv(socket, out + got, want < len - got ? want : len - got, 0);
        if (n <= 0) {
            if (n == 0)
                errno = 0;
            break;
        }
        got += (size_t)n;
    }
    return got;
}

/* Tests one combination. The sender uses our driver if `tx` is 1, the receiver if `rx` is 1. */
static void transfer(const struct version *version, const struct cipher *cipher, int tx, int rx)
{
    int ends[2];
    connection(ends);
    prefer(tx);
    encrypt(ends[0], TLS_TX, version, cipher);
    prefer(rx);
    encrypt(ends[1], TLS_RX, version, cipher);

    unsigned long start = calls();
    send_all(ends[0]);
    unsigned long between = calls();
    memset(received, 0, sizeof received);
    size_t got = receive(ends[1], received, bytes_sent());
    int error = errno;
    unsigned long end = calls();

    const char *who[] = {"theirs", "ours"};
    if (got != bytes_sent())
        FAILED("%s %s, sender %s, receiver %s: %zu of %zu bytes arrived: %s", version->name,
               cipher->name, who[tx], who[rx], got, bytes_sent(), strerror(error));
    else if (memcmp(data, received, got) != 0)
        FAILED("%s %s, sender %s, receiver %s: received bytes differ from sent bytes",
               version->name, cipher->name, who[tx], who[rx]);
    unsigned long records = records_sent();
    if (between - start != (tx ? records : 0) || end - between != (rx ? records : 0))
        FAILED(
            "%s %s, sender %s, receiver %s, %lu records: our driver had %lu calls by the sender, "
            "%lu by the receiver",
            version->name, cipher->name, who[tx], who[rx], records, between - start, end - between);
    close(ends[0]);
    close(ends[1]);
}

/* Captures the bytes that a sender puts on the wire: the receiving end has no TLS. */
static size_t capture(const struct version *version, const struct cipher *cipher, int tx,
                      unsigned char *out)
{
    int ends[2];
    connection(ends);
    prefer(tx);
    encrypt(ends[0], TLS_TX, version, cipher);
    send_all(ends[0]);
    shutdown(ends[0], SHUT_WR);
    size_t got = receive(ends[1], out, sizeof wire);
    close(ends[0]);
    close(ends[1]);
    return got;
}

/* Checks that a record with one wrong bit gives EBADMSG. */
static void corrupted(const struct version *version, const struct cipher *cipher, int rx,
                      size_t record_len, size_t at)
{
    int ends[2];
    connection(ends);
    prefer(rx);
    encrypt(ends[1], TLS_RX, version, cipher);
    unsigned char record[64], out[64];
    memcpy(record, wire, record_len);
    record[at] ^= 0x10;
    if (send(ends[0], record, record_len, 0) != (ssize_t)record_len)
        fatal("send");
    ssize_t got = recv(ends[1], out, sizeof out, 0);
    if (got >= 0 || errno != EBADMSG)
        FAILED("%s %s, receiver %s: byte %zu of a record was changed, and recv returned %zd (%s)",
               version->name, cipher->name, rx ? "ours" : "theirs", at, got, strerror(errno));
    close(ends[0]);
    close(ends[1]);
}

static void test(const struct version *version, const struct cipher *cipher)
{
    for (int both = 0; both < 4; both++)
        transfer(version, cipher, both & 1, both >> 1);

    size_t len = capture(version, cipher, 1, wire);
    if (len <= bytes_sent())
        FAILED("%s %s: only %zu bytes on the wire", version->name, cipher->name, len);
    if (memmem(wire, len, data + 49, 64) != NULL)
        FAILED("%s %s: the bytes on the wire are not encrypted", version->name, cipher->name);
    if (capture(version, cipher, 0, other_wire) != len || memcmp(wire, other_wire, len) != 0)
        FAILED("%s %s: the drivers put different bytes on the wire", version->name, cipher->name);

    /* The length of the first record with its header (RFC 8446 section 5.1). */
    size_t first = 5 + ((size_t)wire[3] << 8 | wire[4]);
    for (int rx = 0; rx < 2; rx++) {
        corrupted(version, cipher, rx, first, first - 1);
        corrupted(version, cipher, rx, first, first - cipher->tag_len - 1);
    }
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: tls ALGORITHM OUR-DRIVER\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IONBF, 0); /* prefer() forks, which would duplicate buffered output */
    algorithm = argv[1];
    ours = argv[2];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)(i * i >> 7 ^ i);
    unsigned tests = 0;
    for (size_t c = 0; c < sizeof ciphers / sizeof ciphers[0]; c++)
        for (size_t v = 0; v < sizeof versions / sizeof versions[0]; v++)
            if (strcmp(ciphers[c].algorithm, algorithm) == 0) {
                test(&versions[v], &ciphers[c]);
                tests++;
            }
    printf("%u versions and ciphers with %s, %lu records each, %u failures\n", tests, algorithm,
           records_sent(), failures);
    return tests == 0 || failures != 0;
}
