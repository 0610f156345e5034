// SPDX-License-Identifier: BSD-2-Clause
package org.tenrounds;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.ProviderException;
import java.util.Arrays;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The key and the message of one cipher, in memory outside of the Java heap. A cleaner cleanses
 * that memory when the cipher becomes unreachable.
 *
 * <p>Memory stays safe if a program breaks JCE's rule and uses one cipher in several threads: what
 * calls C begins with {@link #enter}, which then throws an exception. Each call also checks the
 * ranges of its arrays. It cannot check those of direct buffers, so a cipher that has the address
 * of one changes its own state only between enter() and {@link #leave}. {@link AesCipher#next}
 * needs neither: it changes nothing that decides where C reads or writes.
 */
final class Context {
    static final byte[] EMPTY = {};
    private static final byte[] ZEROS = new byte[Calls.SHORT];

    /**
     * The most bytes of one call. The collector may have to wait for a call to end: at 0.9 GB/s, as
     * of CBC encryption with a key of 256 bits, 36 µs.
     */
    static final int PIECE = 32 * 1024;

    /**
     * The same for modes that encrypt many blocks at a time: 7 µs on Zen 4, and 100 µs at 1.3 GB/s.
     * With shorter pieces, CBC decryption of 1 MiB takes 3 % longer.
     */
    static final int PARALLEL_PIECE = 128 * 1024;

    /**
     * The contexts outside of the heap from which on a cipher gives its context back after each
     * message. Programs that make a cipher for each message would fill the memory otherwise,
     * because the collector does not know how much the ciphers hold.
     */
    private static final int CROWD = 4096;

    private static final AtomicInteger COUNT = new AtomicInteger();
    private static final Cleaner CLEANER = Cleaner.create();
    private static final VarHandle LONGS =
            MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.nativeOrder());
    private static final VarHandle BUSY;

    static {
        try {
            BUSY = MethodHandles.lookup().findVarHandle(Context.class, "busy", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final int keyOperation;
    private final Memory memory = new Memory();
    private int busy;

    /** What the cleaner needs: it must not refer to the context itself. */
    private static final class Memory implements Runnable {
        private byte[] key = EMPTY;
        private byte[] kept = EMPTY;
        private long address;
        /** The part at this address for short calls, once there was one. */
        private ByteBuffer text;

        @Override
        public void run() {
            free();
            Arrays.fill(key, (byte) 0);
            Arrays.fill(kept, (byte) 0);
        }

        void free() {
            if (address != 0) {
                JniCalls.free(address, 0);
                address = 0;
                text = null;
                COUNT.decrementAndGet();
            }
        }
    }

    /** Makes a context whose keys this operation expands. */
    Context(int keyOperation) {
        this.keyOperation = keyOperation;
        CLEANER.register(this, memory);
    }

    /** Sets the key, of which it makes a copy, unless the context has it. */
    void setKey(byte[] key) {
        if (isKey(key)) {
            return;
        }
        Arrays.fill(memory.key, (byte) 0);
        memory.key = key.clone();
        expand();
    }

    /** Whether this is the key of the context. */
    boolean isKey(byte[] key) {
        return equal(memory.key, key);
    }

    /** Keeps a copy of the key, in place of the one kept before. */
    void keepKey() {
        dropKept();
        memory.kept = memory.key.clone();
    }

    /** Whether {@link #keepKey} has kept a key. */
    boolean hasKept() {
        return memory.kept.length > 0;
    }

    /** Whether this is the kept key. */
    boolean isKept(byte[] key) {
        return equal(memory.kept, key);
    }

    void dropKept() {
        if (hasKept()) {
            Arrays.fill(memory.kept, (byte) 0);
            memory.kept = EMPTY;
        }
    }

    /**
     * Whether keys of AES are equal. The time depends only on the lengths, as with
     * MessageDigest.isEqual(), which takes five times as long for so few bytes.
     */
    static boolean equal(byte[] a, byte[] b) {
        if (a.length != b.length || a.length % Long.BYTES != 0) {
            return false;
        }
        long difference = 0;
        for (int i = 0; i < a.length; i += Long.BYTES) {
            difference |= (long) LONGS.get(a, i) ^ (long) LONGS.get(b, i);
        }
        return difference == 0;
    }

    /** Allocates at least so many bytes, and at least the memory of a key with its message. */
    private static long allocate(int bytes) {
        long address = JniCalls.allocate(bytes);
        if (address == 0) {
            String what = bytes == 0 ? "a key" : bytes + " bytes";
            throw new OutOfMemoryError("no memory outside of the Java heap for " + what);
        }
        return address;
    }

    private void expand() {
        if (memory.address == 0) {
            memory.address = allocate(0);
            COUNT.incrementAndGet();
        }
        check(Library.CALLS.call(keyOperation, memory.address, EMPTY, 0, EMPTY, 0, memory.key, 0,
                EMPTY, 0, memory.key.length, 0));
    }

    /** Runs an operation: see {@link Calls#call}. Returns false if a tag does not match. */
    boolean call(int operation, byte[] iv, byte[] aad, int aadLength, byte[] in, long inAt,
            int inLength, byte[] out, long outAt, int outLength, int length, int tagLength) {
        Objects.checkFromIndexSize(0, aadLength, aad.length);
        checkRange(in, inAt, inLength);
        checkRange(out, outAt, outLength);
        if (memory.address == 0) {
            expand();
        }
        return check(Library.CALLS.call(operation, memory.address, iv, iv.length, aad, aadLength,
                in, inAt, out, outAt, length, tagLength));
    }

    /** Runs an operation in pieces of at most so many bytes. The IV goes with the first one. */
    void pieces(int operation, byte[] iv, byte[] in, long inAt, int length, byte[] out, long outAt,
            int most) {
        for (int done = 0, n; done < length; done += n) {
            n = Math.min(length - done, most);
            call(operation, done == 0 ? iv : EMPTY, EMPTY, 0, in, move(inAt, done), n, out,
                    move(outAt, done), n, n, 0);
        }
    }

    /**
     * Runs an operation of a block mode through JNI, on a copy of its text in the context. For 64
     * bytes, the copies save half of the 150 ns of a call that holds two arrays. Leaves no text there.
     */
    void callShort(int operation, byte[] iv, byte[] in, int inAt, int length, byte[] out,
            int outAt) {
        if (memory.address == 0) {
            expand();
        }
        if (memory.text == null) {
            memory.text = JniCalls.shortBuffer(memory.address);
        }
        memory.text.put(0, iv).put(AesCipher.BLOCK, in, inAt, length);
        check(JniCalls.shortCall(operation, memory.address, iv.length, length));
        memory.text.get(AesCipher.BLOCK, out, outAt, length);
        memory.text.put(AesCipher.BLOCK, ZEROS, 0, length);
    }

    /**
     * Runs an operation in place in a whole array, which begins with the AAD. If more than so many
     * bytes come after it, works on a copy outside of the heap, so that the collector need not
     * wait. Returns false if a tag does not match.
     */
    boolean callWhole(int operation, byte[] iv, byte[] text, int aadLength, int length,
            int tagLength, int most) {
        Objects.checkFromIndexSize(aadLength, length + tagLength, text.length);
        if (memory.address == 0) {
            expand();
        }
        if (length <= most && aadLength <= most) {
            return check(Library.CALLS.call(operation, memory.address, iv, iv.length, EMPTY,
                    -aadLength, text, aadLength, text, aadLength, length, tagLength));
        }
        long copy = allocate(text.length);
        try {
            long at = ~(copy + aadLength);
            move(text, 0, EMPTY, ~copy, text.length);
            int status = JniCalls.jniCall(operation, memory.address, iv, iv.length, EMPTY,
                    -aadLength, EMPTY, at, EMPTY, at, length, tagLength);
            move(EMPTY, ~copy, text, 0, text.length);
            return check(status);
        } finally {
            JniCalls.free(copy, text.length);
        }
    }

    /** Ends a message: gives the memory back if there are many contexts. */
    void end() {
        if (COUNT.get() > CROWD) {
            memory.free();
        }
    }

    /** Whether a thread is between {@link #enter} and {@link #leave}. */
    boolean isBusy() {
        return busy != 0;
    }

    /** Begins what no other thread may interrupt. */
    void enter() {
        if (!BUSY.compareAndSet(this, 0, 1)) {
            throw new IllegalStateException("two threads use one cipher at the same time");
        }
    }

    /** Ends what {@link #enter} began, and keeps this object reachable until then. */
    void leave() {
        BUSY.setRelease(this, 0);
        Reference.reachabilityFence(this);
    }

    private static boolean check(int status) {
        if (status != 0 && status != Calls.TAG_MISMATCH) {
            throw new ProviderException("the AES core returned the error " + status);
        }
        return status == 0;
    }

    private static void checkRange(byte[] array, long at, int length) {
        if (at >= 0) {
            Objects.checkFromIndexSize(at, length, array.length);
        }
    }

    /** Moves a position, which may be an inverted address. */
    static long move(long at, int bytes) {
        return at >= 0 ? at + bytes : at - bytes;
    }

    /**
     * Whether output that runs `lead` bytes ahead of the input would overwrite input that is not
     * yet read. The positions are in one array, or both are addresses.
     */
    static boolean overwrites(byte[] in, long inAt, int length, byte[] out, long outAt, int lead) {
        if (inAt >= 0 != outAt >= 0 || inAt >= 0 && in != out) {
            return false;
        }
        long from = inAt >= 0 ? inAt : ~inAt;
        long to = outAt >= 0 ? outAt : ~outAt;
        return to + lead > from && to < from + length;
    }

    /** Returns a copy of input. */
    static byte[] copy(byte[] in, long inAt, int length) {
        byte[] copy = new byte[length];
        move(in, inAt, copy, 0, length);
        return copy;
    }

    /** Copies bytes from an array or a direct buffer. */
    static void move(byte[] in, long inAt, byte[] out, long outAt, int length) {
        if (inAt >= 0 && outAt >= 0) {
            System.arraycopy(in, (int) inAt, out, (int) outAt, length);
            return;
        }
        checkRange(in, inAt, length);
        checkRange(out, outAt, length);
        for (int done = 0, n; done < length; done += n) {
            n = Math.min(length - done, PIECE);
            Library.CALLS.call(Calls.COPY, 0, EMPTY, 0, EMPTY, 0, in, move(inAt, done), out,
                    move(outAt, done), n, 0);
        }
    }

    /** Overwrites output with zeros. */
    static void wipe(byte[] out, long outAt, int length) {
        if (outAt >= 0) {
            Arrays.fill(out, (int) outAt, (int) outAt + length, (byte) 0);
            return;
        }
        for (int done = 0; done < length; done += PIECE) {
            Library.CALLS.call(Calls.WIPE, 0, EMPTY, 0, EMPTY, 0, EMPTY, 0, out,
                    move(outAt, done), Math.min(length - done, PIECE), 0);
        }
    }
}
