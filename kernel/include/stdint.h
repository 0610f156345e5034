/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The core's fixed-width types and SIZE_MAX, as the kernel has them. */
#include <linux/limits.h>
#include <linux/types.h>
