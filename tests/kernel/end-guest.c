/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Ends the emulator with an exit code: QEMU's device isa-debug-exit at port 0xf4 turns the byte N
 * into exit code 2N + 1. The program uses port instructions, because cloud kernels have no
 * /dev/port. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/io.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc != 2 || iopl(3) != 0) {
        perror("end-guest");
        return 1;
    }
    outb((unsigned char)atoi(argv[1]), 0xf4);
    for (;;)
        pause();
}
