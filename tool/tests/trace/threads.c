// SPDX-License-Identifier: BSD-2-Clause
// Three threads that do AES rounds in one function, for ten minutes at most.
#include <immintrin.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#define THREADS 3

static time_t end;

__attribute__((target("aes"), noinline)) void rounds_of_threads(__m128i *state)
{
    __m128i x = *state;
    for (int i = 0; i < 100000; i++) {
        x = _mm_aesenc_si128(x, _mm_set1_epi32(1));
        x = _mm_aesenc_si128(x, _mm_set1_epi32(2));
        x = _mm_aesenclast_si128(x, _mm_set1_epi32(3));
    }
    *state = x;
}

static void *work(void *unused)
{
    __m128i state = _mm_setzero_si128();
    while (time(NULL) < end)
        rounds_of_threads(&state);
    return unused;
}

int main(void)
{
    pthread_t threads[THREADS];
    end = time(NULL) + 600;
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, NULL) != 0)
            return 1;
    puts("ready");
    fflush(stdout);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
