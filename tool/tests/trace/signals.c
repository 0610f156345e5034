/* SPDX-License-Identifier: BSD-2-Clause */
/* Works in two threads until it has used N ms of processor time: signals N. Counts the signals
 * SIGRTMIN that reach it, and ends when SIGTERM does. At its end prints the count; the status is 7.
 * For tests of `tenrounds trace`. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t count, ended;

static void handle(int signal)
{
    if (signal == SIGTERM)
        ended = 1;
    else
        count = count + 1;
}

static long used(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/* Work without system calls, between which the time is looked at. */
static void *work(void *most)
{
    while (!ended && used() < *(long *)most)
        for (volatile int i = 0; i < 1000000; i++)
            ;
    return NULL;
}

int main(int argc, char **argv)
{
    long most = argc == 2 ? atol(argv[1]) : 0;
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
    sigset_t counted;
    pthread_t thread;
    alarm(600);
    sigaction(SIGRTMIN, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    /* Only the first thread counts. */
    sigemptyset(&counted);
    sigaddset(&counted, SIGRTMIN);
    pthread_sigmask(SIG_BLOCK, &counted, NULL);
    puts("ready");
    if (fflush(stdout) != 0 || pthread_create(&thread, NULL, work, &most) != 0)
        return 2;
    pthread_sigmask(SIG_UNBLOCK, &counted, NULL);
    work(&most);
    pthread_join(thread, NULL);
    printf("%d\n", (int)count);
    return 7;
}
