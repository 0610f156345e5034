/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Makes the kernel encrypt and decrypt random lengths, and prints what a trace must show:
 *
 *   asks tls SEED N                     N records of TLS 1.2 with AES-128-GCM through a socket
 *   asks udp SEED N FROM TO ADDRESS     N datagrams between two network namespaces, to an address
 *
 * The kernel makes one request to encrypt and one to decrypt for each record. It does so for each
 * datagram, if the datagrams go through IPsec. The output:
 *
 *   records CALLS BYTES           what was sent
 *   esp BYTES                     of the requests to encrypt in IPsec: for each datagram, the 8
 *                                 bytes of the IV, the headers of IPv4 and UDP, the datagram, and
 *                                 the trailer, which ends at a multiple of 4 (RFC 4303 section 2.4)
 */
#define _GNU_SOURCE /* setns */
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/tls.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef SOL_TLS
#    define SOL_TLS 282
#endif
#ifndef TCP_ULP
#    define TCP_ULP 31
#endif

#define MOST_TLS 16384 /* bytes of a record (RFC 8446 section 5.1) */
#define MOST_UDP 1300  /* no fragments */

static uint64_t state;

static uint32_t random32(void)
{
    /* xorshift64* */
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (uint32_t)((state * 0x2545f4914f6cdd1du) >> 32);
}

static void need(int good, const char *what)
{
    if (!good) {
        perror(what);
        exit(1);
    }
}

static void enter(const char *namespace)
{
    char path[64];
    snprintf(path, sizeof path, "/run/netns/%s", namespace);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    need(fd >= 0 && setns(fd, CLONE_NEWNET) == 0, path);
    close(fd);
}

/* Two sockets: what is sent to the first arrives at the second. */
static void tcp(int ends[2])
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof to;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ends[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    need(bind(listener, (struct sockaddr *)&to, len) == 0 && listen(listener, 1) == 0 &&
             getsockname(listener, (struct sockaddr *)&to, &len) == 0 &&
             connect(ends[0], (struct sockaddr *)&to, len) == 0,
         "connect");
    ends[1] = accept(listener, NULL, NULL);
    close(listener);
    struct tls12_crypto_info_aes_gcm_128 crypto = {
        .info = {TLS_1_2_VERSION, TLS_CIPHER_AES_GCM_128}, .key = "0123456789abcde", .salt = "abc"};
    for (int i = 0; i < 2; i++)
        need(setsockopt(ends[i], IPPROTO_TCP, TCP_ULP, "tls", sizeof "tls") == 0 &&
                 setsockopt(ends[i], SOL_TLS, i == 0 ? TLS_TX : TLS_RX, &crypto, sizeof crypto) ==
                     0,
             "TLS");
}

static void udp(int ends[2], const char *from, const char *to, const char *address)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(7001)};
    need(inet_pton(AF_INET, address, &at.sin_addr) == 1, address);
    enter(to);
    ends[1] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    need(bind(ends[1], (struct sockaddr *)&at, sizeof at) == 0, "bind");
    enter(from);
    ends[0] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    need(connect(ends[0], (struct sockaddr *)&at, sizeof at) == 0, "connect");
}

int main(int argc, char **argv)
{
    static unsigned char out[MOST_TLS], in[MOST_TLS];
    const int is_tls = argc == 4 && strcmp(argv[1], "tls") == 0;
    int ends[2];
    uint64_t bytes = 0, esp = 0;

    if (!is_tls && (argc != 7 || strcmp(argv[1], "udp") != 0))
        return 2;
    state = strtoull(argv[2], NULL, 10) * 2 + 1;
    if (is_tls)
        tcp(ends);
    else
        udp(ends, argv[4], argv[5], argv[6]);
    const struct timeval limit = {.tv_sec = 120};
    need(setsockopt(ends[1], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0, "SO_RCVTIMEO");
    const long count = strtol(argv[3], NULL, 10);
    for (long n = 0; n < count; n++) {
        const size_t len = 1 + random32() % ((is_tls ? MOST_TLS : MOST_UDP) >> random32() % 10);
        for (size_t i = 0; i < len; i++)
            out[i] = (unsigned char)random32();
        need(send(ends[0], out, len, 0) == (ssize_t)len, "send");
        /* A record may arrive in parts. */
        size_t got = 0;
        while (got < len) {
            const ssize_t more = recv(ends[1], in + got, len - got, 0);
            need(more > 0, "recv");
            got += (size_t)more;
        }
        need(memcmp(in, out, len) == 0, "other bytes arrive");
        bytes += len;
        esp += 8 + (20 + 8 + len + 2 + 3) / 4 * 4;
    }
    printf("records %ld %llu\nesp %llu\n", count, (unsigned long long)bytes,
           (unsigned long long)esp);
    return 0;
}
