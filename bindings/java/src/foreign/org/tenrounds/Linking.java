// SPDX-License-Identifier: BSD-2-Clause
package org.tenrounds;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;

/**
 * The calls from JDK 22 on: through JNI at first, because to link a foreign function takes a new
 * JVM 70 ms. After a thousand calls, a thread links it. If the JVM refuses, calls stay with JNI.
 */
final class Linking extends Calls {
    private static final int FEW = 1000;
    /** The classes of the scopes that only the collector ends. */
    private static final Class<?> BUFFER =
            MemorySegment.ofBuffer(ByteBuffer.allocateDirect(1)).scope().getClass();
    private static final Class<?> GLOBAL = Arena.global().scope().getClass();
    private static final Class<?> AUTO = Arena.ofAuto().scope().getClass();

    private final Calls jni = new JniCalls();
    private int count; // inexact, if several threads call
    private boolean linked;
    /** Whether the JVM links foreign functions, until it refuses. */
    private volatile boolean links = mayLink();

    private Linking() {}

    /** Returns the calls, once the library is loaded. */
    static Calls calls() {
        return new Linking();
    }

    @Override
    int call(int operation, long context, byte[] iv, int ivLength, byte[] aad, int aadLength,
            byte[] in, long inAt, byte[] out, long outAt, int length, int tagLength) {
        if (linked) {
            return ForeignCalls.call(operation, context, iv, ivLength, aad, aadLength, in, inAt,
                    out, outAt, length, tagLength);
        }
        countCall();
        return jni.call(operation, context, iv, ivLength, aad, aadLength, in, inAt, out, outAt,
                length, tagLength);
    }

    private void countCall() {
        if (++count == FEW && links) {
            Thread thread = new Thread(this::link, "tenrounds linking");
            thread.setDaemon(true);
            thread.start();
        }
    }

    private void link() {
        try {
            ForeignCalls.link();
            linked = true;
        } catch (LinkageError e) { // also what an initializer throws
            links = false;
        }
    }

    /**
     * Whether this module may link. In JDK 22 and 23, the option --enable-native-access forbids it
     * to modules that the option does not name, but lets them load a library. This method calls
     * another one that needs the same permission, because linking takes too long.
     */
    private static boolean mayLink() {
        try {
            MemorySegment.NULL.reinterpret(0);
            return true;
        } catch (IllegalCallerException e) {
            return false;
        }
    }

    @Override
    boolean isFast() {
        return links;
    }

    // A program can close an arena, also from another thread. No public method tells its scope
    // from the others, so that this compares classes.
    @Override
    boolean staysAllocated(ByteBuffer buffer) {
        Class<?> scope = MemorySegment.ofBuffer(buffer).scope().getClass();
        return scope == BUFFER || scope == GLOBAL || scope == AUTO;
    }

    @Override
    long address(ByteBuffer buffer) {
        return MemorySegment.ofBuffer(buffer).address();
    }

    @Override
    public String toString() {
        return linked ? "FFM" : "JNI";
    }
}
