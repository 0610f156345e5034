/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Sets the priority of a registered crypto driver through crypto_user (CRYPTO_MSG_UPDATEALG).
 * Usage: priority DRIVER N. The driver with the highest priority serves all later opens of its
 * algorithm. The kernel also drops template instances built on the driver, such as seqiv(...).
 * Transforms that are already open keep their driver.
 */
#include <errno.h>
#include <linux/cryptouser.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: priority DRIVER N\n");
        return 2;
    }
    struct {
        struct nlmsghdr header;
        struct crypto_user_alg alg;
        struct rtattr attribute;
        __u32 priority;
    } ask = {
        .header = {.nlmsg_len = sizeof ask,
                   .nlmsg_type = CRYPTO_MSG_UPDATEALG,
                   .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK},
        .attribute = {.rta_len = RTA_LENGTH(sizeof(__u32)), .rta_type = CRYPTOCFGA_PRIORITY_VAL},
        .priority = (__u32)strtoul(argv[2], NULL, 10),
    };
    snprintf(ask.alg.cru_driver_name, sizeof ask.alg.cru_driver_name, "%s", argv[1]);
    struct {
        struct nlmsghdr header;
        struct nlmsgerr error;
        char rest[512];
    } reply = {.error = {.error = -EPROTO}};
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_CRYPTO);
    if (fd < 0 || send(fd, &ask, sizeof ask, 0) != sizeof ask ||
        recv(fd, &reply, sizeof reply, 0) < (ssize_t)(sizeof reply.header + sizeof(int))) {
        perror("priority: crypto_user");
        return 1;
    }
    close(fd);
    if (reply.header.nlmsg_type != NLMSG_ERROR || reply.error.error != 0) {
        fprintf(stderr, "priority: %s: %s\n", argv[1], strerror(-reply.error.error));
        return 1;
    }
    return 0;
}
