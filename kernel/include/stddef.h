/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Replaces <stddef.h> in kernel builds: the kernel's headers define size_t, NULL and offsetof. */
#include <linux/stddef.h>
#include <linux/types.h>
