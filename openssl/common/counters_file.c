/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "counters_file.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_FITS(constant, name)                                                                  \
    _Static_assert(sizeof(#name) <= TROSSL_COUNTERS_NAME, "the name ends within its field");
TR_BULK_OPS(NAME_FITS)
#undef NAME_FITS

_Static_assert(sizeof(struct trossl_counters_file) ==
                   24 + 16 * (TR_MAX_BACKENDS + TR_OPS) + sizeof(struct tr_counters),
               "the layout has no gaps");

_Static_assert(sizeof(struct trossl_counters_file) <= TROSSL_COUNTERS_SECTION &&
                   TROSSL_HOSTS * TROSSL_COUNTERS_SECTION <= TROSSL_COUNTERS_ROOM,
               "the memfd has room for a section of each host");

static size_t counters_offset_of(enum trossl_host host)
{
    return (size_t)host * TROSSL_COUNTERS_SECTION;
}

/* Calls statx(2), because glibc 2.33 gave stat() and fstat() a new version: a module that is linked
 * there would not load with an older glibc. An empty path means the descriptor. */
static int counters_state(int fd, const char *path, struct statx *st)
{
    return statx(fd, path, AT_EMPTY_PATH, STATX_TYPE | STATX_UID | STATX_SIZE, st) == 0;
}

/* Whether the file is regular, belongs to the effective user, and has room for the host's
 * section. */
static int counters_may_be_in(const struct statx *st, enum trossl_host host)
{
    return S_ISREG(st->stx_mode) && st->stx_uid == geteuid() &&
           st->stx_size >= counters_offset_of(host) + sizeof(struct trossl_counters_file);
}

/* Whether this is a counters file with F_SEAL_SHRINK, so that it never becomes shorter than its
 * mapping. Only a memfd can have this seal, so a file on disk is not suitable. */
static int counters_is_suitable(int fd, enum trossl_host host)
{
    struct statx st;
    char begin[8];
    const int seals = fcntl(fd, F_GET_SEALS);
    return seals != -1 && (seals & F_SEAL_SHRINK) != 0 && counters_state(fd, "", &st) &&
           counters_may_be_in(&st, host) && pread(fd, begin, sizeof(begin), 0) == sizeof(begin) &&
           (memcmp(begin, TROSSL_COUNTERS_NEW, sizeof(begin)) == 0 ||
            memcmp(begin, TROSSL_COUNTERS_MAGIC, sizeof(begin)) == 0);
}

/* Writes the table sizes (TR_MAX_BACKENDS, TR_OPS) and the names of the backends and operations
 * into the section. Processes that start together write the same bytes, so no lock is needed.
 * Writes the magic last, so that a process that sees the magic also sees the names. */
static void counters_describe(struct trossl_counters_file *file)
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

static int counters_is_ours_or_new(const struct trossl_counters_file *file, enum trossl_host host)
{
    static const char zeros[8];
    const char *const new = host == 0 ? TROSSL_COUNTERS_NEW : zeros;
    uint64_t magic = __atomic_load_n((const uint64_t *)(const void *)file->magic, __ATOMIC_ACQUIRE);
    if (memcmp(&magic, new, sizeof(magic)) == 0)
        return 1;
    return memcmp(&magic, TROSSL_COUNTERS_MAGIC, sizeof(magic)) == 0 &&
           file->backends == TR_MAX_BACKENDS && file->ops == TR_OPS;
}

/* Returns a descriptor for `path`, or -1. Looks at it first, because opening a device or a FIFO
 * can have side effects. */
static int counters_open_path(const char *path, enum trossl_host host)
{
    struct statx st;
    if (!counters_state(AT_FDCWD, path, &st) || !counters_may_be_in(&st, host))
        return -1;
    return open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

/* Returns a duplicate of this process's descriptor N for the path /proc/PID/fd/N, or -1 if N is not
 * open. */
static int counters_inherited(const char *path)
{
    const char *name = strrchr(path, '/');
    int fd = 0;
    if (name == NULL || name[1] == '\0')
        return -1;
    for (const char *digit = name + 1; *digit != '\0'; digit++) {
        if (*digit < '0' || *digit > '9' || fd > (INT_MAX - 9) / 10)
            return -1;
        fd = 10 * fd + (*digit - '0');
    }
    return fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

/* The offset of an address or file position within its page. On Arm, pages can have 64 KiB, and a
 * section can then begin in the middle of a page. */
static size_t counters_in_page(size_t position)
{
    return position & ((size_t)getpagesize() - 1);
}

/* Maps the host's section, or returns NULL. fallocate() allocates every page first, so that no
 * write can raise SIGBUS. */
static struct trossl_counters_file *counters_map(int fd, enum trossl_host host)
{
    const size_t size = sizeof(struct trossl_counters_file), at = counters_offset_of(host);
    const size_t before = counters_in_page(at);
    if (!counters_is_suitable(fd, host) || fallocate(fd, 0, (off_t)at, (off_t)size) != 0)
        return NULL;
    char *memory =
        mmap(NULL, before + size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)(at - before));
    return memory == MAP_FAILED ? NULL : (void *)(memory + before);
}

struct trossl_counters_file *trossl_counters_open(const char *path, enum trossl_host host)
{
    if (path == NULL || *path == '\0')
        return NULL;
    int fd = counters_open_path(path, host);
    if (fd < 0)
        fd = counters_inherited(path);
    if (fd < 0)
        return NULL;
    struct trossl_counters_file *file = counters_map(fd, host);
    close(fd);
    if (file == NULL)
        return NULL;
    if (!counters_is_ours_or_new(file, host)) {
        trossl_counters_close(file);
        return NULL;
    }
    counters_describe(file);
    __atomic_fetch_add(&file->processes, 1, __ATOMIC_RELAXED);
    return file;
}

void trossl_counters_close(struct trossl_counters_file *file)
{
    const size_t before = counters_in_page((uintptr_t)file);
    if (file != NULL)
        munmap((char *)file - before, before + sizeof(*file));
}
