/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Loads a module repeatedly, and makes each allocation of the load fail in turn, by the kernel's
 * fault injection:
 *
 *     starve FILE NAME PARAMETERS
 *
 * In run n, the nth allocation of this process fails while it loads the module. If loading fails,
 * the error must be ENOMEM. If loading succeeds, this program unloads the module. In both cases,
 * /proc/crypto must then list no driver of the module. Ends with the first run that makes fewer
 * than n allocations.
 *
 * This program also ends if the failed allocation keeps the kernel from starting the self-test of
 * an algorithm that the module registers. The kernel then warns, leaves the self-test pending, and
 * keeps the module loaded (crypto_schedule_test() in crypto/api.c), so no further run is possible.
 * The registration of the first algorithm already reaches this point. By then, each earlier
 * allocation of our module has failed once; later registrations are not tested.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST 5000

static void fatal(const char *what)
{
    perror(what);
    exit(1);
}

static void set(const char *path, const char *value)
{
    int fd = open(path, O_WRONLY);

    if (fd < 0 || write(fd, value, strlen(value)) < 0)
        fatal(path);
    close(fd);
}

/* Whether /proc/crypto names a driver of ours. */
static int has_drivers(void)
{
    FILE *file = fopen("/proc/crypto", "r");
    char line[256];
    int found = 0;

    if (file == NULL)
        fatal("/proc/crypto");
    while (fgets(line, sizeof(line), file) != NULL)
        found |= strstr(line, "-tenrounds-") != NULL;
    fclose(file);
    return found;
}

/* Tries to unload the module for 5 seconds, because the kernel holds a reference until a
 * registration is complete. Returns whether the module is unloaded. */
static int unload(const char *name)
{
    for (int i = 0; syscall(SYS_delete_module, name, O_NONBLOCK) != 0; i++) {
        if (errno != EAGAIN)
            fatal("delete_module");
        if (i == 500)
            return 0;
        usleep(10000);
    }
    return 1;
}

/* Prints the number of runs with a failed allocation, and in how many of them the load failed or
 * succeeded. Returns the exit status: 1 if no load failed, else 0. */
static int report(unsigned nth, unsigned failed, unsigned tolerated, const char *more)
{
    printf("%u allocations failed: %u loads failed, %u succeeded%s\n", nth, failed, tolerated,
           more);
    return failed == 0;
}

int main(int argc, char **argv)
{
    int module = argc == 4 ? open(argv[1], O_RDONLY) : -1;
    int nth_file = open("/proc/self/fail-nth", O_RDWR);
    unsigned failed = 0, tolerated = 0;

    if (module < 0 || nth_file < 0)
        fatal("starve FILE NAME PARAMETERS");
    /* By default, allocations that may sleep do not fail. */
    set("/sys/kernel/debug/failslab/ignore-gfp-wait", "N");
    set("/sys/kernel/debug/failslab/verbose", "0");
    set("/sys/kernel/debug/fail_page_alloc/ignore-gfp-wait", "N");
    set("/sys/kernel/debug/fail_page_alloc/min-order", "0");
    set("/sys/kernel/debug/fail_page_alloc/verbose", "0");
    for (unsigned nth = 1; nth <= MOST; nth++) {
        char text[16] = "";
        int err;

        snprintf(text, sizeof(text), "%u", nth);
        if (pwrite(nth_file, text, strlen(text), 0) < 0)
            fatal("fail-nth");
        err = syscall(SYS_finit_module, module, argv[3], 0) == 0 ? 0 : errno;
        memset(text, 0, sizeof(text));
        if (pread(nth_file, text, sizeof(text) - 1, 0) < 0 || pwrite(nth_file, "0", 1, 0) < 0)
            fatal("fail-nth");
        if (err != 0 && err != ENOMEM) {
            printf("allocation %u fails: %s\n", nth, strerror(err));
            return 1;
        }
        if (err == 0 && !unload(argv[2])) {
            if (atoi(text) == 0)
                return report(nth, failed, tolerated + 1, "; the kernel keeps the module");
            printf("the module cannot be unloaded\n");
            return 1;
        }
        if (has_drivers()) {
            printf("allocation %u fails: drivers are left\n", nth);
            return 1;
        }
        if (atoi(text) != 0) /* the load made fewer than `nth` allocations */
            return err != 0 || report(nth - 1, failed, tolerated, "");
        failed += err != 0;
        tolerated += err == 0;
        if (nth % 50 == 0) {
            printf("%u so far\n", nth);
            fflush(stdout);
        }
    }
    printf("more than %d allocations\n", MOST);
    return 1;
}
