/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Makes the kernel encrypt and decrypt random lengths, and prints what `tenrounds trace` must show:
 *
 *   asks tls1.2|tls1.3 SEED N           N records with AES-128-GCM through a socket
 *   asks udp SEED N FROM TO ADDRESS     N datagrams between two network namespaces, to an address
 *
 * For each record, and for each datagram through IPsec, the kernel makes one request to encrypt and
 * one to decrypt. In the output, FROM:CALLS:BYTES counts one size class (sums.h):
 *
 *   encrypt CALLS BYTES FROM:CALLS:BYTES...     requests to encrypt
 *   decrypt CALLS BYTES FROM:CALLS:BYTES...     requests to decrypt; BYTES includes the tag
 *
 * For IPsec, these are the requests to the template `seqiv`. Two more lines of this form, `sealed`
 * and `opened`, count the requests that `seqiv` makes to the driver behind it, without the IV.
 *
 * For a record, BYTES counts its data and, in TLS 1.3, its type (RFC 8446 section 5.2). For a
 * datagram, BYTES counts the 8 bytes of the IV, the headers of IPv4 and UDP, the data, and the
 * trailer. The trailer ends at a multiple of 4 bytes (RFC 4303 section 2.4).
 */
#define _GNU_SOURCE /* setns */
#include <arpa/inet.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sums.h"
#include "tls.h"

#define MOST_UDP 1300 /* no fragments */
#define IV       8
#define TAG      16

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

/* Opens a TLS connection. Data that the test sends through ends[0] arrives at ends[1]. */
static void tcp(int ends[2], __u16 version)
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
        .info = {version, TLS_CIPHER_AES_GCM_128}, .key = "0123456789abcde", .salt = "abc"};
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

/* Sends random data of this length and receives it. */
static void pass(const int ends[2], size_t len)
{
    static unsigned char out[RECORD], in[RECORD];
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
}

int main(int argc, char **argv)
{
    const int is_tls12 = argc == 4 && strcmp(argv[1], "tls1.2") == 0;
    const int is_tls13 = argc == 4 && strcmp(argv[1], "tls1.3") == 0;
    const int is_udp = argc == 7 && strcmp(argv[1], "udp") == 0;
    struct sums encrypt = {0}, decrypt = {0}, sealed = {0}, opened = {0};
    int ends[2];

    if (!is_tls12 && !is_tls13 && !is_udp)
        return 2;
    seed(argv[2]);
    if (is_udp)
        udp(ends, argv[4], argv[5], argv[6]);
    else
        tcp(ends, is_tls13 ? TLS_1_3_VERSION : TLS_1_2_VERSION);
    const struct timeval limit = {.tv_sec = 120};
    need(setsockopt(ends[1], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0, "SO_RCVTIMEO");
    for (long n = strtol(argv[3], NULL, 10); n > 0; n--) {
        const size_t len = 1 + (is_udp ? random32() % MOST_UDP : random_length(RECORD));
        pass(ends, len);
        const size_t message = is_udp ? (20 + 8 + len + 2 + 3) / 4 * 4 : len + (size_t)is_tls13;
        const size_t iv = is_udp ? IV : 0;
        add(&encrypt, iv + message);
        add(&decrypt, iv + message + TAG);
        add(&sealed, message);
        add(&opened, message + TAG);
    }
    print("encrypt", &encrypt);
    print("decrypt", &decrypt);
    if (is_udp) {
        print("sealed", &sealed);
        print("opened", &opened);
    }
    return 0;
}
