/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Counters in debugfs. tenrounds/counters has one line per algorithm, "NAME calls N bytes N steps
 * N", for encryption and decryption together. A step is one contiguous piece of a request's data,
 * at most a page. Two more lines, "holds N" and "refused N", count the successful and the failed
 * requests for the vector registers. While the parameter "measure" is set, the line
 * "longest_hold_ns N" follows. tenrounds/backend has the name of the backend.
 */
#include "tenrounds_kernel.h"

#include <linux/debugfs.h>
#include <linux/seq_file.h>

DEFINE_PER_CPU(struct tr_kernel_counters, tr_kernel_counters);

static struct dentry *directory;

static const char *const names[TR_KERNEL_ALG_COUNT] = {
#define NAME(constant, name) name,
    TR_KERNEL_ALGS(NAME)
#undef NAME
};

static int counters_show(struct seq_file *file, void *unused)
{
    u64 holds = 0, refused = 0, longest = 0;
    int cpu, i;

    for (i = 0; i < TR_KERNEL_ALG_COUNT; i++) {
        u64 calls = 0, bytes = 0, steps = 0;

        for_each_possible_cpu(cpu)
        {
            const struct tr_kernel_counters *c = &per_cpu(tr_kernel_counters, cpu);

            calls += READ_ONCE(c->alg[i].calls);
            bytes += READ_ONCE(c->alg[i].bytes);
            steps += READ_ONCE(c->alg[i].steps);
        }
        seq_printf(file, "%s calls %llu bytes %llu steps %llu\n", names[i], calls, bytes, steps);
    }
    for_each_possible_cpu(cpu)
    {
        const struct tr_kernel_counters *c = &per_cpu(tr_kernel_counters, cpu);

        holds += READ_ONCE(c->holds);
        refused += READ_ONCE(c->refused);
        longest = max(longest, READ_ONCE(c->longest_hold_ns));
    }
    seq_printf(file, "holds %llu\nrefused %llu\n", holds, refused);
    if (READ_ONCE(tr_kernel_measure))
        seq_printf(file, "longest_hold_ns %llu\n", longest);
    return 0;
}
DEFINE_SHOW_ATTRIBUTE(counters);

static int backend_show(struct seq_file *file, void *unused)
{
    seq_printf(file, "%s\n", tr_kernel_backend->name);
    return 0;
}
DEFINE_SHOW_ATTRIBUTE(backend);

/* Creates the files. Ignores errors: the algorithms work even without debugfs or in lockdown. */
void tr_kernel_counters_show(void)
{
    directory = debugfs_create_dir("tenrounds", NULL);
    debugfs_create_file("counters", 0400, directory, NULL, &counters_fops);
    debugfs_create_file("backend", 0400, directory, NULL, &backend_fops);
}

void tr_kernel_counters_hide(void)
{
    debugfs_remove_recursive(directory); /* before 5.6, debugfs_remove() leaves the files */
}
