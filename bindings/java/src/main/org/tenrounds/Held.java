// SPDX-License-Identifier: BSD-2-Clause
package org.tenrounds;

import java.util.Arrays;

/** Bytes that a cipher holds until it can process them. */
final class Held {
    byte[] bytes = Context.EMPTY;
    int length;

    /** Adds bytes of an array or a direct buffer. */
    void add(byte[] in, long inAt, int count) {
        int total = Math.addExact(length, count);
        if (total > bytes.length) {
            // An array of exactly this size at first, because most callers add once.
            long doubled = Math.min(2L * length, Integer.MAX_VALUE - 8);
            byte[] larger = new byte[(int) Math.max(total, doubled)];
            System.arraycopy(bytes, 0, larger, 0, length);
            Arrays.fill(bytes, (byte) 0);
            bytes = larger;
        }
        Context.move(in, inAt, bytes, length, count);
        length = total;
    }

    /** Forgets the first bytes. */
    void drop(int count) {
        System.arraycopy(bytes, count, bytes, 0, length - count);
        Arrays.fill(bytes, length - count, length, (byte) 0);
        length -= count;
    }

    /** Forgets the bytes. A long array is given back. */
    void clear() {
        if (length > 0) {
            Arrays.fill(bytes, 0, length, (byte) 0);
            length = 0;
            if (bytes.length > Context.PIECE) {
                bytes = Context.EMPTY;
            }
        }
    }
}
