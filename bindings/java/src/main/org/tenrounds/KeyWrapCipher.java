// SPDX-License-Identifier: BSD-2-Clause
package org.tenrounds;

import java.nio.ByteBuffer;
import java.security.AlgorithmParameters;
import java.security.InvalidAlgorithmParameterException;
import java.security.spec.AlgorithmParameterSpec;
import java.util.Arrays;
import javax.crypto.IllegalBlockSizeException;
import javax.crypto.spec.IvParameterSpec;

/**
 * AES/KW/NoPadding and AES/KWP/NoPadding (SP 800-38F, RFC 3394 and 5649) as SunJCE has them. As
 * in SunJCE, a damaged text is an IllegalBlockSizeException.
 */
final class KeyWrapCipher extends WholeCipher {
    private static final int HALF = 8;
    /** Key wrap takes 12 AES blocks for each block of text: 60 µs for so many bytes. */
    private static final int LONG = 4096;
    private static final byte[] KW_IV =
            {(byte) 0xa6, (byte) 0xa6, (byte) 0xa6, (byte) 0xa6, (byte) 0xa6, (byte) 0xa6,
                (byte) 0xa6, (byte) 0xa6};
    private static final byte[] KWP_IV = {(byte) 0xa6, 0x59, 0x59, (byte) 0xa6};

    private final boolean padded;

    KeyWrapCipher(boolean padded, int keyLength) {
        super(keyLength, Calls.AES_KEY);
        this.padded = padded;
    }

    @Override
    protected int engineGetBlockSize() {
        return HALF;
    }

    @Override
    protected AlgorithmParameters engineGetParameters() {
        return parameters("AES", new IvParameterSpec(iv == null ? standardIv() : iv));
    }

    private byte[] standardIv() {
        return padded ? KWP_IV : KW_IV;
    }

    @Override
    void setParameters(AlgorithmParameterSpec parameters)
            throws InvalidAlgorithmParameterException {
        iv = parameters == null ? standardIv() : onlyIv(parameters);
        if (padded ? !Arrays.equals(iv, KWP_IV) : iv.length != HALF) {
            throw new InvalidAlgorithmParameterException(padded
                    ? "KWP takes only the IV a65959a6 of RFC 5649"
                    : "the IV must have 8 bytes, and has " + iv.length);
        }
    }

    @Override
    protected int engineGetOutputSize(int length) {
        int total = Math.addExact(held.length, length);
        if (!encrypting) {
            return total - HALF;
        }
        return Math.addExact(total, HALF + (padded ? -total & HALF - 1 : 0));
    }

    @Override
    int crypt(byte[] text, int prefix, int length) throws IllegalBlockSizeException {
        checkLength(length);
        int operation = padded ? encrypting ? Calls.KWP_WRAP : Calls.KWP_UNWRAP
                : encrypting ? Calls.KW_WRAP : Calls.KW_UNWRAP;
        if (!context.callWhole(operation, iv, text, prefix, length, 0, LONG)) {
            throw new IllegalBlockSizeException("the integrity check failed");
        }
        return encrypting ? text.length : padded ? ByteBuffer.wrap(text).getInt(length - 4)
                : length - HALF;
    }

    private void checkLength(int total) throws IllegalBlockSizeException {
        int least = padded ? encrypting ? 1 : BLOCK : encrypting ? BLOCK : BLOCK + HALF;
        if (total < least || !(padded && encrypting) && total % HALF != 0) {
            throw new IllegalBlockSizeException("key wrap cannot process " + total
                    + " bytes: it takes at least " + least
                    + (padded && encrypting ? "" : ", in multiples of 8"));
        }
    }
}
