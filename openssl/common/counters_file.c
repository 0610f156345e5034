/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "counters_file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(sizeof(struct trossl_counters_file) ==
                   24 + 16 * (TR_MAX_BACKENDS + TR_OPS) + sizeof(struct tr_counters),
               "the layout has no gaps");

/* Ours to use: a regular file of this user, empty or of the right size. */
static int is_suitable(int fd, off_t *size)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid())
        return 0;
    *size = st.st_size;
    return st.st_size == 0 || st.st_size == (off_t)sizeof(struct trossl_counters_file);
}

/* Processes that start together all write this, the same bytes; hence no lock. The magic comes
 * last: who sees it sees the rest. */
static void describe(struct trossl_counters_file *file)
{
    file->backends = TR_MAX_BACKENDS;
    file->ops = TR_OPS;
    for (unsigned i = 0; tr_backend_at(i) != NULL; i++)
        strncpy(file->backend_name[i], tr_backend_name(tr_backend_at(i)), TROSSL_COUNTERS_NAME - 1);
    for (unsigned op = 0; op < TR_OPS; op++)
        strncpy(file->op_name[op], tr_op_name(op), TROSSL_COUNTERS_NAME - 1);
    uint64_t magic;
    memcpy(&magic, TROSSL_COUNTERS_MAGIC, sizeof(magic));
    __atomic_store_n((uint64_t *)(void *)file->magic, magic, __ATOMIC_RELEASE);
}

static int is_ours_or_new(const struct trossl_counters_file *file)
{
    static const char none[sizeof(file->magic)];
    uint64_t magic = __atomic_load_n((const uint64_t *)(const void *)file->magic, __ATOMIC_ACQUIRE);
    if (memcmp(&magic, none, sizeof(magic)) == 0)
        return 1;
    return memcmp(&magic, TROSSL_COUNTERS_MAGIC, sizeof(magic)) == 0 &&
           file->backends == TR_MAX_BACKENDS && file->ops == TR_OPS;
}

static struct trossl_counters_file *map(int fd)
{
    off_t size;
    if (!is_suitable(fd, &size))
        return NULL;
    if (size == 0 && ftruncate(fd, sizeof(struct trossl_counters_file)) != 0)
        return NULL;
    void *memory =
        mmap(NULL, sizeof(struct trossl_counters_file), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

struct trossl_counters_file *trossl_counters_open(const char *path)
{
    if (path == NULL || *path == '\0')
        return NULL;
    /* O_NONBLOCK: not to wait for the writer of a FIFO that somebody put there. */
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return NULL;
    struct trossl_counters_file *file = map(fd);
    close(fd);
    if (file == NULL)
        return NULL;
    if (!is_ours_or_new(file)) {
        trossl_counters_close(file);
        return NULL;
    }
    describe(file);
    __atomic_fetch_add(&file->processes, 1, __ATOMIC_RELAXED);
    return file;
}

void trossl_counters_close(struct trossl_counters_file *file)
{
    if (file != NULL)
        munmap(file, sizeof(*file));
}
