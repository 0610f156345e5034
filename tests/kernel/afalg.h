/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * AF_ALG for the test programs in the guests. Programs that test a driver open it by the driver's
 * name, so that no other driver can serve the requests. All functions return a negative errno on
 * failure. The functions are static, so that each program is built from one file.
 */
#ifndef GUEST_AFALG_H
#define GUEST_AFALG_H

#include <errno.h>
#include <linux/if_alg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef SOL_ALG
#    define SOL_ALG 279
#endif

/* Allows all algorithms, and drivers by their names. Since Linux 7.3, AF_ALG by default opens only
 * some algorithms. Kernels without this restriction do not have the file. */
static inline void alg_unrestrict(void)
{
    FILE *file = fopen("/proc/sys/crypto/af_alg_restrict", "w");

    if (file != NULL) {
        fputs("0", file);
        fclose(file);
    }
}

/* Opens a socket for the algorithm. The type is "skcipher", "aead" or "hash". */
static inline int alg_open_allowed(const char *type, const char *driver)
{
    struct sockaddr_alg address = {.salg_family = AF_ALG};
    int fd = socket(AF_ALG, SOCK_SEQPACKET, 0);

    if (fd < 0)
        return -errno;
    snprintf((char *)address.salg_type, sizeof(address.salg_type), "%s", type);
    snprintf((char *)address.salg_name, sizeof(address.salg_name), "%s", driver);
    if (bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
        int err = errno;
        close(fd);
        return -err;
    }
    return fd;
}

/* Calls alg_unrestrict(), then alg_open_allowed(). Only programs in guests may call this
 * function, because alg_unrestrict() changes the whole machine. */
static inline int alg_open(const char *type, const char *driver)
{
    alg_unrestrict();
    return alg_open_allowed(type, driver);
}

static inline int alg_set_key(int alg, const void *key, size_t len)
{
    return setsockopt(alg, SOL_ALG, ALG_SET_KEY, key, (socklen_t)len) == 0 ? 0 : -errno;
}

static inline int alg_set_tag_size(int alg, size_t len)
{
    return setsockopt(alg, SOL_ALG, ALG_SET_AEAD_AUTHSIZE, NULL, (socklen_t)len) == 0 ? 0 : -errno;
}

/* Makes one request on a socket that accept() returned. For an AEAD, `in` begins with the AAD.
 * Returns the number of output bytes. */
static inline ssize_t alg_crypt(int op, int decrypt, const uint8_t *iv, size_t iv_len,
                                size_t aad_len, const void *in, size_t in_len, void *out,
                                size_t room)
{
    char control[CMSG_SPACE(4) + CMSG_SPACE(sizeof(struct af_alg_iv) + 64) + CMSG_SPACE(4)] = {0};
    struct iovec data = {.iov_base = (void *)(uintptr_t)in, .iov_len = in_len};
    struct msghdr message = {.msg_control = control,
                             .msg_controllen = sizeof(control),
                             .msg_iov = &data,
                             .msg_iovlen = 1};
    struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    uint32_t operation = decrypt ? ALG_OP_DECRYPT : ALG_OP_ENCRYPT, assoc = (uint32_t)aad_len;
    size_t used = 0;
    ssize_t n;

    c->cmsg_level = SOL_ALG;
    c->cmsg_type = ALG_SET_OP;
    c->cmsg_len = CMSG_LEN(4);
    memcpy(CMSG_DATA(c), &operation, 4);
    used += CMSG_SPACE(4);
    c = (struct cmsghdr *)(control + used);
    if (iv_len != 0) {
        struct af_alg_iv *v = (struct af_alg_iv *)CMSG_DATA(c);
        c->cmsg_level = SOL_ALG;
        c->cmsg_type = ALG_SET_IV;
        c->cmsg_len = CMSG_LEN(sizeof(*v) + iv_len);
        v->ivlen = (uint32_t)iv_len;
        memcpy(v->iv, iv, iv_len);
        used += CMSG_SPACE(sizeof(*v) + iv_len);
        c = (struct cmsghdr *)(control + used);
    }
    c->cmsg_level = SOL_ALG;
    c->cmsg_type = ALG_SET_AEAD_ASSOCLEN;
    c->cmsg_len = CMSG_LEN(4);
    memcpy(CMSG_DATA(c), &assoc, 4);
    used += CMSG_SPACE(4);
    message.msg_controllen = used;
    if (sendmsg(op, &message, 0) != (ssize_t)in_len)
        return -errno;
    n = read(op, out, room);
    return n < 0 ? -errno : n;
}

/* Hashes `in` on a socket that accept() returned. Returns the number of output bytes. */
static inline ssize_t alg_hash(int op, const void *in, size_t in_len, void *out, size_t room)
{
    ssize_t n;

    if (send(op, in, in_len, 0) != (ssize_t)in_len)
        return -errno;
    n = read(op, out, room);
    return n < 0 ? -errno : n;
}

#endif
