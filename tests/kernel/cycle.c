/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Loads and unloads a module repeatedly. Usage: cycle FILE NAME TIMES. Prints "FAILED f REFUSED r":
 * the number of failed loads and unloads, and how often the kernel refused to unload the module
 * because it was in use. After a refusal the program tries again. On a busy machine, the processes
 * that use the module may seldom run, so that refusals are rare. If there are fewer than two
 * refusals after TIMES cycles, the program continues until there are two. It ends after 3 * TIMES
 * cycles in all. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct stat file;
    int fd = argc == 4 ? open(argv[1], O_RDONLY) : -1;
    unsigned failed = 0, refused = 0;

    if (fd < 0 || fstat(fd, &file) != 0) {
        perror("cycle");
        return 2;
    }
    void *module = mmap(NULL, (size_t)file.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    const int times = atoi(argv[3]);
    for (int done = 0; done < times || (failed == 0 && refused < 2 && done < 3 * times); done++) {
        int err;

        if (syscall(SYS_init_module, module, file.st_size, "") != 0) {
            printf("cannot load: %s\n", strerror(errno));
            failed++;
            continue;
        }
        while ((err = syscall(SYS_delete_module, argv[2], O_NONBLOCK)) != 0 &&
               (errno == EAGAIN || errno == EBUSY)) {
            refused++;
            usleep(500);
        }
        if (err != 0) {
            printf("cannot unload: %s\n", strerror(errno));
            failed++;
        }
    }
    printf("FAILED %u REFUSED %u\n", failed, refused);
    return failed != 0;
}
