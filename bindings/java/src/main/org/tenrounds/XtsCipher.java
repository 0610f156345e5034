// SPDX-License-Identifier: BSD-2-Clause
package org.tenrounds;

import java.security.AlgorithmParameters;
import java.security.InvalidAlgorithmParameterException;
import java.security.InvalidKeyException;
import java.security.spec.AlgorithmParameterSpec;
import java.util.Arrays;
import javax.crypto.IllegalBlockSizeException;
import javax.crypto.spec.IvParameterSpec;

/**
 * AES/XTS/NoPadding (IEEE 1619): a message is a data unit, and the IV its tweak. A key has both
 * keys, that of the data first. The next message begins with the same tweak.
 */
final class XtsCipher extends WholeCipher {
    private static final int MOST = 1 << 24; // IEEE 1619 section 5.1

    /** Whether both keys are the same. */
    private boolean equal;

    XtsCipher() {
        super(0, Calls.XTS_KEY);
    }

    @Override
    protected AlgorithmParameters engineGetParameters() {
        return parameters("AES", new IvParameterSpec(iv == null ? new byte[BLOCK] : iv));
    }

    @Override
    void setParameters(AlgorithmParameterSpec parameters)
            throws InvalidAlgorithmParameterException {
        if (parameters == null) {
            throw new InvalidAlgorithmParameterException("XTS needs a tweak by an IvParameterSpec");
        }
        iv = onlyIv(parameters);
        if (iv.length != BLOCK) {
            throw new InvalidAlgorithmParameterException(
                    "the tweak must have 16 bytes, and has " + iv.length);
        }
    }

    @Override
    void checkLength(byte[] key) throws InvalidKeyException {
        if (key.length != 32 && key.length != 64) {
            throw new InvalidKeyException(
                    "XTS takes two keys of 16 or 32 bytes, not " + key.length + " bytes");
        }
        byte[] data = Arrays.copyOf(key, key.length / 2);
        byte[] tweak = Arrays.copyOfRange(key, key.length / 2, key.length);
        equal = Context.equal(data, tweak);
        Keys.wipe(data);
        Keys.wipe(tweak);
    }

    // Old data with two equal keys can be decrypted, as in the core.
    @Override
    void checkUse(boolean same, boolean last) throws InvalidKeyException {
        if (encrypting && equal) {
            throw new InvalidKeyException("both keys of XTS are the same");
        }
    }

    @Override
    protected int engineGetOutputSize(int length) {
        return Math.addExact(held.length, length);
    }

    @Override
    int crypt(byte[] message, int prefix, int length) throws IllegalBlockSizeException {
        if (length < BLOCK || length > MOST) {
            throw new IllegalBlockSizeException(
                    "a data unit has 16 to 2^24 bytes, not " + length);
        }
        context.callWhole(encrypting ? Calls.XTS_ENCRYPT : Calls.XTS_DECRYPT, iv, message, prefix,
                length, 0, Context.PARALLEL_PIECE);
        return length;
    }
}
