// SPDX-License-Identifier: BSD-2-Clause
package org.tenrounds;

import java.security.AlgorithmParameters;
import java.security.InvalidAlgorithmParameterException;
import java.security.InvalidKeyException;
import java.security.Key;
import java.security.NoSuchAlgorithmException;
import java.security.ProviderException;
import java.security.SecureRandom;
import java.security.spec.AlgorithmParameterSpec;
import java.security.spec.InvalidParameterSpecException;
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

    private static final SecureRandom RANDOM = new SecureRandom();

    private final Context context = new Context(Calls.AES_KEY);
    private final Mode mode;
    private final boolean padded;
    private boolean encrypting;
    private byte[] iv;
    /** The IV if the next call of the core starts a message, else empty. */
    private byte[] startIv = Context.EMPTY;
    private final Held held = new Held();

    BlockCipher(Mode mode, boolean padded, int keyLength) {
        super(keyLength);
        this.mode = mode;
        this.padded = padded;
    }

    // ---- Parameters ----

    @Override
    protected byte[] engineGetIV() {
        return iv == null ? null : iv.clone();
    }

    @Override
    protected AlgorithmParameters engineGetParameters() {
        try {
            AlgorithmParameters parameters = AlgorithmParameters.getInstance("AES");
            parameters.init(new IvParameterSpec(iv == null ? freshIv(RANDOM) : iv));
            return parameters;
        } catch (NoSuchAlgorithmException | InvalidParameterSpecException e) {
            throw new ProviderException(e);
        }
    }

    private static byte[] freshIv(SecureRandom random) {
        byte[] fresh = new byte[BLOCK];
        (random == null ? RANDOM : random).nextBytes(fresh);
        return fresh;
    }

    @Override
    protected void engineInit(int opmode, Key key, SecureRandom random) throws InvalidKeyException {
        try {
            engineInit(opmode, key, (AlgorithmParameterSpec) null, random);
        } catch (InvalidAlgorithmParameterException e) {
            throw new InvalidKeyException(e.getMessage(), e);
        }
    }

    @Override
    protected void engineInit(int opmode, Key key, AlgorithmParameters parameters,
            SecureRandom random) throws InvalidKeyException, InvalidAlgorithmParameterException {
        try {
            engineInit(opmode, key, parameters == null ? null
                    : parameters.getParameterSpec(IvParameterSpec.class), random);
        } catch (InvalidParameterSpecException e) {
            throw new InvalidAlgorithmParameterException("the parameters have no IV", e);
        }
    }

    @Override
    protected void engineInit(int opmode, Key key, AlgorithmParameterSpec parameters,
            SecureRandom random) throws InvalidKeyException, InvalidAlgorithmParameterException {
        encrypting = encrypts(opmode);
        byte[] bytes = encoded(key);
        try {
            iv = checkedIv(parameters, random);
            checkAes(key, bytes);
            setKey(bytes);
        } finally {
            wipe(bytes);
        }
        reset();
    }

    private void setKey(byte[] key) {
        if (context.isKey(key)) {
            return;
        }
        context.enter();
        try {
            context.setKey(key);
        } finally {
            context.leave();
        }
    }

    private byte[] checkedIv(AlgorithmParameterSpec parameters, SecureRandom random)
            throws InvalidAlgorithmParameterException {
        if (parameters == null) {
            if (!encrypting) {
                throw new InvalidAlgorithmParameterException("decryption needs an IV");
            }
            return freshIv(random);
        }
        if (!(parameters instanceof IvParameterSpec)) {
            throw new InvalidAlgorithmParameterException(
                    "the cipher takes an IvParameterSpec, not " + parameters.getClass().getName());
        }
        byte[] given = ((IvParameterSpec) parameters).getIV();
        if (given.length != BLOCK) {
            throw new InvalidAlgorithmParameterException(
                    "the IV must have 16 bytes, and has " + given.length);
        }
        return given;
    }

    private void reset() {
        held.clear();
        startIv = iv;
    }

    // ---- Data ----

    /** The bytes that doFinal() writes at most, from held bytes and these. */
    @Override
    protected int engineGetOutputSize(int length) {
        int total = Math.addExact(held.length, length);
        return padded && encrypting ? Math.addExact(total, BLOCK - total % BLOCK) : total;
    }

    /** The bytes that update() writes. */
    private int updateSize(int length) {
        int total = Math.addExact(held.length, length);
        int kept = padded && !encrypting ? BLOCK : 0;
        return Math.max(total - kept, 0) & -mode.unit;
    }

    @Override
    protected byte[] engineUpdate(byte[] in, int at, int length) {
        byte[] out = new byte[updateSize(length)];
        enterAndUpdate(in, at, length, out, 0);
        return out;
    }

    @Override
    protected int engineUpdate(byte[] in, int at, int length, byte[] out, int outAt)
            throws ShortBufferException {
        checkRoom(updateSize(length), out, outAt);
        return enterAndUpdate(in, at, length, out, outAt);
    }

    private int enterAndUpdate(byte[] in, int at, int length, byte[] out, int outAt) {
        context.enter();
        try {
            return update(in, at, length, out, outAt);
        } finally {
            context.leave();
        }
    }

    private static void checkRoom(int needed, byte[] out, int outAt) throws ShortBufferException {
        if (out.length - outAt < needed) {
            throw new ShortBufferException("the output needs " + needed
                    + " bytes, and has room for " + (out.length - outAt));
        }
    }

    private int update(byte[] in, int at, int length, byte[] out, int outAt) {
        int written = updateSize(length);
        if (written == 0) {
            held.add(in, at, length);
            return 0;
        }
        byte[] source = in;
        if (Context.overwrites(in, at, length, out, outAt, held.length)) {
            source = Arrays.copyOfRange(in, at, at + length);
            at = 0;
        }
        int end = at + length;
        int done = 0;
        // Held bytes come first, as far as input makes them whole blocks.
        if (held.length > 0) {
            int fill = Math.min(written, (held.length + BLOCK - 1) / BLOCK * BLOCK) - held.length;
            if (fill > 0) {
                held.add(source, at, fill);
                at += fill;
            }
            done = Math.min(held.length, written);
            crypt(held.bytes, 0, done, out, outAt);
            held.drop(done);
        }
        crypt(source, at, written - done, out, outAt + done);
        at += written - done;
        if (at < end) {
            held.add(source, at, end - at);
        }
        if (source != in) {
            wipe(source);
        }
        return written;
    }

    private void crypt(byte[] in, int at, int length, byte[] out, int outAt) {
        int operation = encrypting ? mode.encrypt : mode.decrypt;
        boolean parallel = operation == Calls.CTR || operation == Calls.CBC_DECRYPT
                || operation == Calls.CFB_DECRYPT;
        int most = parallel ? Context.PARALLEL_PIECE : Context.PIECE;
        for (int done = 0, n; done < length; done += n) {
            n = Math.min(length - done, most);
            context.call(operation, startIv, Context.EMPTY, 0, in, at + done, n, out, outAt + done,
                    n, n, 0);
            startIv = Context.EMPTY;
        }
    }

    @Override
    protected byte[] engineDoFinal(byte[] in, int at, int length)
            throws IllegalBlockSizeException, BadPaddingException {
        byte[] out = new byte[engineGetOutputSize(length)];
        int written;
        try {
            written = engineDoFinal(in, at, length, out, 0);
        } catch (ShortBufferException e) {
            throw new ProviderException(e);
        }
        if (written == out.length) {
            return out;
        }
        byte[] exact = Arrays.copyOf(out, written);
        wipe(out);
        return exact;
    }

    @Override
    protected int engineDoFinal(byte[] in, int at, int length, byte[] out, int outAt)
            throws ShortBufferException, IllegalBlockSizeException, BadPaddingException {
        context.enter();
        try {
            return finish(in == null ? Context.EMPTY : in, at, length, out, outAt);
        } finally {
            context.leave();
        }
    }

    private int finish(byte[] in, int at, int length, byte[] out, int outAt)
            throws ShortBufferException, IllegalBlockSizeException, BadPaddingException {
        int total = Math.addExact(held.length, length);
        int size = engineGetOutputSize(length);
        checkRoom(encrypting ? size : size - BLOCK, out, outAt);
        boolean whole = padded ? !encrypting : mode == Mode.CBC;
        if (whole && total % BLOCK != 0) {
            throw new IllegalBlockSizeException(
                    "the message has " + total + " bytes, which are not whole blocks");
        }
        int written;
        if (padded && encrypting) {
            written = pad(in, at, length, out, outAt, size);
        } else if (padded && total > 0) {
            written = unpad(in, at, length, out, outAt, total);
        } else {
            checkRoom(total, out, outAt);
            written = update(in, at, length, out, outAt);
            if (written < total) {
                crypt(held.bytes, 0, held.length, out, outAt + written);
                written = total;
            }
        }
        reset();
        context.end();
        return written;
    }

    /** Encrypts, and adds 1 to 16 bytes of padding (RFC 5652 section 6.3). */
    private int pad(byte[] in, int at, int length, byte[] out, int outAt, int size) {
        byte[] padding = new byte[BLOCK];
        int count = size - held.length - length;
        Arrays.fill(padding, (byte) count);
        int written = update(in, at, length, out, outAt);
        return written + update(padding, 0, count, out, outAt + written);
    }

    /** Decrypts, and writes the plaintext without its padding. */
    private int unpad(byte[] in, int at, int length, byte[] out, int outAt, int total)
            throws ShortBufferException, BadPaddingException {
        if (out.length - outAt < total - 1) {
            return unpadIntoLess(in, at, length, out, outAt, total);
        }
        int written = update(in, at, length, out, outAt);
        byte[] last = new byte[BLOCK];
        crypt(held.bytes, 0, BLOCK, last, 0);
        int rest = BLOCK - padding(last, 0);
        if (rest < BLOCK) {
            System.arraycopy(last, 0, out, outAt + written, rest);
        }
        wipe(last);
        if (rest == BLOCK) {
            Arrays.fill(out, outAt, outAt + written, (byte) 0);
            throw badPadding();
        }
        return written + rest;
    }

    /**
     * Decrypts into an array of its own, because only the padding tells whether there is room. If
     * there is none, the message stays as it was, so that doFinal() can be called again.
     */
    private int unpadIntoLess(byte[] in, int at, int length, byte[] out, int outAt, int total)
            throws ShortBufferException, BadPaddingException {
        byte[] chain = startIv;
        if (chain.length == 0) {
            chain = new byte[BLOCK];
            context.call(Calls.AES_IV, Context.EMPTY, Context.EMPTY, 0, Context.EMPTY, 0, 0, chain,
                    0, BLOCK, BLOCK, 0);
        }
        byte[] text = Arrays.copyOf(held.bytes, total);
        System.arraycopy(in, at, text, held.length, length);
        try {
            crypt(text, 0, total, text, 0);
            int padding = padding(text, total - BLOCK);
            if (padding == 0) {
                throw badPadding();
            }
            if (out.length - outAt < total - padding) {
                startIv = chain;
                checkRoom(total - padding, out, outAt);
            }
            System.arraycopy(text, 0, out, outAt, total - padding);
            return total - padding;
        } finally {
            wipe(text);
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
