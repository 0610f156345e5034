// SPDX-License-Identifier: BSD-2-Clause
package org.tenrounds;

import java.security.InvalidAlgorithmParameterException;
import java.security.InvalidKeyException;
import java.security.Key;
import java.security.spec.AlgorithmParameterSpec;
import javax.crypto.MacSpi;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.IvParameterSpec;

/**
 * CMAC (SP 800-38B) and GMAC (SP 800-38D). GMAC takes an IV by an IvParameterSpec, or by a
 * GCMParameterSpec, which also has the length of the tag. Two messages with one key and IV reveal
 * the hash subkey, so that GMAC needs init() again after each tag.
 */
final class AesMac extends MacSpi {
    /** The most bytes that are collected, so that a short message is one call of the core. */
    private static final int FEW = 512;

    private final boolean gmac;
    private final Context context;
    private byte[] iv = Context.EMPTY;
    private int tagLength = AesCipher.BLOCK;
    private boolean ready;

    // The message.
    private final Held held = new Held();
    private boolean started;

    AesMac(boolean gmac) {
        this.gmac = gmac;
        context = new Context(gmac ? Calls.GCM_KEY : Calls.CMAC_KEY);
    }

    @Override
    protected int engineGetMacLength() {
        return tagLength;
    }

    @Override
    protected void engineInit(Key key, AlgorithmParameterSpec parameters)
            throws InvalidKeyException, InvalidAlgorithmParameterException {
        context.enter();
        try {
            ready = false;
            engineReset();
            if (gmac) {
                setParameters(parameters);
            } else if (parameters != null) {
                throw new InvalidAlgorithmParameterException("CMAC takes no parameters");
            }
            setKey(key);
            ready = true;
        } finally {
            context.leave();
        }
    }

    private void setKey(Key key) throws InvalidKeyException {
        byte[] bytes = Keys.encoded(key);
        try {
            Keys.checkAes(key);
            Keys.checkLength(bytes);
            context.setKey(bytes);
        } finally {
            Keys.wipe(bytes);
        }
    }

    private void setParameters(AlgorithmParameterSpec parameters)
            throws InvalidAlgorithmParameterException {
        int bits = 128;
        if (parameters instanceof GCMParameterSpec) {
            iv = ((GCMParameterSpec) parameters).getIV();
            bits = ((GCMParameterSpec) parameters).getTLen();
        } else if (parameters instanceof IvParameterSpec) {
            iv = ((IvParameterSpec) parameters).getIV();
        } else {
            throw new InvalidAlgorithmParameterException(
                    "GMAC takes an IvParameterSpec or a GCMParameterSpec");
        }
        tagLength = GcmCipher.tagLength(bits);
        if (iv.length == 0) {
            throw new InvalidAlgorithmParameterException("the IV is empty");
        }
    }

    @Override
    protected void engineUpdate(byte in) {
        engineUpdate(new byte[] {in}, 0, 1);
    }

    @Override
    protected void engineUpdate(byte[] in, int at, int length) {
        context.enter();
        try {
            check();
            if (length <= FEW - held.length) {
                held.add(in, at, length);
            } else {
                start();
                add(in, at, length);
            }
        } finally {
            context.leave();
        }
    }

    private void check() {
        if (!ready) {
            throw new IllegalStateException(gmac
                    ? "GMAC needs init() with a new IV for each message"
                    : "the MAC is not initialized");
        }
    }

    /** Gives the core what is collected. */
    private void start() {
        if (!started) {
            call(gmac ? Calls.GCM_START : Calls.CMAC_START, iv, Context.EMPTY, 0, 0);
            started = true;
        }
        add(held.bytes, 0, held.length);
        held.clear();
    }

    private void add(byte[] in, int at, int length) {
        for (int done = 0, n; done < length; done += n) {
            n = Math.min(length - done, Context.PIECE);
            call(gmac ? Calls.GCM_AAD : Calls.CMAC_UPDATE, Context.EMPTY, in, at + done, n);
        }
    }

    private void call(int operation, byte[] start, byte[] in, int at, int length) {
        context.call(operation, start, Context.EMPTY, 0, in, at, length, Context.EMPTY, 0, 0,
                length, 0);
    }

    @Override
    protected byte[] engineDoFinal() {
        context.enter();
        try {
            check();
            byte[] tag = new byte[tagLength];
            if (started) {
                start();
                context.call(gmac ? Calls.GCM_TAG : Calls.CMAC_TAG, Context.EMPTY, Context.EMPTY, 0,
                        Context.EMPTY, 0, 0, tag, 0, tagLength, tagLength, 0);
            } else if (gmac) {
                context.call(Calls.GCM_SEAL, iv, held.bytes, held.length, Context.EMPTY, 0, 0, tag,
                        0, tagLength, 0, tagLength);
            } else {
                context.call(Calls.CMAC_SIGN, Context.EMPTY, Context.EMPTY, 0, held.bytes, 0,
                        held.length, tag, 0, tagLength, held.length, tagLength);
            }
            ready = !gmac;
            engineReset();
            context.end();
            return tag;
        } finally {
            context.leave();
        }
    }

    @Override
    protected void engineReset() {
        held.clear();
        started = false;
    }
}
