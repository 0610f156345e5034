/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The first process in user-mode Linux:
 *
 *     init SCRIPT FOLDER
 *
 * The root file system is the host's, read-only. This program mounts the host's FOLDER for the
 * results, runs the script, prints its exit status and powers off. It must not exit, because the
 * kernel would panic.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/wait.h>
#include <unistd.h>

static void mounted(const char *what, const char *type, const char *where, const char *options)
{
    if (mount(what, where, type, 0, options) != 0)
        perror(where);
}

int main(int argc, char **argv)
{
    int status = -1;
    if (argc >= 3) { /* >= because user-mode Linux appends an argument */
        mounted("proc", "proc", "/proc", NULL);
        mounted("sys", "sysfs", "/sys", NULL);
        mounted("debug", "debugfs", "/sys/kernel/debug", NULL);
        mounted("results", "hostfs", "/mnt", argv[2]);
        setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin", 1);
        pid_t child = fork();
        if (child == 0) {
            execl("/bin/sh", "sh", argv[1], "/mnt", NULL);
            perror("/bin/sh");
            _exit(127);
        }
        waitpid(child, &status, 0);
    }
    printf("init: the script ended with status %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    fflush(stdout);
    sync();
    reboot(RB_POWER_OFF);
    return 1;
}
