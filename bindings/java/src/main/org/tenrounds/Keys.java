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
import javax.crypto.Cipher;
import javax.crypto.spec.SecretKeySpec;

/** Keys: checks, and their bytes. */
final class Keys {
    private Keys() {}

    /** Returns the bytes of a key, which the caller wipes. */
    static byte[] encoded(Key key) throws InvalidKeyException {
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

    /** Checks that a key is one of AES. */
    static void checkAes(Key key) throws InvalidKeyException {
        String algorithm = key.getAlgorithm();
        if (!"AES".equalsIgnoreCase(algorithm) && !"Rijndael".equalsIgnoreCase(algorithm)) {
            throw new InvalidKeyException("the key is not for AES: " + algorithm);
        }
    }

    static void checkLength(byte[] key) throws InvalidKeyException {
        if (key.length != 16 && key.length != 24 && key.length != 32) {
            throw new InvalidKeyException("AES takes no key of " + key.length + " bytes");
        }
    }

    static void wipe(byte[] secret) {
        if (secret != null) {
            Arrays.fill(secret, (byte) 0);
        }
    }

    /** Returns the key of an unwrapped encoding. */
    static Key decoded(byte[] encoded, String algorithm, int type)
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
