/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Uses the counters to check which backend ran, for several masks and for backends whose
 * known-answer tests fail. Also checks that counting harms no program, whatever file
 * TENROUNDS_COUNTERS names. Each case runs in a new process, which is this program with the
 * argument "work".
 */
#define _GNU_SOURCE
#include "sides.h"

#include "counted.h"
#include "selftest/selftest.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <openssl/proverr.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES 4096

static const char *self;
static struct counting counts;
static char file[] = "/tmp/tenrounds-counters-XXXXXX"; /* not sealed, so unfit for counting */

/* ---- The work, in the child ------------------------------------------------------------------ */

static void crypt_all(const struct evp_side *side)
{
    static uint8_t data[BYTES];
    const uint8_t key[32] = {1}, iv[16] = {2};
    for (unsigned i = 0; i < 2 * EVP_CIPHERS; i++) {
        int n;
        EVP_CIPHER *cipher = evp_fetch(side, evp_cipher_name(i / 2));
        EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
        if (EVP_CipherInit_ex2(ctx, cipher, key, iv, i % 2, NULL) <= 0 ||
            EVP_CIPHER_CTX_set_padding(ctx, 0) <= 0 ||
            EVP_CipherUpdate(ctx, data, &n, data, BYTES) <= 0)
            _exit(ERR_GET_REASON(ERR_peek_error()) == PROV_R_SELF_TEST_KAT_FAILURE ? 6 : 3);
        EVP_CIPHER_CTX_free(ctx);
        EVP_CIPHER_free(cipher);
    }
}

/* Closes all descriptors but the standard ones, as a daemon does. */
static void close_all(void)
{
    for (int fd = STDERR_FILENO + 1; fd < 1024; fd++)
        close(fd);
}

/* before_loading() and after_loading() perform actions that a program may perform before and after
 * it loads the provider. Counting must not make these actions harmful. */
static void before_loading(const char *how)
{
    const struct rlimit none = {0, 0};
    if (strcmp(how, "limit") == 0 && setrlimit(RLIMIT_FSIZE, &none) != 0)
        _exit(4);
    if (strcmp(how, "close") == 0)
        close_all();
    if (strcmp(how, "stranger") == 0 && setuid(65534) != 0)
        _exit(4);
}

static void after_loading(const char *how)
{
    /* The seal of a memfd forbids truncation. */
    if (strcmp(how, "truncate") == 0 && truncate(getenv("TENROUNDS_COUNTERS"), 0) != 0 &&
        errno != EPERM)
        _exit(4);
    if (strcmp(how, "close") == 0)
        close_all();
    if (strcmp(how, "user") == 0 && setuid(65534) != 0)
        _exit(4);
}

/* Whether this process has mapped a file. */
static bool is_mapped(const char *path)
{
    struct stat s;
    char line[PATH_MAX + 128];
    FILE *f = path != NULL && stat(path, &s) == 0 ? fopen("/proc/self/maps", "r") : NULL;
    bool found = false;
    while (f != NULL && !found && fgets(line, sizeof(line), f) != NULL) {
        unsigned major, minor;
        unsigned long long inode;
        found = sscanf(line, "%*s %*s %*s %x:%x %llu", &major, &minor, &inode) == 3 &&
                makedev(major, minor) == s.st_dev && inode == s.st_ino;
    }
    if (f != NULL)
        fclose(f);
    return found;
}

/* Sets a key of one cipher or MAC, the first key of the process. */
static int set_one_key(const char *name)
{
    static const uint8_t key[64] = "the two halves of this key differ, as AES-128-XTS demands";
    struct evp_side side = evp_open("tenrounds");
    bool good;
    if (strcmp(name, "CMAC") == 0) {
        const OSSL_PARAM params[] = {
            OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_CIPHER, (char[]){"AES-128-CBC"}, 0),
            OSSL_PARAM_END};
        EVP_MAC *mac = EVP_MAC_fetch(side.libctx, name, NULL);
        EVP_MAC_CTX *ctx = EVP_MAC_CTX_new(mac);
        good = ctx != NULL && EVP_MAC_init(ctx, key, 16, params);
        EVP_MAC_CTX_free(ctx);
        EVP_MAC_free(mac);
    } else {
        EVP_CIPHER *cipher = evp_fetch(&side, name);
        EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
        EVP_CIPHER_CTX_set_flags(ctx, EVP_CIPHER_CTX_FLAG_WRAP_ALLOW);
        good = EVP_EncryptInit_ex2(ctx, cipher, key, NULL, NULL) > 0;
        EVP_CIPHER_CTX_free(ctx);
        EVP_CIPHER_free(cipher);
    }
    evp_close(&side);
    return good ? 0 : 3;
}

static int work(const char *how)
{
    if (strncmp(how, "key ", 4) == 0)
        return set_one_key(how + 4);
    before_loading(how);
    struct evp_side side = evp_open("tenrounds");
    after_loading(how);
    const bool asks_last = strcmp(how, "ask last") == 0;
    if (asks_last)
        crypt_all(&side);
    printf("%s\n%s\n%s\n", evp_provider_text(side.provider, "selected-backend"),
           evp_provider_text(side.provider, OSSL_PROV_PARAM_BUILDINFO),
           evp_provider_text(side.provider, "mask-error"));
    fflush(stdout);
    const bool forks = strcmp(how, "fork") == 0;
    for (int i = 0; forks && i < 2; i++) {
        if (fork() == 0) {
            crypt_all(&side);
            _exit(0);
        }
    }
    if (!asks_last)
        crypt_all(&side);
    for (int i = 0; forks && i < 2; i++)
        wait(NULL);
    if (strcmp(how, "crash") == 0)
        raise(SIGKILL);
    evp_close(&side);
    return is_mapped(getenv("TENROUNDS_COUNTERS")) ? 5 : 0;
}

/* ---- Starting the child --------------------------------------------------------------------- */

struct environment {
    const char *mask, *ia32cap, *sabotage;
};

struct told {
    char backend[32], build_info[1280], mask_error[256];
    int status;
};

static void set(const char *name, const char *value)
{
    if (value != NULL)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

static struct told start(const struct environment *e, const char *counters, const char *how)
{
    struct told told = {.status = -1};
    int ends[2];
    if (pipe(ends) != 0)
        exit(2);
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        set("TENROUNDS_MASK", e->mask);
        set("OPENSSL_ia32cap", e->ia32cap);
        set("TENROUNDS_SABOTAGE", e->sabotage);
        if (e->sabotage != NULL)
            set("OPENSSL_MODULES", getenv("FAULTY_MODULES"));
        set("TENROUNDS_COUNTERS", counters);
        execl(self, self, "work", how, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    FILE *f = fdopen(ends[0], "r");
    if (fgets(told.backend, sizeof(told.backend), f) != NULL)
        told.backend[strcspn(told.backend, "\n")] = '\0';
    if (fgets(told.build_info, sizeof(told.build_info), f) == NULL)
        told.build_info[0] = '\0';
    if (fgets(told.mask_error, sizeof(told.mask_error), f) == NULL)
        told.mask_error[0] = '\0';
    fclose(f);
    waitpid(child, &told.status, 0);
    return told;
}

/* ---- Expected results ------------------------------------------------------------------------ */

/* Returns the strongest usable backend that needs no masked feature and is not sabotaged. Selection
 * avoids 512 bits where they lower the clock. */
static const struct tr_backend *strongest(tr_features masked, const char *sabotage)
{
    struct tr_cpu cpu;
    const struct tr_backend *b = NULL;
    tr_cpu_detect(&cpu);
    masked |= tr_tuning_selected()->clock_drops ? TR_FEATURE_AVX512 : 0;
    for (unsigned i = 0; (b = tr_backend_at(i)) != NULL; i++) {
        const char *name = tr_backend_name(b);
        if ((tr_backend_features(b) & ~(cpu.usable & ~masked)) == 0 &&
            !tr_is_listed(sabotage, name))
            break;
    }
    return b;
}

/* Whether `backend`, or its fallback for operations that it lacks, did all the work. The argument
 * `times` is the number of calls of crypt_all(). */
static bool ran_on(const struct tr_backend *backend, const struct trossl_counters_file *c,
                   unsigned times)
{
    bool good = memcmp(c->magic, TROSSL_COUNTERS_MAGIC, 8) == 0 && c->ops == TR_OPS &&
                c->backends == TR_MAX_BACKENDS;
    for (unsigned op = 0; op < TR_OPS; op++) {
        /* crypt_all() uses only the modes of SP 800-38A, whose operations come first in the list of
         * operations. */
        const bool asked = op < TR_OP_GHASH;
        const unsigned doing = asked ? tr_backend_index(tr_backend_doing(backend, op)) : 0;
        const uint64_t bytes =
            !asked ? 0 : (op == TR_OP_OFB || op == TR_OP_CTR ? 6 : 3) * BYTES * times;
        for (unsigned b = 0; b < TR_MAX_BACKENDS; b++) {
            const uint64_t is = c->counters.bulk[b][op].bytes, should = b == doing ? bytes : 0;
            if (is != should)
                tap_diag("%s on %s: %llu bytes, should be %llu", c->op_name[op], c->backend_name[b],
                         (unsigned long long)is, (unsigned long long)should);
            good = good && is == should && (c->counters.bulk[b][op].calls > 0) == (should > 0);
        }
        good = good && strcmp(c->op_name[op], tr_op_name(op)) == 0;
    }
    const unsigned index = tr_backend_index(backend);
    return good && c->counters.keys[index] == 2 * EVP_CIPHERS * times &&
           strcmp(c->backend_name[index], tr_backend_name(backend)) == 0;
}

static const struct {
    const char *what;
    struct environment environment;
    tr_features masked;
} cases[] = {
    {"no mask", {NULL, NULL, NULL}, 0},
    {"noavx512", {"noavx512", NULL, NULL}, TR_FEATURE_AVX512},
    {"novaes", {"novaes", NULL, NULL}, TR_FEATURE_VAES},
    {"noaes", {"noaes", NULL, NULL}, TR_FEATURE_AES},
    {"novaes,noaes", {"novaes,noaes", NULL, NULL}, TR_FEATURE_AES | TR_FEATURE_VAES},
    {"noavx", {"noavx", NULL, NULL}, TR_FEATURE_AVX},
    {"ia32cap without AES-NI and PCLMULQDQ",
     {NULL, "~0x200000200000000", NULL},
     TR_FEATURE_AES | TR_FEATURE_CLMUL | TR_FEATURE_AVX2 | TR_FEATURE_AVX512 | TR_FEATURE_VAES |
         TR_FEATURE_VCLMUL},
    {"ia32cap without VAES", {NULL, ":~0x20000000000", NULL}, TR_FEATURE_VAES},
    {"ia32cap without AVX512F", {NULL, ":~0x10000", NULL}, TR_FEATURE_AVX512},
    {"ia32cap without AVX512VL, and noaes",
     {"noaes", ":~0x80000000", NULL},
     TR_FEATURE_AVX512 | TR_FEATURE_AES},
    {"sabotaged vaes512", {NULL, NULL, "vaes512"}, 0},
    {"sabotaged vaes512 and vaes256", {NULL, NULL, "vaes512,vaes256"}, 0},
    {"sabotaged all but bitslice",
     {NULL, NULL,
      "vaes512,vaes256,aesni,vaes512-noclmul,vaes256-noclmul,"
      "aesni-noclmul,vperm,armce"},
     0},
};
#define CASES (sizeof(cases) / sizeof(cases[0]))

/* To ask for the selected backend runs all known-answer tests. With "ask last", the child works
 * before it asks, so the first key of each mode runs the tests of that mode. */
static bool one_case(unsigned i, const char *how)
{
    const struct environment *e = &cases[i].environment;
    const struct tr_backend *backend = strongest(cases[i].masked, e->sabotage);
    counting_clear(&counts);
    const struct told told = start(e, counts.path, how);
    const struct trossl_counters_file c = counting_read(&counts);
    tap_diag("%s: %s ran; %.*s", cases[i].what, told.backend, (int)strcspn(told.build_info, "\n"),
             told.build_info);
    bool good = told.status == 0 && strcmp(told.mask_error, "none\n") == 0 &&
                strstr(told.build_info, "error") == NULL &&
                strcmp(told.backend, tr_backend_name(backend)) == 0 && ran_on(backend, &c, 1) &&
                c.processes == 1;
    /* If the strongest backend of this processor fails its tests, the build info must name this
     * backend. */
    const struct tr_backend *first = strongest(cases[i].masked, NULL);
    if (e->sabotage != NULL && first != backend) {
        char text[64];
        snprintf(text, sizeof(text), "passed over: %s", tr_backend_name(first));
        good = good && strstr(told.build_info, text) != NULL;
    } else {
        good = good && strstr(told.build_info, "passed over: none") != NULL;
    }
    return good;
}

static bool in_children(void)
{
    counting_clear(&counts);
    const struct told told = start(&cases[0].environment, counts.path, "fork");
    const struct trossl_counters_file c = counting_read(&counts);
    return told.status == 0 && c.processes == 1 && ran_on(strongest(0, NULL), &c, 3);
}

static bool in_several_processes(void)
{
    counting_clear(&counts);
    for (int i = 0; i < 3; i++)
        start(&cases[0].environment, counts.path, "");
    const struct trossl_counters_file c = counting_read(&counts);
    return c.processes == 3 && ran_on(strongest(0, NULL), &c, 3);
}

/* Whether a program works and is counted despite `how`, an action of before_loading() or
 * after_loading(). */
static bool counted_anyway(const char *how)
{
    counting_clear(&counts);
    const struct told told = start(&cases[0].environment, counts.path, how);
    const struct trossl_counters_file c = counting_read(&counts);
    return told.status == 0 && c.processes == 1 && ran_on(strongest(0, NULL), &c, 1);
}

/* Whether a process counts through its inherited descriptor N if it has no /proc and therefore
 * cannot open the path /proc/PID/fd/N. */
static bool by_descriptor(void)
{
    char path[64];
    struct counting inherited = counting_new();
    snprintf(path, sizeof(path), "/nonexistent/fd/%d", inherited.fd);
    fcntl(inherited.fd, F_SETFD, 0);
    const struct told told = start(&cases[0].environment, path, "");
    const struct trossl_counters_file c = counting_read(&inherited);
    close(inherited.fd);
    return told.status == 0 && ran_on(strongest(0, NULL), &c, 1);
}

static bool after_a_crash(void)
{
    counting_clear(&counts);
    const struct told told = start(&cases[0].environment, counts.path, "crash");
    const struct trossl_counters_file c = counting_read(&counts);
    return WIFSIGNALED(told.status) && ran_on(strongest(0, NULL), &c, 1);
}

static bool wrong_mask_is_told(void)
{
    static const struct environment e = {"nonsense,noavx512,more", NULL, NULL};
    const struct told told = start(&e, NULL, "");
    return told.status == 0 &&
           strcmp(told.mask_error, "\"nonsense\" in TENROUNDS_MASK is no mask\n") == 0 &&
           strstr(told.build_info, "; error: \"nonsense\" in TENROUNDS_MASK is no mask") != NULL &&
           strcmp(told.backend, tr_backend_name(strongest(TR_FEATURE_AVX512, NULL))) == 0;
}

static struct each_first {
    const struct tr_backend *strongest;
    unsigned ciphers, right;
} each_first;

/* Falsifies the known answers of the strongest backend. A weaker backend must expand the only key
 * of a process, so the tests of this cipher ran before. */
static void one_first(const char *name)
{
    const struct environment e = {NULL, NULL, tr_backend_name(each_first.strongest)};
    const unsigned index = tr_backend_index(each_first.strongest);
    char how[80];
    snprintf(how, sizeof(how), "key %s", name);
    counting_clear(&counts);
    const struct told told = start(&e, counts.path, how);
    const struct trossl_counters_file c = counting_read(&counts);
    uint64_t others = 0;
    for (unsigned i = 0; i < TR_MAX_BACKENDS; i++)
        others += i != index ? c.counters.keys[i] : 0;
    const bool right = told.status == 0 && c.counters.keys[index] == 0 && others != 0;
    if (!right)
        tap_diag("%s: status %d, %llu keys of the backend that fails, %llu of others", name,
                 told.status, (unsigned long long)c.counters.keys[index],
                 (unsigned long long)others);
    each_first.ciphers++;
    each_first.right += right;
}

static void one_cipher(EVP_CIPHER *cipher, void *unused)
{
    (void)unused;
    one_first(EVP_CIPHER_get0_name(cipher));
}

static void test_first_keys(void)
{
    struct evp_side side = evp_open("tenrounds");
    each_first.strongest = strongest(0, NULL);
    if (each_first.strongest->weaker == NULL) {
        tap_skip(1, "aes", "there is only one backend for this processor");
    } else {
        EVP_CIPHER_do_all_provided(side.libctx, one_cipher, NULL);
        one_first("CMAC");
        tap_ok(each_first.ciphers > 40 && each_first.right == each_first.ciphers,
               "%u of %u ciphers and MACs test the backend before their first key",
               each_first.right, each_first.ciphers);
    }
    evp_close(&side);
}

static bool nothing_right_is_used(void)
{
    static const struct environment e = {NULL, NULL,
                                         "vaes512,vaes256,aesni,vaes512-noclmul,"
                                         "vaes256-noclmul,aesni-noclmul,vperm,armce,bitslice"};
    const struct told told = start(&e, NULL, "");
    return WIFEXITED(told.status) && WEXITSTATUS(told.status) == 6 &&
           strcmp(told.backend, "none") == 0 && strstr(told.build_info, "bitslice") != NULL;
}

/* ---- Files that are not for counting --------------------------------------------------------- */

/* Whether the child works without counting and leaves the file at `path` unchanged. */
static bool left_alone(const char *path)
{
    struct stat before, after;
    if (lstat(path, &before) != 0)
        return false;
    const struct told told = start(&cases[0].environment, path, "");
    return told.status == 0 && lstat(path, &after) == 0 && before.st_size == after.st_size &&
           before.st_mtim.tv_sec == after.st_mtim.tv_sec &&
           before.st_mtim.tv_nsec == after.st_mtim.tv_nsec;
}

static void fill_file(const char *text, size_t len)
{
    const int fd = open(file, O_WRONLY | O_TRUNC);
    if (fd < 0 || write(fd, text, strlen(text)) < 0 || ftruncate(fd, (off_t)len) != 0)
        exit(2);
    close(fd);
}

/* Whether the child works with a file on a disk, despite truncation or a file size limit. */
static bool disk_file_does_no_harm(const char *how)
{
    fill_file("", 0);
    return start(&cases[0].environment, file, how).status == 0;
}

/* Whether the child does not change a memfd that is unsafe to map or has other contents. */
static bool memfd_left_alone(size_t size, int seals, const char *text, size_t len)
{
    struct counting c = counting_with(size, seals & ~F_SEAL_WRITE);
    char before[sizeof(struct trossl_counters_file)] = "", after[sizeof(before)] = "";
    if (pwrite(c.fd, text, len, 0) < 0 || pread(c.fd, before, sizeof(before), 0) < 0 ||
        ((seals & F_SEAL_WRITE) != 0 && fcntl(c.fd, F_ADD_SEALS, F_SEAL_WRITE) != 0))
        exit(2);
    const struct told told = start(&cases[0].environment, c.path, "");
    const bool same =
        pread(c.fd, after, sizeof(after), 0) >= 0 && tap_same(after, before, sizeof(after));
    close(c.fd);
    return told.status == 0 && same;
}

#define REFUSED 15

static void refused_files(void)
{
    const size_t size = sizeof(struct trossl_counters_file);
    char other[sizeof(file) + 8];
    snprintf(other, sizeof(other), "%s.link", file);
    tap_ok(memfd_left_alone(size, 0, "", 0), "a memfd that can be truncated is left alone");
    tap_ok(memfd_left_alone(size - 1, F_SEAL_SHRINK, "", 0),
           "a memfd that is too small is left alone");
    tap_ok(memfd_left_alone(size, F_SEAL_SHRINK, "notes", 5),
           "a memfd with other contents is left alone");
    static const char zeros_first[16] = "\0\0\0\0\0\0\0\0notes";
    tap_ok(memfd_left_alone(size, F_SEAL_SHRINK, zeros_first, sizeof(zeros_first)),
           "a memfd with other contents that begins with zeros is left alone");
    tap_ok(memfd_left_alone(size, F_SEAL_SHRINK | F_SEAL_WRITE, "", 0),
           "a read-only memfd is left alone");
    tap_ok(disk_file_does_no_harm("truncate"), "truncating a file on a disk does no harm");
    tap_ok(disk_file_does_no_harm("limit"), "a file on a disk does no harm under RLIMIT_FSIZE");
    fill_file("", 0);
    tap_ok(left_alone(file), "an empty file on a disk is left alone");
    fill_file("notes", sizeof(struct trossl_counters_file));
    tap_ok(left_alone(file), "another file of the same size is left alone");
    tap_ok(left_alone("/"), "a directory is left alone");
    tap_ok(left_alone("/dev/null"), "a device is left alone");
    tap_ok(symlink(file, other) == 0 && left_alone(other) && left_alone(file),
           "the target of a symbolic link is left alone");
    unlink(other);
    tap_ok(mkfifo(other, 0600) == 0 && left_alone(other), "a FIFO is left alone, without waiting");
    unlink(other);
    const struct told told = start(&cases[0].environment, "/nonexistent/file", "");
    tap_ok(told.status == 0, "a file that does not exist does no harm");
    const struct told closed = start(&cases[0].environment, "/nonexistent/fd/999999999999", "");
    tap_ok(closed.status == 0, "a descriptor that does not exist does no harm");
}

/* Copies the provider to a new directory that every user can read, and sets OPENSSL_MODULES to this
 * directory. Other users may not be able to read the build tree. */
static void readable_copy(char directory[], char module[PATH_MAX])
{
    snprintf(module, PATH_MAX, "%s/tenrounds.so", getenv("OPENSSL_MODULES"));
    const int from = open(module, O_RDONLY);
    if (mkdtemp(directory) == NULL || chmod(directory, 0755) != 0)
        exit(2);
    snprintf(module, PATH_MAX, "%s/tenrounds.so", directory);
    const int to = open(module, O_WRONLY | O_CREAT | O_EXCL, 0644);
    ssize_t n;
    do
        n = sendfile(to, from, NULL, 1 << 20);
    while (n > 0);
    if (n < 0 || fchmod(to, 0644) != 0) {
        perror(module);
        exit(2);
    }
    close(from);
    close(to);
    setenv("OPENSSL_MODULES", directory, 1);
}

/* As root, tests programs that become another user. Otherwise tests that the provider does not
 * change a file of another user. */
static void other_users(void)
{
    if (geteuid() != 0) {
        tap_ok(left_alone("/etc/passwd"), "another user's file is left alone");
        return;
    }
    tap_ok(counted_anyway("user"), "a program that becomes another user after loading is counted");
    counting_clear(&counts);
    char directory[] = "/tmp/tenrounds-module-XXXXXX", module[PATH_MAX];
    readable_copy(directory, module);
    const struct told told = start(&cases[0].environment, counts.path, "stranger");
    const struct trossl_counters_file c = counting_read(&counts);
    unlink(module);
    rmdir(directory);
    tap_ok(told.status == 0 && c.processes == 0,
           "a program that becomes another user before loading is not counted, and works");
}

int main(int argc, char **argv)
{
    self = argv[0];
    if (argc == 3 && strcmp(argv[1], "work") == 0)
        return work(argv[2]);
    tap_plan(2 * CASES + 10 + REFUSED + (geteuid() == 0 ? 2 : 1));
    counts = counting_new();
    const int fd = mkstemp(file);
    close(fd);
    for (unsigned i = 0; i < CASES; i++)
        for (int last = 0; last < 2; last++)
            tap_ok(one_case(i, last ? "ask last" : ""), "the expected backend runs: %s%s",
                   cases[i].what, last ? ", and is asked for at the end" : "");
    tap_ok(in_children(), "children of fork count into the same file");
    tap_ok(in_several_processes(), "the counts of several processes add up");
    tap_ok(after_a_crash(), "a killed process is counted");
    tap_ok(counted_anyway("truncate"),
           "a program that tries to truncate the counters file is counted");
    tap_ok(counted_anyway("limit"), "a program under RLIMIT_FSIZE is counted");
    tap_ok(counted_anyway("close"), "a program that closes all descriptors is counted");
    tap_ok(by_descriptor(),
           "a process counts through an inherited descriptor if the path is missing");
    tap_ok(wrong_mask_is_told(),
           "the first word that is no mask is reported, and the valid words apply");
    tap_ok(nothing_right_is_used(),
           "if every backend fails its tests, the provider sets no key and raises an error");
    test_first_keys();
    refused_files();
    other_users();
    unlink(file);
    return tap_done();
}
