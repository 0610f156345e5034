// SPDX-License-Identifier: BSD-2-Clause
package org.tenrounds;

import java.nio.ByteBuffer;
import java.security.AlgorithmParameters;
import java.security.InvalidAlgorithmParameterException;
import java.security.spec.AlgorithmParameterSpec;
import javax.crypto.AEADBadTagException;
import javax.crypto.BadPaddingException;
import javax.crypto.IllegalBlockSizeException;
import javax.crypto.ShortBufferException;
import javax.crypto.spec.GCMParameterSpec;

/**
 * AES/CCM/NoPadding (SP 800-38C) and AES/GCM-SIV/NoPadding (RFC 8452), with a GCMParameterSpec. CCM
 * refuses the nonce of the message before, as GCM does. With GCM-SIV, a nonce may come again.
 */
final class AeadCipher extends WholeCipher {
    private static final int NONCE_LENGTH = 12;

    private final boolean siv;
    private final IvGuard guard = new IvGuard();
    private int tagLength = BLOCK;
    /** The AAD, with which the held bytes begin. */
    private int aadLength;
    private boolean aadEnded;

    AeadCipher(boolean siv) {
        super(0, siv ? Calls.GCM_SIV_KEY : Calls.CCM_KEY);
        this.siv = siv;
    }

    @Override
    Class<GCMParameterSpec> specClass() {
        return GCMParameterSpec.class;
    }

    // Those of GCM have no shorter tags.
    @Override
    protected AlgorithmParameters engineGetParameters() {
        return tagLength < 12 ? null : parameters("GCM",
                new GCMParameterSpec(tagLength * 8, iv == null ? freshIv(NONCE_LENGTH) : iv));
    }

    @Override
    void setParameters(AlgorithmParameterSpec parameters)
            throws InvalidAlgorithmParameterException {
        if (parameters == null && encrypting) {
            parameters = new GCMParameterSpec(128, freshIv(NONCE_LENGTH));
        }
        if (!(parameters instanceof GCMParameterSpec)) {
            throw new InvalidAlgorithmParameterException("the cipher takes a GCMParameterSpec");
        }
        iv = ((GCMParameterSpec) parameters).getIV();
        int bits = ((GCMParameterSpec) parameters).getTLen();
        if (siv ? iv.length != NONCE_LENGTH : iv.length < 7 || iv.length > 13) {
            throw new InvalidAlgorithmParameterException("a nonce has "
                    + (siv ? "12" : "7 to 13") + " bytes, not " + iv.length);
        }
        if (siv ? bits != 128 : bits < 32 || bits > 128 || bits % 16 != 0) {
            throw new InvalidAlgorithmParameterException("a tag has "
                    + (siv ? "128" : "32, 48, 64, 80, 96, 112 or 128") + " bits, not " + bits);
        }
        tagLength = bits / 8;
    }

    @Override
    void checkUse(boolean same, boolean last) throws InvalidAlgorithmParameterException {
        if (!siv) {
            guard.check(context, iv, encrypting, same, last);
        }
    }

    @Override
    void reset() {
        super.reset();
        aadLength = 0;
        aadEnded = false;
    }

    @Override
    protected void engineUpdateAAD(byte[] in, int at, int length) {
        context.enter();
        try {
            guard.checkFresh(encrypting);
            if (aadEnded) {
                throw new IllegalStateException("AAD comes before all data");
            }
            held.add(in, at, length);
            aadLength += length;
        } finally {
            context.leave();
        }
    }

    @Override
    protected void engineUpdateAAD(ByteBuffer in) {
        byte[] aad = new byte[in.remaining()];
        in.get(aad);
        engineUpdateAAD(aad, 0, aad.length);
    }

    @Override
    int prefix() {
        return aadLength;
    }

    @Override
    protected int engineGetOutputSize(int length) {
        int total = Math.addExact(held.length - aadLength, length);
        return encrypting ? Math.addExact(total, tagLength) : Math.max(total - tagLength, 0);
    }

    @Override
    int update(byte[] in, long at, int length, byte[] out, long outAt, int room) {
        guard.checkFresh(encrypting);
        aadEnded = true;
        return super.update(in, at, length, out, outAt, room);
    }

    @Override
    int finish(byte[] in, long at, int length, byte[] out, long outAt, int room)
            throws ShortBufferException, IllegalBlockSizeException, BadPaddingException {
        guard.checkFresh(encrypting);
        int written = super.finish(in, at, length, out, outAt, room);
        if (!siv) {
            guard.spend();
        }
        return written;
    }

    @Override
    int crypt(byte[] message, int prefix, int length)
            throws AEADBadTagException, IllegalBlockSizeException {
        int text = length - prefix - (encrypting ? 0 : tagLength);
        if (text < 0) {
            throw new AEADBadTagException("the message is shorter than its tag");
        }
        // CCM has 15 bytes for the nonce and the length of the text.
        if (!siv && iv.length > 11 && text >> 8 * (15 - iv.length) != 0) {
            throw new IllegalBlockSizeException("a message with a nonce of " + iv.length
                    + " bytes is too long: it has " + text + " bytes");
        }
        int operation = siv ? encrypting ? Calls.GCM_SIV_SEAL : Calls.GCM_SIV_OPEN
                : encrypting ? Calls.CCM_SEAL : Calls.CCM_OPEN;
        if (!context.callWhole(operation, iv, message, prefix, text, tagLength, Context.PIECE)) {
            throw new AEADBadTagException("the tag does not match");
        }
        return encrypting ? text + tagLength : text;
    }
}
