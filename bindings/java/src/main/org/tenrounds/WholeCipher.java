// SPDX-License-Identifier: BSD-2-Clause
package org.tenrounds;

import java.util.Arrays;
import javax.crypto.BadPaddingException;
import javax.crypto.IllegalBlockSizeException;
import javax.crypto.ShortBufferException;

/** A cipher that needs the whole message: it collects the text until doFinal(). */
abstract class WholeCipher extends AesCipher {
    WholeCipher(int keyLength, int keyOperation) {
        super(keyLength, keyOperation);
    }

    /**
     * Processes text in an array, which has room for the result.
     *
     * @param prefix the {@link #prefix} before the text
     * @param length the bytes of the prefix and of the text
     * @return the length of the result, which replaces the text
     */
    abstract int crypt(byte[] message, int prefix, int length)
            throws IllegalBlockSizeException, BadPaddingException;

    /** Returns how many bytes are held before the text. */
    int prefix() {
        return 0;
    }

    @Override
    int updateSize(int length) {
        return 0;
    }

    @Override
    int update(byte[] in, long at, int length, byte[] out, long outAt, int room) {
        held.add(in, at, length);
        return 0;
    }

    @Override
    int finish(byte[] in, long at, int length, byte[] out, long outAt, int room)
            throws ShortBufferException, IllegalBlockSizeException, BadPaddingException {
        int size = engineGetOutputSize(length);
        checkRoom(size, room);
        int prefix = prefix();
        int total = Math.addExact(held.length, length);
        byte[] message = Arrays.copyOf(held.bytes, Math.max(Math.addExact(prefix, size), total));
        Context.move(in, at, message, held.length, length);
        reset();
        try {
            int written = crypt(message, prefix, total);
            Context.move(message, prefix, out, outAt, written);
            return written;
        } finally {
            Keys.wipe(message);
            context.end();
        }
    }

    @Override
    final void crypt(byte[] in, long at, int length, byte[] out, long outAt) {
        throw new AssertionError("there is no middle of a message");
    }
}
