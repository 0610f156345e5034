// SPDX-License-Identifier: BSD-2-Clause
package org.tenrounds;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * Buffers as C can use them: an array, or the address of direct memory that nobody can free during
 * a call. Each is a duplicate, so that no other thread can move its position between a check and
 * the call. All other buffers are copied.
 */
final class Buffers {
    private Buffers() {}

    private static boolean isUsable(ByteBuffer buffer) {
        return buffer.hasArray() || buffer.isDirect() && Library.CALLS.staysAllocated(buffer);
    }

    /** Returns the input: a duplicate, or a copy. */
    static ByteBuffer readable(ByteBuffer in) {
        ByteBuffer own = in.duplicate();
        return isUsable(own) ? own : ByteBuffer.allocate(own.remaining()).put(own).flip();
    }

    /** Returns the output: a duplicate, or a buffer that {@link #end} copies to it. */
    static ByteBuffer writable(ByteBuffer out) {
        ByteBuffer own = out.duplicate();
        return isUsable(own) ? own : ByteBuffer.allocate(own.remaining());
    }

    /** Returns the array behind a buffer; an empty one if only {@link #at} leads to its bytes. */
    static byte[] array(ByteBuffer buffer) {
        return buffer.hasArray() ? buffer.array() : Context.EMPTY;
    }

    /** Returns the position in {@link #array}, or the inverted address of direct memory. */
    static long at(ByteBuffer buffer) {
        return buffer.hasArray() ? buffer.arrayOffset() + buffer.position()
                : ~Library.CALLS.address(buffer);
    }

    /** Moves both positions after a call. Returns how many bytes it has written. */
    static int end(ByteBuffer in, ByteBuffer source, ByteBuffer out, ByteBuffer target,
            int written) {
        in.position(in.limit());
        if (isUsable(out)) {
            out.position(out.position() + written);
        } else {
            out.put(target.limit(written));
            wipe(target);
        }
        if (!isUsable(in)) {
            wipe(source);
        }
        // Only here, because the calls know no more than the addresses.
        Reference.reachabilityFence(source);
        Reference.reachabilityFence(target);
        return written;
    }

    private static void wipe(ByteBuffer copy) {
        Arrays.fill(copy.array(), (byte) 0);
    }
}
