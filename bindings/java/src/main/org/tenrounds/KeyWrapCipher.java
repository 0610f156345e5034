// SPDX-License-Identifier: BSD-2-Clause
package org.tenrounds;

import java.nio.ByteBuffer;
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
import javax.crypto.IllegalBlockSizeException;
import javax.crypto.ShortBufferException;
import javax.crypto.spec.IvParameterSpec;

/**
 * AES/KW/NoPadding and AES/KWP/NoPadding (SP 800-38F, RFC 3394 and 5649) as SunJCE has them. The
 * text is collected until doFinal(). As in SunJCE, a damaged text is an IllegalBlockSizeException.
 */
final class KeyWrapCipher extends AesCipher {
    private static final int HALF = 8;
    /** Key wrap takes 12 AES blocks for each block of text: 60 µs for so many bytes. */
    private static final int LONG = 4096;
    private static final byte[] KW_IV =
            {(byte) 0xa6, (byte) 0xa6, (byte) 0xa6, (byte) 0xa6, (byte) 0xa6, (byte) 0xa6,
                (byte) 0xa6, (byte) 0xa6};
    private static final byte[] KWP_IV = {(byte) 0xa6, 0x59, 0x59, (byte) 0xa6};

    private final Context context = new Context(Calls.AES_KEY);
    private final boolean padded;
    private final Held held = new Held();
    private boolean encrypting;
    private byte[] iv;

    KeyWrapCipher(boolean padded, int keyLength) {
        super(keyLength);
        this.padded = padded;
    }

    @Override
    protected int engineGetBlockSize() {
        return HALF;
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
            parameters.init(new IvParameterSpec(iv == null ? standardIv() : iv));
            return parameters;
        } catch (NoSuchAlgorithmException | InvalidParameterSpecException e) {
            throw new ProviderException(e);
        }
    }

    private byte[] standardIv() {
        return padded ? KWP_IV : KW_IV;
    }

    @Override
    protected void engineInit(int opmode, Key key, SecureRandom random) throws InvalidKeyException {
        try {
            engineInit(opmode, key, (AlgorithmParameterSpec) null, random);
        } catch (InvalidAlgorithmParameterException e) {
            throw new InvalidKeyException(e);
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
        byte[] bytes = encoded(key);
        context.enter();
        try {
            checkAes(key, bytes);
            iv = checkedIv(parameters);
            context.setKey(bytes);
            encrypting = encrypts(opmode);
            held.clear();
        } finally {
            context.leave();
            wipe(bytes);
        }
    }

    private byte[] checkedIv(AlgorithmParameterSpec parameters)
            throws InvalidAlgorithmParameterException {
        if (parameters == null) {
            return standardIv();
        }
        if (!(parameters instanceof IvParameterSpec)) {
            throw new InvalidAlgorithmParameterException(
                    "the cipher takes an IvParameterSpec, not " + parameters.getClass().getName());
        }
        byte[] given = ((IvParameterSpec) parameters).getIV();
        if (padded ? !Arrays.equals(given, KWP_IV) : given.length != HALF) {
            throw new InvalidAlgorithmParameterException(padded
                    ? "KWP takes only the IV a65959a6 of RFC 5649"
                    : "the IV must have 8 bytes, and has " + given.length);
        }
        return given;
    }

    // ---- Data ----

    @Override
    protected int engineGetOutputSize(int length) {
        int total = Math.addExact(held.length, length);
        if (!encrypting) {
            return total - HALF;
        }
        return Math.addExact(total, HALF + (padded ? -total & HALF - 1 : 0));
    }

    @Override
    protected byte[] engineUpdate(byte[] in, int at, int length) {
        engineUpdate(in, at, length, Context.EMPTY, 0);
        return Context.EMPTY;
    }

    @Override
    protected int engineUpdate(byte[] in, int at, int length, byte[] out, int outAt) {
        context.enter();
        try {
            held.add(in, at, length);
            return 0;
        } finally {
            context.leave();
        }
    }

    @Override
    protected byte[] engineDoFinal(byte[] in, int at, int length)
            throws IllegalBlockSizeException {
        byte[] out = new byte[Math.max(engineGetOutputSize(length), 0)];
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
            throws ShortBufferException, IllegalBlockSizeException {
        context.enter();
        try {
            return finish(in == null ? Context.EMPTY : in, at, length, out, outAt);
        } finally {
            context.leave();
        }
    }

    private int finish(byte[] in, int at, int length, byte[] out, int outAt)
            throws ShortBufferException, IllegalBlockSizeException {
        int size = engineGetOutputSize(length);
        if (out.length - outAt < size) {
            throw new ShortBufferException("the output needs " + size + " bytes, and has room for "
                    + (out.length - outAt));
        }
        int total = held.length + length;
        byte[] text = Arrays.copyOf(held.bytes, Math.max(size, total));
        System.arraycopy(in, at, text, held.length, length);
        held.clear();
        try {
            checkLength(total);
            crypt(text, total);
            int written = padded && !encrypting ? ByteBuffer.wrap(text).getInt(total - 4) : size;
            System.arraycopy(text, 0, out, outAt, written);
            return written;
        } finally {
            wipe(text);
            context.end();
        }
    }

    private void checkLength(int total) throws IllegalBlockSizeException {
        int least = padded ? encrypting ? 1 : BLOCK : encrypting ? BLOCK : BLOCK + HALF;
        if (total < least || !(padded && encrypting) && total % HALF != 0) {
            throw new IllegalBlockSizeException("key wrap cannot process " + total
                    + " bytes: it takes at least " + least
                    + (padded && encrypting ? "" : ", in multiples of 8"));
        }
    }

    private void crypt(byte[] text, int length) throws IllegalBlockSizeException {
        int operation = padded ? encrypting ? Calls.KWP_WRAP : Calls.KWP_UNWRAP
                : encrypting ? Calls.KW_WRAP : Calls.KW_UNWRAP;
        boolean genuine = length > LONG ? context.callOutside(operation, iv, text, length)
                : context.call(operation, iv, Context.EMPTY, 0, text, 0, length, text, 0,
                        text.length, length, 0);
        if (!genuine) {
            throw new IllegalBlockSizeException("the integrity check failed");
        }
    }
}
