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
import javax.crypto.Cipher;
import javax.crypto.CipherSpi;
import javax.crypto.IllegalBlockSizeException;
import javax.crypto.NoSuchPaddingException;
import javax.crypto.ShortBufferException;
import javax.crypto.spec.IvParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/**
 * The frame of all ciphers: the key, the IV, and the calls of JCE. A subclass has the mode. JCE
 * refuses data after an init() that failed, so that the state of a cipher does not matter then.
 */
abstract class AesCipher extends CipherSpi {
    static final int BLOCK = 16;
    private static final SecureRandom RANDOM = new SecureRandom();

    final Context context;
    boolean encrypting = true;
    byte[] iv;
    /** Bytes of the message that wait for others. */
    final Held held = new Held();

    private final int keyLength;
    /** The key of the context if it cannot change, else null. */
    private Key current;
    private SecureRandom random;

    /**
     * Makes a cipher for keys of this length in bytes, or of all lengths if it is 0. The operation
     * expands a key.
     */
    AesCipher(int keyLength, int keyOperation) {
        this.keyLength = keyLength;
        context = new Context(keyOperation);
    }

    // ---- What a mode has ----

    /** Sets the IV and other parameters. */
    abstract void setParameters(AlgorithmParameterSpec parameters)
            throws InvalidAlgorithmParameterException;

    /**
     * Begins a message that has the key and the direction of the one before, if no more than its IV
     * is new, and returns whether it has. This needs no enter(), which takes 20 cycles: it changes
     * nothing that decides where C reads or writes.
     */
    boolean next(AlgorithmParameterSpec parameters)
            throws InvalidKeyException, InvalidAlgorithmParameterException {
        return false;
    }

    /**
     * Checks whether a key may be used with the parameters.
     *
     * @param same whether it is the key of the context
     * @param last whether it is the key of the last encryption
     */
    void checkUse(boolean same, boolean last)
            throws InvalidKeyException, InvalidAlgorithmParameterException {}

    /** Checks the length of a key. */
    void checkLength(byte[] key) throws InvalidKeyException {
        if (keyLength != 0 && key.length != keyLength) {
            throw new InvalidKeyException(
                    "the key must have " + keyLength + " bytes, and has " + key.length);
        }
        Keys.checkLength(key);
    }

    /** Forgets the message. */
    void reset() {
        held.clear();
    }

    /** Returns how many bytes update() writes for so many bytes of input. */
    abstract int updateSize(int length);

    /** Processes a part of a message. There is room for so many bytes in the output. */
    abstract int update(byte[] in, long at, int length, byte[] out, long outAt, int room)
            throws ShortBufferException;

    /** Processes the last part of a message. */
    abstract int finish(byte[] in, long at, int length, byte[] out, long outAt, int room)
            throws ShortBufferException, IllegalBlockSizeException, BadPaddingException;

    /** Encrypts or decrypts bytes in the middle of a message. */
    abstract void crypt(byte[] in, long at, int length, byte[] out, long outAt);

    // ---- Keys and parameters ----

    // A service has a whole transformation, so JCE does not call these.
    @Override
    protected void engineSetMode(String mode) throws NoSuchAlgorithmException {
        throw new NoSuchAlgorithmException(mode);
    }

    @Override
    protected void engineSetPadding(String padding) throws NoSuchPaddingException {
        throw new NoSuchPaddingException(padding);
    }

    @Override
    protected int engineGetBlockSize() {
        return BLOCK;
    }

    @Override
    protected int engineGetKeySize(Key key) throws InvalidKeyException {
        byte[] encoded = key.getEncoded();
        try {
            checkLength(encoded);
            return encoded.length * 8;
        } finally {
            Keys.wipe(encoded);
        }
    }

    @Override
    protected byte[] engineGetIV() {
        return iv == null ? null : iv.clone();
    }

    static AlgorithmParameters parameters(String algorithm, AlgorithmParameterSpec spec) {
        try {
            AlgorithmParameters parameters = AlgorithmParameters.getInstance(algorithm);
            parameters.init(spec);
            return parameters;
        } catch (NoSuchAlgorithmException | InvalidParameterSpecException e) {
            throw new ProviderException(e);
        }
    }

    /**
     * Takes over an array as the IV, or its bytes if the IV before was as long. To store a reference
     * in an object that the collector G1 knows for long takes a fence, so that this costs less.
     */
    final void setIv(byte[] next) {
        if (iv == null || iv.length != next.length) {
            iv = next;
        } else {
            System.arraycopy(next, 0, iv, 0, next.length);
        }
    }

    byte[] freshIv(int length) {
        byte[] fresh = new byte[length];
        (random == null ? RANDOM : random).nextBytes(fresh);
        return fresh;
    }

    /** Returns the IV of parameters that have no more than that. */
    static byte[] onlyIv(AlgorithmParameterSpec parameters)
            throws InvalidAlgorithmParameterException {
        if (!(parameters instanceof IvParameterSpec)) {
            throw new InvalidAlgorithmParameterException(
                    "the cipher takes an IvParameterSpec, not " + parameters.getClass().getName());
        }
        return ((IvParameterSpec) parameters).getIV();
    }

    /** The class that has the parameters of the mode. */
    Class<? extends AlgorithmParameterSpec> specClass() {
        return IvParameterSpec.class;
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
            engineInit(opmode, key,
                    parameters == null ? null : parameters.getParameterSpec(specClass()), random);
        } catch (InvalidParameterSpecException e) {
            throw new InvalidAlgorithmParameterException("these are not parameters of the mode", e);
        }
    }

    @Override
    protected void engineInit(int opmode, Key key, AlgorithmParameterSpec parameters,
            SecureRandom random) throws InvalidKeyException, InvalidAlgorithmParameterException {
        boolean encrypts = opmode == Cipher.ENCRYPT_MODE || opmode == Cipher.WRAP_MODE;
        if (key != null && key == current && encrypts == encrypting && held.length == 0
                && !context.isBusy() && !context.hasKept() && next(parameters)) {
            return;
        }
        context.enter();
        try {
            reset();
            if (this.random != random) { // see setIv()
                this.random = random;
            }
            encrypting = encrypts;
            setParameters(parameters);
            if (key != null && key == current && !context.hasKept()) {
                checkUse(true, true);
            } else {
                setKey(key);
            }
        } finally {
            context.leave();
        }
    }

    private void setKey(Key key) throws InvalidKeyException, InvalidAlgorithmParameterException {
        current = null;
        byte[] bytes = Keys.encoded(key);
        try {
            Keys.checkAes(key);
            checkLength(bytes);
            boolean same = context.isKey(bytes);
            checkUse(same, context.hasKept() ? context.isKept(bytes) : same);
            context.setKey(bytes);
        } finally {
            Keys.wipe(bytes);
        }
        current = key.getClass() == SecretKeySpec.class ? key : null;
    }

    // ---- Data ----

    static void checkRoom(int needed, int room) throws ShortBufferException {
        if (room < needed) {
            throw new ShortBufferException(
                    "the output needs " + needed + " bytes, and has room for " + room);
        }
    }

    @Override
    protected byte[] engineUpdate(byte[] in, int at, int length) {
        context.enter();
        try {
            byte[] out = new byte[updateSize(length)];
            update(in, at, length, out, 0, out.length);
            return out;
        } catch (ShortBufferException e) {
            throw new ProviderException(e);
        } finally {
            context.leave();
        }
    }

    @Override
    protected int engineUpdate(byte[] in, int at, int length, byte[] out, int outAt)
            throws ShortBufferException {
        context.enter();
        try {
            return update(in, at, length, out, outAt, out.length - outAt);
        } finally {
            context.leave();
        }
    }

    @Override
    protected byte[] engineDoFinal(byte[] in, int at, int length)
            throws IllegalBlockSizeException, BadPaddingException {
        context.enter();
        try {
            byte[] out = new byte[Math.max(engineGetOutputSize(length), 0)];
            int written = finish(in == null ? Context.EMPTY : in, at, length, out, 0, out.length);
            if (written == out.length) {
                return out;
            }
            byte[] exact = Arrays.copyOf(out, written);
            Keys.wipe(out);
            return exact;
        } catch (ShortBufferException e) {
            throw new ProviderException(e);
        } finally {
            context.leave();
        }
    }

    @Override
    protected int engineDoFinal(byte[] in, int at, int length, byte[] out, int outAt)
            throws ShortBufferException, IllegalBlockSizeException, BadPaddingException {
        context.enter();
        try {
            return finish(in == null ? Context.EMPTY : in, at, length, out, outAt,
                    out.length - outAt);
        } finally {
            context.leave();
        }
    }

    /** Processes held bytes and input as far as they make updateSize(), and holds the others. */
    final int process(byte[] in, long at, int length, byte[] out, long outAt) {
        return process(in, at, length, out, outAt, updateSize(length));
    }

    /** Processes `written` bytes of the held ones and the input, and holds the others. */
    final int process(byte[] in, long at, int length, byte[] out, long outAt, int written) {
        if (written == 0) {
            held.add(in, at, length);
            return 0;
        }
        byte[] source = in;
        if (Context.overwrites(in, at, length, out, outAt, held.length)) {
            source = Context.copy(in, at, length);
            at = 0;
        }
        int used = 0;
        int done = 0;
        // Held bytes come first, as far as input makes them whole blocks.
        if (held.length > 0) {
            int blocks = Math.min(written, (held.length + BLOCK - 1) / BLOCK * BLOCK);
            used = Math.max(blocks - held.length, 0);
            held.add(source, at, used);
            done = Math.min(held.length, written);
            crypt(held.bytes, 0, done, out, outAt);
            held.drop(done);
        }
        crypt(source, Context.move(at, used), written - done, out, Context.move(outAt, done));
        used += written - done;
        if (used < length) {
            held.add(source, Context.move(at, used), length - used);
        }
        if (source != in) {
            Keys.wipe(source);
        }
        return written;
    }

    // ---- Wrapping a key by encrypting it ----

    @Override
    protected byte[] engineWrap(Key key) throws IllegalBlockSizeException, InvalidKeyException {
        byte[] encoded = key.getEncoded();
        try {
            if (encoded == null || encoded.length == 0) {
                throw new InvalidKeyException("the key to wrap does not reveal its bytes");
            }
            return engineDoFinal(encoded, 0, encoded.length);
        } catch (BadPaddingException e) {
            throw new AssertionError("encryption checks no padding", e);
        } finally {
            Keys.wipe(encoded);
        }
    }

    @Override
    protected Key engineUnwrap(byte[] wrapped, String algorithm, int type)
            throws InvalidKeyException, NoSuchAlgorithmException {
        byte[] encoded;
        try {
            encoded = engineDoFinal(wrapped, 0, wrapped.length);
        } catch (BadPaddingException | IllegalBlockSizeException e) {
            throw new InvalidKeyException("the wrapped key is damaged", e);
        }
        try {
            return Keys.decoded(encoded, algorithm, type);
        } finally {
            Keys.wipe(encoded);
        }
    }
}
