// SPDX-License-Identifier: BSD-2-Clause
package org.tenrounds;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;

/**
 * The calls through foreign functions. A critical call passes arrays without a copy and costs a few
 * nanoseconds, but the collector waits until it returns: {@link Context#PIECE} limits that.
 */
final class ForeignCalls {
    // The compiler treats a handle as a constant only in a static final field.
    private static final MethodHandle CALL = Linker.nativeLinker().downcallHandle(
            SymbolLookup.loaderLookup().find("tenrounds_call").orElseThrow(),
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, ADDRESS, ADDRESS, JAVA_LONG,
                    ADDRESS, JAVA_LONG, ADDRESS, JAVA_LONG),
            Linker.Option.critical(true));

    private ForeignCalls() {}

    /** Links the function, if that has not happened. */
    static void link() {
        // The initializer of this class does it.
    }

    // Nine arguments, because twelve take 5 ns more: an operation and the length of a tag have a byte
    // each, and an IV, AAD and the text have 32 bits each.
    // Each argument is a segment of an array, never a null segment or an address: with one class
    // of segments, the compiler allocates none of them.
    static int call(int operation, long context, byte[] iv, int ivLength, byte[] aad, int aadLength,
            byte[] in, long inAt, byte[] out, long outAt, int length, int tagLength) {
        try {
            return (int) CALL.invokeExact(context,
                    (long) ivLength << 32 | tagLength << 8 | operation, MemorySegment.ofArray(iv),
                    MemorySegment.ofArray(aad), (long) aadLength << 32 | length,
                    MemorySegment.ofArray(in), inAt, MemorySegment.ofArray(out), outAt);
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }
}
