/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Makes allocations fail. Distributions' kernels lack fault injection (CONFIG_FAULT_INJECTION), so
 * return probes on the allocators free the memory and return NULL to the caller. The probes record
 * the task's other allocations until the task frees them.
 */
#include "errors.h"

#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/slab.h>

static struct task_struct *victim;
/* The number of allocations up to the failing one, or 0 if none fails. */
static unsigned int left;
static bool failed;
static const void *held[256]; /* allocations that were not freed */
static unsigned int lost;     /* the number of allocations for which `held` has no room */

/* Whether the tested task runs, and not an interrupt handler on top of it. */
static bool is_victim(void)
{
    return current == READ_ONCE(victim) && (preempt_count() & (HARDIRQ_MASK | SOFTIRQ_OFFSET)) == 0;
}

static void hold(const void *what)
{
    unsigned int i;

    for (i = 0; i < ARRAY_SIZE(held); i++) {
        if (held[i] == NULL) {
            held[i] = what;
            return;
        }
    }
    lost++;
}

/* A negative result means that the return is not probed. */
static int on_entry(struct kretprobe_instance *instance, struct pt_regs *regs)
{
    return is_victim() ? 0 : -1;
}

/* Whether this allocation has to fail. If not, records the allocation. */
static bool takes(struct pt_regs *regs)
{
    if (!is_victim() || regs_return_value(regs) == 0)
        return false;
    if (left != 0 && --left == 0) {
        failed = true;
        return true;
    }
    hold((const void *)regs_return_value(regs));
    return false;
}

static int on_slab(struct kretprobe_instance *instance, struct pt_regs *regs)
{
    if (takes(regs)) {
        kfree((const void *)regs_return_value(regs));
        regs_set_return_value(regs, 0);
    }
    return 0;
}

static int on_page(struct kretprobe_instance *instance, struct pt_regs *regs)
{
    if (takes(regs)) {
        free_page(regs_return_value(regs));
        regs_set_return_value(regs, 0);
    }
    return 0;
}

static int on_free(struct kprobe *probe, struct pt_regs *regs)
{
    const void *what = (const void *)regs_get_kernel_argument(regs, 0);
    unsigned int i;

    if (!is_victim() || what == NULL)
        return 0;
    for (i = 0; i < ARRAY_SIZE(held); i++) {
        if (held[i] == what)
            held[i] = NULL;
    }
    return 0;
}

#define ALLOCATOR(name, how)                                                                       \
    {                                                                                              \
        .kp.symbol_name = name, .entry_handler = on_entry, .handler = how, .maxactive = 16         \
    }
/* The allocators' names in several kernel versions. Names that a kernel lacks are not probed. */
static struct kretprobe allocators[] = {
    ALLOCATOR("__kmalloc", on_slab),
    ALLOCATOR("__kmalloc_node", on_slab),
    ALLOCATOR("kmalloc_trace", on_slab),
    ALLOCATOR("kmalloc_node_trace", on_slab),
    ALLOCATOR("__kmalloc_noprof", on_slab),
    ALLOCATOR("__kmalloc_node_noprof", on_slab),
    ALLOCATOR("__kmalloc_cache_noprof", on_slab),
    ALLOCATOR("__kmalloc_cache_node_noprof", on_slab),
    ALLOCATOR("__get_free_pages", on_page),
    ALLOCATOR("get_free_pages_noprof", on_page),
};
static struct kprobe frees[] = {
    {.symbol_name = "kfree", .pre_handler = on_free},
    {.symbol_name = "free_pages", .pre_handler = on_free},
};

int starve_register(void)
{
    unsigned int i, allocating = 0;
    int err;

    for (i = 0; i < ARRAY_SIZE(allocators); i++) {
        if (register_kretprobe(&allocators[i]) == 0)
            allocating++;
        else
            allocators[i].handler = NULL;
    }
    for (i = 0; i < ARRAY_SIZE(frees); i++) {
        err = register_kprobe(&frees[i]);
        if (err != 0) {
            pr_err("%s cannot be probed\n", frees[i].symbol_name);
            frees[i].pre_handler = NULL;
        }
    }
    if (allocating < 2 || frees[0].pre_handler == NULL || frees[1].pre_handler == NULL) {
        pr_err("the allocators of this kernel have other names, add them to starve.c\n");
        starve_unregister();
        return -ENOENT;
    }
    return 0;
}

void starve_unregister(void)
{
    unsigned int i;

    for (i = 0; i < ARRAY_SIZE(allocators); i++) {
        if (allocators[i].handler != NULL)
            unregister_kretprobe(&allocators[i]);
    }
    for (i = 0; i < ARRAY_SIZE(frees); i++) {
        if (frees[i].pre_handler != NULL)
            unregister_kprobe(&frees[i]);
    }
}

void starve_begin(unsigned int nth)
{
    memset(held, 0, sizeof(held));
    lost = 0;
    left = nth;
    failed = false;
    barrier();
    WRITE_ONCE(victim, current);
}

bool starve_end(unsigned int *kept)
{
    unsigned int i;

    WRITE_ONCE(victim, NULL);
    barrier();
    *kept = lost;
    for (i = 0; i < ARRAY_SIZE(held); i++)
        *kept += held[i] != NULL;
    return failed;
}
