/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Has the kernel make an algorithm of templates by asking for it (AF_ALG): instance TYPE NAME. It stays. */
#include <linux/if_alg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: instance skcipher|aead NAME\n");
        return 2;
    }
    struct sockaddr_alg address = {.salg_family = AF_ALG};
    snprintf((char *)address.salg_type, sizeof address.salg_type, "%s", argv[1]);
    snprintf((char *)address.salg_name, sizeof address.salg_name, "%s", argv[2]);
    int fd = socket(AF_ALG, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        perror(argv[2]);
        return 1;
    }
    return 0;
}
