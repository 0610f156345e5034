/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Kernel TLS: what the C library's headers may lack. */
#ifndef GUEST_TLS_H
#define GUEST_TLS_H

#include <linux/tls.h>
#include <netinet/tcp.h>

#ifndef SOL_TLS
#    define SOL_TLS 282
#endif
#ifndef TCP_ULP
#    define TCP_ULP 31
#endif

#define RECORD 16384 /* bytes of data in a full record (RFC 8446 section 5.1) */

#endif
