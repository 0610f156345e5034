// SPDX-License-Identifier: BSD-2-Clause
package org.tenrounds;

import java.nio.ByteBuffer;

/** The calls through JNI, and the calls that run once for each key, which always use JNI. */
final class JniCalls extends Calls {
    @Override
    int call(int operation, long context, byte[] iv, int ivLength, byte[] aad, int aadLength,
            byte[] in, long inAt, byte[] out, long outAt, int length, int tagLength) {
        return jniCall(operation, context, iv, ivLength, aad, aadLength, in, inAt, out, outAt,
                length, tagLength);
    }

    @Override
    boolean isFast() {
        return false;
    }

    // Only the preview of foreign functions in JDK 21 and before has other buffers.
    @Override
    boolean staysAllocated(ByteBuffer buffer) {
        return true;
    }

    @Override
    long address(ByteBuffer buffer) {
        return jniAddress(buffer) + buffer.position();
    }

    @Override
    public String toString() {
        return "JNI";
    }

    static native int jniCall(int operation, long context, byte[] iv, int ivLength,
            byte[] aad, int aadLength, byte[] in, long inAt, byte[] out, long outAt, int length,
            int tagLength);

    /** Runs an operation on the IV and the text in {@link #shortBuffer}, in place. */
    static native int shortCall(int operation, long context, int ivLength, int length);

    /** Returns the part of a context for short calls: 16 bytes for an IV, then the text. */
    static native ByteBuffer shortBuffer(long context);

    static native long jniAddress(ByteBuffer buffer);

    /** Selects the backend, and returns READY or why there is none. */
    static native int start();

    /** Allocates so many bytes, at least those of a context. Returns 0 if there is no memory. */
    static native long allocate(long bytes);

    /** Cleanses and frees what was allocated with this number of bytes. */
    static native void free(long memory, long bytes);
}
