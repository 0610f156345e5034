/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Seals all files of a directory with multi-buffer calls, or opens them again:
 *
 *     seal_directory seal [--own-keys] KEY FROM TO   makes TO/NAME.sealed from each file FROM/NAME
 *     seal_directory open KEY FROM TO                makes TO/NAME from each file FROM/NAME.sealed
 *
 * KEY is a file of 16, 24 or 32 random bytes. The program uses tenrounds.h alone. README.md
 * describes the file format and says why the mode is CCM.
 */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <tenrounds.h>
#include <time.h>
#include <unistd.h>

#define BATCH   192         /* the most files in one multi-buffer call */
#define MEMORY  (64u << 20) /* a batch ends early if its files exceed this many bytes */
#define LONGEST 0xffffffu   /* the most bytes of a CCM message with a nonce of 12 bytes */
#define NONCE   12u
#define SALT    16u
#define TAG     16u
#define SUFFIX  ".sealed"
#define PAIRS   21 /* the number of measurements in compare() */

/* The header of a sealed file. The encrypted bytes of the file and the tag follow it. */
struct header {
    uint8_t magic[7], own_key, nonce[NONCE], salt[SALT];
};
static const uint8_t magic[7] = {'T', 'R', 'S', 'E', 'A', 'L', '1'};

struct file {
    char *name;    /* without SUFFIX */
    uint8_t *data; /* of `room` bytes: header, data, tag */
    size_t room;
    size_t len;   /* of the data; before open_all(), of the whole sealed file */
    uint8_t *aad; /* header and name */
    struct tr_ccm_key own_key;
    const struct tr_ccm_key *key; /* points to own_key, or to the key of all files */
};

static struct {
    uint8_t key[32];
    size_t key_len;
    int own_keys, opening;
    const char *from, *to;
} job;

static int fail(const char *what, const char *name, const char *why)
{
    fprintf(stderr, "seal_directory: %s%s%s: %s\n", what, *name ? " " : "", name, why);
    return 0;
}

/* ---- Files ---------------------------------------------------------------------------------- */

static char *path_of(const char *directory, const char *name, const char *suffix)
{
    char *path = malloc(strlen(directory) + strlen(name) + strlen(suffix) + 2);
    if (path != NULL)
        sprintf(path, "%s/%s%s", directory, name, suffix);
    return path;
}

/* Reads a whole file. For sealing, leaves room for the header before it and the tag after it. */
static int read_file(struct file *f)
{
    const size_t before = job.opening ? 0 : sizeof(struct header);
    char *path = path_of(job.from, f->name, job.opening ? SUFFIX : "");
    const int fd = path == NULL ? -1 : open(path, O_RDONLY);
    struct stat status;
    int good = fd >= 0 && fstat(fd, &status) == 0;
    if (!good)
        fail("cannot read", path == NULL ? f->name : path, strerror(errno));
    else if (status.st_size > (off_t)(LONGEST + (job.opening ? sizeof(struct header) + TAG : 0)))
        good = fail(job.opening ? "cannot open" : "cannot seal", path,
                    "the file must be smaller than 16 MiB");
    size_t have = 0;
    if (good) {
        f->len = (size_t)status.st_size;
        f->room = f->len + sizeof(struct header) + TAG;
        f->data = malloc(f->room);
        good = f->data != NULL || fail("cannot read", path, strerror(errno));
    }
    while (good && have < f->len) {
        const ssize_t n = read(fd, f->data + before + have, f->len - have);
        if (n <= 0)
            good = fail("cannot read", path, n == 0 ? "the file became shorter" : strerror(errno));
        else
            have += (size_t)n;
    }
    if (fd >= 0)
        close(fd);
    free(path);
    return good;
}

/* Writes a new file; an existing file stays as it is. */
static int write_file(const struct file *f, const uint8_t *data, size_t len)
{
    char *path = path_of(job.to, f->name, job.opening ? "" : SUFFIX);
    const int fd = path == NULL ? -1 : open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    int good = fd >= 0 || fail("cannot write", path == NULL ? f->name : path, strerror(errno));
    for (size_t done = 0; good && done < len;) {
        const ssize_t n = write(fd, data + done, len - done);
        if (n < 0)
            good = fail("cannot write", path, strerror(errno));
        else
            done += (size_t)n;
    }
    if (fd >= 0 && close(fd) != 0)
        good = fail("cannot write", path, strerror(errno));
    if (!good && fd >= 0)
        unlink(path);
    free(path);
    return good;
}

static void forget(struct file *f)
{
    free(f->name);
    free(f->aad);
    if (f->data != NULL)
        tr_cleanse(f->data, f->room);
    free(f->data);
    tr_cleanse(f, sizeof(*f));
}

/* ---- Keys ----------------------------------------------------------------------------------- */

/*
 * Derives a key for each file from KEY and the file's salt, by NIST SP 800-108 in counter mode with
 * CMAC. The CMAC input is one counter byte, the label, a zero byte, the salt, and the key length in
 * bits. Each file needs one such input, or two if the key is longer than 16 bytes. One multi-buffer
 * call computes all CMACs.
 */
static int derive(struct file *files, size_t count)
{
    static const uint8_t label[] = "file"; /* including the terminating zero */
    enum { LEN = 1 + sizeof(label) + SALT + 2 };
    static struct tr_cmac_job jobs[2 * BATCH];
    static uint8_t input[2 * BATCH][LEN];
    struct tr_cmac_key cmac;
    const size_t each = job.key_len > 16 ? 2 : 1, bits = 8 * job.key_len;
    int good = tr_cmac_set_key(&cmac, NULL, job.key, job.key_len) == TR_OK;
    for (size_t i = 0; i < each * count; i++) {
        const struct header *h = (const struct header *)files[i / each].data;
        input[i][0] = (uint8_t)(1 + i % each);
        memcpy(input[i] + 1, label, sizeof(label));
        memcpy(input[i] + 1 + sizeof(label), h->salt, SALT);
        input[i][LEN - 2] = (uint8_t)(bits >> 8);
        input[i][LEN - 1] = (uint8_t)bits;
        jobs[i] = (struct tr_cmac_job){.key = &cmac, .data = input[i], .len = LEN};
    }
    good = good && tr_cmac_sign_many(jobs, each * count) == TR_OK;
    for (size_t i = 0; good && i < count; i++) {
        uint8_t key[32];
        for (size_t k = 0; k < each; k++)
            memcpy(key + 16 * k, jobs[each * i + k].tag, 16);
        good = tr_ccm_set_key(&files[i].own_key, NULL, key, job.key_len) == TR_OK;
        files[i].key = &files[i].own_key;
        tr_cleanse(key, sizeof(key));
    }
    tr_cleanse(jobs, sizeof(jobs));
    tr_cleanse(&cmac, sizeof(cmac));
    return good || fail("keys", "", "cannot be derived");
}

static struct tr_ccm_key key_of_all;

static int set_keys(struct file *files, size_t count)
{
    if (job.own_keys)
        return derive(files, count);
    if (tr_ccm_set_key(&key_of_all, NULL, job.key, job.key_len) != TR_OK)
        return fail("key", "", "cannot be set");
    for (size_t i = 0; i < count; i++)
        files[i].key = &key_of_all;
    return 1;
}

/* ---- Sealing and opening --------------------------------------------------------------------- */

static struct tr_ccm_job jobs[BATCH];

/* Prepares one in-place job for each file. The tag also covers the header and the name. */
static int prepare(struct file *files, size_t count)
{
    if (!set_keys(files, count))
        return 0;
    for (size_t i = 0; i < count; i++) {
        struct file *f = &files[i];
        const size_t name = strlen(f->name);
        uint8_t *data = f->data + sizeof(struct header);
        f->aad = malloc(sizeof(struct header) + name);
        if (f->aad == NULL)
            return fail("memory", "", strerror(errno));
        memcpy(f->aad, f->data, sizeof(struct header));
        memcpy(f->aad + sizeof(struct header), f->name, name);
        jobs[i] = (struct tr_ccm_job){.key = f->key,
                                      .nonce = ((struct header *)f->data)->nonce,
                                      .nonce_len = NONCE,
                                      .aad = f->aad,
                                      .aad_len = sizeof(struct header) + name,
                                      .out = data,
                                      .in = data,
                                      .len = f->len,
                                      .tag = data + f->len,
                                      .tag_len = TAG};
    }
    return 1;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Measures the multi-buffer call and single calls alternately, PAIRS times each. Returns the median
 * ratio of a pair: the time of the single calls, divided by the time of the multi-buffer call. The
 * output goes to buffers that are then discarded. Reusing the nonces is harmless here, because the
 * data is the same, and so is the output. */
static double compare(size_t count)
{
    static struct tr_ccm_job many[BATCH];
    static uint8_t tags[BATCH][TAG];
    double ratio[PAIRS];
    size_t made = 0;
    int good = 1;
    for (; made < count; made++) {
        many[made] = jobs[made];
        many[made].tag = tags[made];
        many[made].out = malloc(jobs[made].len + 1);
        if (many[made].out == NULL)
            break;
    }
    for (int i = 0; i < PAIRS; i++) {
        const double begin = now();
        good &= tr_ccm_seal_many(many, made) == TR_OK;
        const double middle = now();
        for (size_t k = 0; k < made; k++) {
            const struct tr_ccm_job *j = &many[k];
            good &= tr_ccm_seal(j->key, j->nonce, j->nonce_len, j->aad, j->aad_len, j->out, j->in,
                                j->len, j->tag, j->tag_len) == TR_OK;
        }
        ratio[i] = (now() - middle) / (middle - begin);
    }
    for (size_t k = 0; k < made; k++)
        free(many[k].out);
    qsort(ratio, PAIRS, sizeof(*ratio), by_value);
    return good ? ratio[PAIRS / 2] : 0;
}

static int seal(struct file *files, size_t count, double *ratio)
{
    int good = 1;
    for (size_t i = 0; i < count; i++) {
        struct header *h = (struct header *)files[i].data;
        uint8_t random[NONCE + SALT];
        if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
            return fail("random numbers", "", strerror(errno));
        memset(h, 0, sizeof(*h));
        memcpy(h->magic, magic, sizeof(magic));
        h->own_key = (uint8_t)job.own_keys;
        memcpy(h->nonce, random, NONCE);
        if (job.own_keys)
            memcpy(h->salt, random + NONCE, SALT);
    }
    if (!prepare(files, count))
        return 0;
    if (*ratio == 0)
        *ratio = compare(count);
    const enum tr_status status = tr_ccm_seal_many(jobs, count);
    if (status != TR_OK)
        return fail("sealing", "", tr_strerror(status));
    for (size_t i = 0; i < count; i++)
        good &= write_file(&files[i], files[i].data, sizeof(struct header) + files[i].len + TAG);
    return good;
}

/* Whether the file has this program's header, and the same setting of --own-keys as the first
 * file. */
static int is_sealed(const struct file *file)
{
    static int first = 1;
    const struct header *h = (const struct header *)file->data;
    if (file->len < sizeof(*h) + TAG || memcmp(h->magic, magic, sizeof(magic)) != 0 ||
        h->own_key > 1)
        return fail("cannot open", file->name, "the file was not sealed by this program");
    if (first)
        job.own_keys = h->own_key;
    first = 0;
    if (h->own_key != job.own_keys)
        return fail("cannot open", file->name, "only some files were sealed with --own-keys");
    return 1;
}

static int open_all(struct file *files, size_t count)
{
    int good = 1;
    for (size_t i = 0; i < count; i++)
        files[i].len -= sizeof(struct header) + TAG;
    if (!prepare(files, count))
        return 0;
    /* Each job has its own status. Writes nothing for a file that is not authentic. */
    const enum tr_status status = tr_ccm_open_many(jobs, count);
    if (status != TR_OK && status != TR_ERR_TAG)
        return fail("opening", "", tr_strerror(status));
    for (size_t i = 0; i < count; i++) {
        if (jobs[i].status != TR_OK)
            good = fail("cannot open", files[i].name,
                        "wrong key, or the file or its name was changed");
        else
            good &= write_file(&files[i], jobs[i].out, jobs[i].len);
    }
    return good;
}

/* ---- The directory --------------------------------------------------------------------------- */

/* Whether the file is to be processed. When opening, removes the suffix. If the file cannot be
 * examined, reports that and sets *good to 0. */
static int is_wanted(char *name, int *good)
{
    const size_t len = strlen(name), suffix = strlen(SUFFIX);
    struct stat status;
    char *path = path_of(job.from, name, "");
    const int known = path != NULL && lstat(path, &status) == 0;
    if (!known)
        *good = fail("cannot read", path == NULL ? name : path, strerror(errno));
    free(path);
    if (!known || !S_ISREG(status.st_mode))
        return 0;
    if (!job.opening)
        return 1;
    if (len <= suffix || strcmp(name + len - suffix, SUFFIX) != 0)
        return 0;
    name[len - suffix] = '\0';
    return 1;
}

/* Whether both are one directory. The program would then read files that it has just written. */
static int is_same(const char *from, const char *to)
{
    struct stat a, b;
    return stat(from, &a) == 0 && stat(to, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static int run(void)
{
    static struct file files[BATCH];
    size_t count = 0, bytes = 0, all = 0, all_bytes = 0;
    double ratio = 0;
    int good = 1, more = 1;
    if (is_same(job.from, job.to))
        return fail("cannot write to", job.to, "it is also the directory to read");
    DIR *directory = opendir(job.from);
    if (directory == NULL)
        return fail("cannot read", job.from, strerror(errno));
    while (more) {
        errno = 0;
        const struct dirent *entry = readdir(directory);
        more = entry != NULL;
        if (!more && errno != 0)
            good = fail("cannot read", job.from, strerror(errno));
        char *name = more ? strdup(entry->d_name) : NULL;
        if (more && name == NULL)
            good = fail("cannot read", entry->d_name, strerror(errno));
        if (name != NULL && is_wanted(name, &good)) {
            files[count].name = name;
            if (read_file(&files[count]) && (!job.opening || is_sealed(&files[count])))
                bytes += files[count++].len;
            else
                good = (forget(&files[count]), 0);
        } else {
            free(name);
        }
        if (count == BATCH || bytes > MEMORY || (!more && count != 0)) {
            good &= job.opening ? open_all(files, count) : seal(files, count, &ratio);
            all += count;
            all_bytes += bytes;
            while (count != 0)
                forget(&files[--count]);
            bytes = 0;
        }
    }
    closedir(directory);
    printf("%zu files, %zu bytes", all, all_bytes);
    if (ratio != 0)
        printf("; the multi-buffer call is %.1f times as fast as single calls (%s)", ratio,
               tr_backend_name(tr_backend_selected()));
    puts(good ? "" : "; some files failed");
    return good;
}

static int read_key(const char *path)
{
    uint8_t bytes[33];
    const int fd = open(path, O_RDONLY);
    const ssize_t n = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes));
    const int error = errno, good = n == 16 || n == 24 || n == 32;
    if (fd >= 0)
        close(fd);
    if (good) {
        job.key_len = (size_t)n;
        memcpy(job.key, bytes, job.key_len);
    }
    tr_cleanse(bytes, sizeof(bytes));
    if (n < 0)
        return fail("cannot read", path, strerror(error));
    return good || fail("key", path, "must be 16, 24 or 32 bytes long");
}

int main(int argc, char **argv)
{
    job.opening = argc > 1 && strcmp(argv[1], "open") == 0;
    job.own_keys = argc == 6 && strcmp(argv[2], "--own-keys") == 0;
    if (argc != 5 + job.own_keys || (job.opening ? job.own_keys : strcmp(argv[1], "seal") != 0)) {
        fputs("usage: seal_directory seal [--own-keys] KEY FROM TO\n"
              "       seal_directory open KEY FROM TO\n"
              "KEY is a file of 16, 24 or 32 random bytes; FROM and TO are directories.\n",
              stderr);
        return 2;
    }
    job.from = argv[3 + job.own_keys];
    job.to = argv[4 + job.own_keys];
    const int good = read_key(argv[2 + job.own_keys]) && run();
    tr_cleanse(&job, sizeof(job));
    tr_cleanse(&key_of_all, sizeof(key_of_all));
    return good ? 0 : 1;
}
