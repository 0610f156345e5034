/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* size_t, NULL and offsetof, as the kernel has them. */
#include <linux/stddef.h>
#include <linux/types.h>
