/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Makes a known number of AF_ALG operations. Meanwhile the test paths.sh counts the calls of the
 * kernel functions behind the system calls, and the module's steps (kernel/steps.h). Usage:
 *
 *     chunks send|splice DRIVER OPERATIONS BYTES OFFSET
 *
 * Each operation sends BYTES bytes of one long message and receives the result into the same
 * buffer, which begins at OFFSET in its first page. With "send", the kernel copies the data. With
 * "splice", the program passes the pages themselves, but some kernels copy them anyway
 * (paths.sh).
 */
#define _GNU_SOURCE /* splice, vmsplice */
#include "afalg.h"

#include <fcntl.h>
#include <stdlib.h>

static void fatal(const char *what)
{
    perror(what);
    exit(1);
}

static void send_pages(int pipe_ends[2], int op, unsigned char *data, size_t len)
{
    struct iovec vector = {.iov_base = data, .iov_len = len};
    if (vmsplice(pipe_ends[1], &vector, 1, 0) != (ssize_t)len)
        fatal("vmsplice");
    for (size_t left = len; left > 0;) {
        ssize_t moved = splice(pipe_ends[0], NULL, op, NULL, left, SPLICE_F_MORE);
        if (moved <= 0)
            fatal("splice");
        left -= (size_t)moved;
    }
}

int main(int argc, char **argv)
{
    if (argc != 6) {
        fprintf(stderr, "usage: chunks send|splice DRIVER OPERATIONS BYTES OFFSET\n");
        return 2;
    }
    int splices = strcmp(argv[1], "splice") == 0;
    size_t len = strtoul(argv[4], NULL, 10), offset = strtoul(argv[5], NULL, 10);
    int alg = alg_open("skcipher", argv[2]), pipe_ends[2];
    unsigned char iv[16] = {0}, *pages;
    if (alg < 0 || alg_set_key(alg, "0123456789abcdef", 16) != 0)
        fatal(argv[2]);
    if (posix_memalign((void **)&pages, 4096, len + offset) != 0 || pipe(pipe_ends) != 0 ||
        fcntl(pipe_ends[1], F_SETPIPE_SZ, 1 << 18) < 0)
        fatal("cannot get memory or a pipe");
    unsigned char *data = pages + offset;
    memset(data, 0x5a, len);

    /* Sets the direction and the IV, once for all operations. */
    char control[CMSG_SPACE(4) + CMSG_SPACE(sizeof(struct af_alg_iv) + sizeof(iv))] = {0};
    struct msghdr message = {.msg_control = control, .msg_controllen = sizeof(control)};
    struct cmsghdr *part = CMSG_FIRSTHDR(&message);
    part->cmsg_level = SOL_ALG, part->cmsg_type = ALG_SET_OP, part->cmsg_len = CMSG_LEN(4);
    *(uint32_t *)CMSG_DATA(part) = ALG_OP_ENCRYPT;
    part = CMSG_NXTHDR(&message, part);
    part->cmsg_level = SOL_ALG, part->cmsg_type = ALG_SET_IV;
    part->cmsg_len = CMSG_LEN(sizeof(struct af_alg_iv) + sizeof(iv));
    ((struct af_alg_iv *)CMSG_DATA(part))->ivlen = sizeof(iv);
    int op = accept(alg, NULL, NULL);
    if (op < 0 || sendmsg(op, &message, MSG_MORE) != 0)
        fatal("sendmsg");

    for (unsigned long i = strtoul(argv[3], NULL, 10); i > 0; i--) {
        if (splices)
            send_pages(pipe_ends, op, data, len);
        else if (send(op, data, len, MSG_MORE) != (ssize_t)len)
            fatal("send");
        if (recv(op, data, len, 0) != (ssize_t)len)
            fatal("recv");
    }
    return 0;
}
