/* SPDX-License-Identifier: BSD-2-Clause */
/* Executes itself N times: executes N. Each time, a second thread works and calls execve(2). The
 * first thread of the new program sends itself a signal; the last program ends with the status 7.
 * For tests of `tenrounds trace`. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* So many arguments keep the thread in execve for as long as it works before. */
#define ARGUMENTS 100000

static char *arguments[ARGUMENTS + 1];
static volatile sig_atomic_t count;

static void handle(int signal)
{
    (void)signal;
    count = count + 1;
}

static void *execute(void *unused)
{
    struct timespec time = {0};
    while (time.tv_nsec < 20000000 && time.tv_sec == 0)
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    execv("/proc/self/exe", arguments);
    perror("execv");
    _exit(2);
    return unused;
}

int main(int argc, char **argv)
{
    int left = argc >= 2 ? atoi(argv[1]) : 0;
    char number[12];
    pthread_t thread;
    alarm(600);
    signal(SIGUSR1, handle);
    if (raise(SIGUSR1) != 0 || count != 1)
        return 3;
    if (left == 0)
        return 7;
    snprintf(number, sizeof(number), "%d", left - 1);
    for (int i = 0; i < ARGUMENTS; i++)
        arguments[i] = "";
    arguments[1] = number;
    if (pthread_create(&thread, NULL, execute, NULL) != 0)
        return 4;
    pthread_join(thread, NULL);
    return 5;
}
