// SPDX-License-Identifier: BSD-2-Clause
package org.tenrounds;

import java.security.AlgorithmParameters;
import java.security.InvalidAlgorithmParameterException;
import java.security.spec.AlgorithmParameterSpec;
import java.util.Arrays;
import javax.crypto.BadPaddingException;
import javax.crypto.IllegalBlockSizeException;
import javax.crypto.ShortBufferException;
import javax.crypto.spec.IvParameterSpec;

/**
 * CBC, CFB, OFB and CTR (SP 800-38A) as SunJCE has them. A padded decryption holds back the
 * last block until doFinal(). After doFinal(), the next message begins with the same IV.
 */
final class BlockCipher extends AesCipher {
    /** A mode: its operations, and the unit of update() in bytes, a power of 2. */
    enum Mode {
        CBC(Calls.CBC_ENCRYPT, Calls.CBC_DECRYPT, BLOCK),
        CFB(Calls.CFB_ENCRYPT, Calls.CFB_DECRYPT, BLOCK),
        OFB(Calls.OFB, Calls.OFB, BLOCK),
        CTR(Calls.CTR, Calls.CTR, 1);

        private final int encrypt;
        private final int decrypt;
        private final int unit;

        Mode(int encrypt, int decrypt, int unit) {
            this.encrypt = encrypt;
            this.decrypt = decrypt;
            this.unit = unit;
        }
    }

    private final Mode mode;
    private final boolean padded;
    /** The next call of the core starts a message. */
    private boolean starts;
    /** The IV with which the next call goes on with a message; empty if the core has it. */
    private byte[] chain = Context.EMPTY;

    BlockCipher(Mode mode, boolean padded, int keyLength) {
        super(keyLength, Calls.AES_KEY);
        this.mode = mode;
        this.padded = padded;
    }

    @Override
    protected AlgorithmParameters engineGetParameters() {
        return parameters("AES", new IvParameterSpec(iv == null ? freshIv(BLOCK) : iv));
    }

    @Override
    void setParameters(AlgorithmParameterSpec parameters)
            throws InvalidAlgorithmParameterException {
        if (parameters == null && !encrypting) {
            throw new InvalidAlgorithmParameterException("decryption needs an IV");
        }
        setIv(parameters == null ? freshIv(BLOCK) : onlyIv(parameters));
        if (iv.length != BLOCK) {
            throw new InvalidAlgorithmParameterException(
                    "the IV must have 16 bytes, and has " + iv.length);
        }
    }

    @Override
    boolean next(AlgorithmParameterSpec parameters) throws InvalidAlgorithmParameterException {
        if (parameters == null) {
            return false;
        }
        setParameters(parameters);
        restart();
        return true;
    }

    @Override
    void reset() {
        super.reset();
        restart();
    }

    private void restart() {
        starts = true;
        setChain(Context.EMPTY);
    }

    /** The bytes that doFinal() writes at most, from held bytes and these. */
    @Override
    protected int engineGetOutputSize(int length) {
        int total = Math.addExact(held.length, length);
        return padded && encrypting ? Math.addExact(total, BLOCK - total % BLOCK) : total;
    }

    @Override
    int updateSize(int length) {
        int total = Math.addExact(held.length, length);
        int kept = padded && !encrypting ? BLOCK : 0;
        return Math.max(total - kept, 0) & -mode.unit;
    }

    @Override
    int update(byte[] in, long at, int length, byte[] out, long outAt, int room)
            throws ShortBufferException {
        checkRoom(updateSize(length), room);
        return process(in, at, length, out, outAt);
    }

    @Override
    void crypt(byte[] in, long at, int length, byte[] out, long outAt) {
        if (length == 0) {
            return;
        }
        int operation = encrypting ? mode.encrypt : mode.decrypt;
        byte[] next = starts ? iv : chain;
        if (length <= Calls.SHORT && at >= 0 && outAt >= 0 && !Library.CALLS.isFast()) {
            context.callShort(operation, next, in, (int) at, length, out, (int) outAt);
        } else {
            boolean parallel = operation == Calls.CTR || operation == Calls.CBC_DECRYPT
                    || operation == Calls.CFB_DECRYPT;
            context.pieces(operation, next, in, at, length, out, outAt,
                    parallel ? Context.PARALLEL_PIECE : Context.PIECE);
        }
        starts = false;
        setChain(Context.EMPTY);
    }

    private void setChain(byte[] next) {
        if (chain != next) { // see setIv()
            chain = next;
        }
    }

    @Override
    int finish(byte[] in, long at, int length, byte[] out, long outAt, int room)
            throws ShortBufferException, IllegalBlockSizeException, BadPaddingException {
        int total = Math.addExact(held.length, length);
        int size = engineGetOutputSize(length);
        checkRoom(encrypting ? size : size - BLOCK, room);
        boolean whole = padded ? !encrypting : mode == Mode.CBC;
        if (whole && total % BLOCK != 0) {
            throw new IllegalBlockSizeException(
                    "the message has " + total + " bytes, which are not whole blocks");
        }
        int written;
        if (padded && encrypting) {
            written = pad(in, at, length, out, outAt, size);
        } else if (padded && total > 0) {
            written = unpad(in, at, length, out, outAt, room);
        } else {
            checkRoom(total, room);
            written = process(in, at, length, out, outAt, total);
        }
        reset();
        context.end();
        return written;
    }

    /** Encrypts, and adds 1 to 16 bytes of padding (RFC 5652 section 6.3). */
    private int pad(byte[] in, long at, int length, byte[] out, long outAt, int size) {
        byte[] padding = new byte[BLOCK];
        int count = size - held.length - length;
        Arrays.fill(padding, (byte) count);
        int written = process(in, at, length, out, outAt);
        return written + process(padding, 0, count, out, Context.move(outAt, written));
    }

    /** Decrypts, and writes the plaintext without its padding. */
    private int unpad(byte[] in, long at, int length, byte[] out, long outAt, int room)
            throws ShortBufferException, BadPaddingException {
        if (room < held.length + length - 1) {
            return unpadIntoLess(in, at, length, out, outAt, room);
        }
        int written = process(in, at, length, out, outAt);
        byte[] last = new byte[BLOCK];
        crypt(held.bytes, 0, BLOCK, last, 0);
        int rest = BLOCK - padding(last, 0);
        if (rest < BLOCK) {
            Context.move(last, 0, out, Context.move(outAt, written), rest);
        }
        Keys.wipe(last);
        if (rest == BLOCK) {
            Context.wipe(out, outAt, written);
            throw badPadding();
        }
        return written + rest;
    }

    /**
     * Decrypts into an array of its own, because only the padding tells whether there is room. If
     * there is none, the message stays as it was, so that doFinal() can be called again.
     */
    private int unpadIntoLess(byte[] in, long at, int length, byte[] out, long outAt, int room)
            throws ShortBufferException, BadPaddingException {
        int total = held.length + length;
        byte[] before = starts ? iv : chain;
        if (before.length == 0) {
            before = new byte[BLOCK];
            context.call(Calls.AES_IV, Context.EMPTY, Context.EMPTY, 0, Context.EMPTY, 0, 0, before,
                    0, BLOCK, BLOCK, 0);
        }
        byte[] text = Arrays.copyOf(held.bytes, total);
        Context.move(in, at, text, held.length, length);
        try {
            crypt(text, 0, total, text, 0);
            int padding = padding(text, total - BLOCK);
            if (padding == 0) {
                throw badPadding();
            }
            if (room < total - padding) {
                chain = before;
                checkRoom(total - padding, room);
            }
            Context.move(text, 0, out, outAt, total - padding);
            return total - padding;
        } finally {
            Keys.wipe(text);
        }
    }

    private BadPaddingException badPadding() {
        reset();
        return new BadPaddingException("the message does not end in padding");
    }

    /** Returns the length of a block's padding, or 0 if it has none. Has no branch on its bytes. */
    private static int padding(byte[] text, int at) {
        int count = text[at + BLOCK - 1] & 0xff;
        int bad = (count - 1 | BLOCK - count) >> 31;
        for (int i = 0; i < BLOCK; i++) {
            // All ones for the last `count` bytes.
            int inside = BLOCK - 1 - count - i >> 31;
            bad |= inside & -(text[at + i] & 0xff ^ count) >> 31;
        }
        return count & ~bad;
    }
}
