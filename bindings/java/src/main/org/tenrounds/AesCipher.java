// SPDX-License-Identifier: BSD-2-Clause
package org.tenrounds;

import java.security.InvalidKeyException;
import java.security.Key;
import java.security.KeyFactory;
import java.security.NoSuchAlgorithmException;
import java.security.spec.InvalidKeySpecException;
import java.security.spec.PKCS8EncodedKeySpec;
import java.security.spec.X509EncodedKeySpec;
import java.util.Arrays;
import javax.crypto.BadPaddingException;
import javax.crypto.Cipher;
import javax.crypto.CipherSpi;
import javax.crypto.IllegalBlockSizeException;
import javax.crypto.NoSuchPaddingException;
import javax.crypto.spec.SecretKeySpec;

/** What all ciphers share: checks of keys, and the wrapping of keys by encrypting them. */
abstract class AesCipher extends CipherSpi {
    static final int BLOCK = 16;

    private final int keyLength;

    /** Makes a cipher for keys of this length in bytes, or of all lengths if it is 0. */
    AesCipher(int keyLength) {
        this.keyLength = keyLength;
    }

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
            checkLength(encoded.length);
            return encoded.length * 8;
        } finally {
            wipe(encoded);
        }
    }

    static boolean encrypts(int opmode) {
        return opmode == Cipher.ENCRYPT_MODE || opmode == Cipher.WRAP_MODE;
    }

    /** Returns the bytes of a key, which the caller wipes. */
    byte[] encoded(Key key) throws InvalidKeyException {
        byte[] encoded = bytes(key);
        if (keyLength != 0 && encoded.length != keyLength) {
            wipe(encoded);
            throw new InvalidKeyException(
                    "the key must have " + keyLength + " bytes, and has " + encoded.length);
        }
        return encoded;
    }

    /** The same for a key of any length. */
    static byte[] bytes(Key key) throws InvalidKeyException {
        if (key == null) {
            throw new InvalidKeyException("there is no key");
        }
        if (!"RAW".equalsIgnoreCase(key.getFormat())) {
            throw new InvalidKeyException("the key's format is not RAW: " + key.getFormat());
        }
        byte[] encoded = key.getEncoded();
        if (encoded == null) {
            throw new InvalidKeyException("the key does not reveal its bytes");
        }
        return encoded;
    }

    /** Checks that a key is one of AES. As in SunJCE, checks of parameters come before. */
    static void checkAes(Key key, byte[] encoded) throws InvalidKeyException {
        String algorithm = key.getAlgorithm();
        if (!"AES".equalsIgnoreCase(algorithm) && !"Rijndael".equalsIgnoreCase(algorithm)) {
            throw new InvalidKeyException("the key is not for AES: " + algorithm);
        }
        checkLength(encoded.length);
    }

    private static void checkLength(int length) throws InvalidKeyException {
        if (length != 16 && length != 24 && length != 32) {
            throw new InvalidKeyException("AES takes no key of " + length + " bytes");
        }
    }

    static void wipe(byte[] secret) {
        if (secret != null) {
            Arrays.fill(secret, (byte) 0);
        }
    }

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
            wipe(encoded);
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
            return keyOf(encoded, algorithm, type);
        } finally {
            wipe(encoded);
        }
    }

    private static Key keyOf(byte[] encoded, String algorithm, int type)
            throws InvalidKeyException, NoSuchAlgorithmException {
        try {
            switch (type) {
                case Cipher.SECRET_KEY:
                    return new SecretKeySpec(encoded, algorithm);
                case Cipher.PRIVATE_KEY:
                    return KeyFactory.getInstance(algorithm)
                            .generatePrivate(new PKCS8EncodedKeySpec(encoded));
                case Cipher.PUBLIC_KEY:
                    return KeyFactory.getInstance(algorithm)
                            .generatePublic(new X509EncodedKeySpec(encoded));
                default:
                    throw new InvalidKeyException("there is no such type of key: " + type);
            }
        } catch (InvalidKeySpecException e) {
            throw new InvalidKeyException("the unwrapped bytes are no key for " + algorithm, e);
        }
    }
}
