/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The static tracing probe at each bulk call. It is one nop in the code and a note in the ELF file,
 * and costs nothing until a tracer attaches. The archive has none, so that it does not depend on
 * the headers of the machine that builds it. The arguments of the probe tenrounds:bulk are the
 * operation (enum tr_op), the backend (char *) and the number of bytes. To watch it:
 *
 *     bpftrace -e 'usdt:PATH/tenrounds.so:tenrounds:bulk { @[str(arg1), arg0] = sum(arg2); }'
 */
#ifndef TR_PROBE_H
#define TR_PROBE_H

#if !defined(__KERNEL__) && !defined(TR_ENV_ARCHIVE) && defined(__has_include)
#    if __has_include(<sys/sdt.h>)
#        include <sys/sdt.h>
#        define TR_PROBE_BULK(op, backend, bytes) DTRACE_PROBE3(tenrounds, bulk, op, backend, bytes)
#    endif
#endif
#ifndef TR_PROBE_BULK
#    define TR_PROBE_BULK(op, backend, bytes) ((void)(op), (void)(backend), (void)(bytes))
#endif

#endif
