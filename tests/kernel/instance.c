/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Creates an instance of a template algorithm, such as seqiv(...), by opening it through AF_ALG.
 * Usage: instance TYPE NAME. The instance stays registered afterwards. */
#include "afalg.h"

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: instance skcipher|aead NAME\n");
        return 2;
    }
    int fd = alg_open(argv[1], argv[2]);
    if (fd < 0) {
        fprintf(stderr, "%s: %s\n", argv[2], strerror(-fd));
        return 1;
    }
    return 0;
}
