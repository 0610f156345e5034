// SPDX-License-Identifier: BSD-2-Clause
package org.tenrounds;

import java.security.InvalidAlgorithmParameterException;
import java.util.Arrays;

/** Refuses to encrypt with the key and the IV of the message before. */
final class IvGuard {
    /**
     * The IV of the last encryption, which must not come again with the same key. That is the key
     * which the context has kept, or else its current one.
     */
    private byte[] lastIv = Context.EMPTY;
    /** A message was encrypted with the IV. */
    private boolean spent;

    /** Checks the IV of an init(): see {@link AesCipher#checkUse}. */
    void check(Context context, byte[] iv, boolean encrypting, boolean same, boolean last)
            throws InvalidAlgorithmParameterException {
        if (encrypting) {
            if (last && Arrays.equals(iv, lastIv)) {
                throw new InvalidAlgorithmParameterException(
                        "encryption needs another IV than that of the message before");
            }
            context.dropKept();
            // As AesCipher.setIv().
            if (iv.length != lastIv.length) {
                lastIv = iv.clone();
            } else {
                System.arraycopy(iv, 0, lastIv, 0, iv.length);
            }
        } else if (!same && !context.hasKept()) {
            context.keepKey();
        }
        spent = false;
    }

    /** Ends an encryption: the next one needs init(). */
    void spend() {
        spent = true;
    }

    void checkFresh(boolean encrypting) {
        if (encrypting && spent) {
            throw new IllegalStateException("encryption needs another key or IV for each message");
        }
    }
}
