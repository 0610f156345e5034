// SPDX-License-Identifier: BSD-2-Clause
package org.tenrounds;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.InvalidKeyException;
import java.util.Arrays;
import javax.crypto.AEADBadTagException;
import javax.crypto.SecretKey;

/**
 * Many short messages of AES-GCM with one key: the rows of a table, or the packets of a stream. JCE
 * takes one message at a time. Messages of one length with AAD of one length gain most.
 *
 * <p>The messages lie one after the other in an array, as do the IVs of 12 bytes each and the AAD.
 * In sealed form, each message has its tag of 16 bytes after it. Each IV must be new for the key;
 * this class does not check that. The memory of the key is cleansed when the object becomes
 * unreachable.
 */
public final class GcmBatch {
    private static final int IV = 12;
    private static final int TAG = 16;
    /** The bytes that C gets for a message, besides AAD and text: see struct record. */
    private static final int RECORD = IV + 2 * Integer.BYTES;

    private final Context context = new Context(Calls.GCM_KEY);

    /** Makes a batch for a key of AES. */
    public GcmBatch(SecretKey key) throws InvalidKeyException {
        if (Library.PROBLEM != null) {
            throw new IllegalStateException(Library.PROBLEM);
        }
        byte[] bytes = Keys.encoded(key);
        try {
            Keys.checkAes(key);
            Keys.checkLength(bytes);
            context.setKey(bytes);
        } finally {
            Keys.wipe(bytes);
        }
    }

    /**
     * Encrypts messages.
     *
     * @param ivs an IV of 12 bytes for each message
     * @param aads the AAD of all messages
     * @param aadLengths the length of the AAD of each message; null if no message has any
     * @param texts the plaintexts
     * @param lengths the length of each plaintext, at most 32 KiB
     * @return the ciphertexts, each with its tag after it
     */
    public byte[] seal(byte[] ivs, byte[] aads, int[] aadLengths, byte[] texts, int[] lengths) {
        byte[] sealed = new byte[Math.addExact(texts.length,
                Math.multiplyExact(lengths.length, TAG))];
        run(true, ivs, aads, aadLengths, texts, lengths, sealed);
        return sealed;
    }

    /**
     * Decrypts what {@link #seal} returns.
     *
     * @param lengths the length of each plaintext
     * @return the plaintexts
     * @throws AEADBadTagException if the tag of a message does not match; no plaintext is returned
     */
    public byte[] open(byte[] ivs, byte[] aads, int[] aadLengths, byte[] sealed, int[] lengths)
            throws AEADBadTagException {
        byte[] texts = new byte[Math.max(sealed.length
                - Math.multiplyExact(lengths.length, TAG), 0)];
        if (!run(false, ivs, aads, aadLengths, sealed, lengths, texts)) {
            Keys.wipe(texts);
            throw new AEADBadTagException("the tag of a message does not match");
        }
        return texts;
    }

    private boolean run(boolean seals, byte[] ivs, byte[] aads, int[] aadLengths, byte[] in,
            int[] lengths, byte[] out) {
        int[] own = lengths.clone();
        int[] ownAad = aadLengths == null ? new int[own.length] : aadLengths.clone();
        int total = seals ? in.length : in.length - own.length * TAG;
        check(total, aads.length, ivs.length, own, ownAad);
        boolean genuine = true;
        context.enter();
        try {
            for (int i = 0, inAt = 0, aadAt = 0, outAt = 0; i < own.length; ) {
                // As many messages as one call may have.
                int first = i;
                int text = 0;
                int aad = 0;
                do {
                    text += own[i];
                    aad += ownAad[i++];
                } while (i < own.length && text + own[i] + aad + ownAad[i] <= Context.PIECE
                        && i - first < Context.PIECE / 64);
                byte[] records = records(ivs, ownAad, own, first, i);
                byte[] aadPiece = Arrays.copyOfRange(aads, aadAt, aadAt + aad);
                int tags = (i - first) * TAG;
                int inLength = text + (seals ? 0 : tags);
                int outLength = text + (seals ? tags : 0);
                genuine &= context.call(seals ? Calls.GCM_SEAL_MANY : Calls.GCM_OPEN_MANY, records,
                        aadPiece, aad, in, inAt, inLength, out, outAt, outLength, text, TAG);
                inAt += inLength;
                outAt += outLength;
                aadAt += aad;
            }
        } finally {
            context.leave();
        }
        return genuine;
    }

    private static void check(int text, int aad, int ivs, int[] lengths, int[] aadLengths) {
        if (ivs != (long) lengths.length * IV || aadLengths.length != lengths.length) {
            throw new IllegalArgumentException("there are " + lengths.length + " lengths, "
                    + aadLengths.length + " lengths of AAD, and " + ivs + " bytes of IVs");
        }
        checkSum(text, lengths);
        checkSum(aad, aadLengths);
    }

    private static void checkSum(int total, int[] lengths) {
        long sum = 0;
        for (int length : lengths) {
            if (length < 0 || length > Context.PIECE) {
                throw new IllegalArgumentException(
                        "a message has at most " + Context.PIECE + " bytes, not " + length);
            }
            sum += length;
        }
        if (sum != total) {
            throw new IllegalArgumentException(
                    "the lengths are " + sum + " bytes in all, and the array has " + total);
        }
    }

    private static byte[] records(byte[] ivs, int[] aadLengths, int[] lengths, int from, int to) {
        ByteBuffer records = ByteBuffer.allocate((to - from) * RECORD)
                .order(ByteOrder.nativeOrder());
        for (int i = from; i < to; i++) {
            records.put(ivs, i * IV, IV).putInt(aadLengths[i]).putInt(lengths[i]);
        }
        return records.array();
    }
}
