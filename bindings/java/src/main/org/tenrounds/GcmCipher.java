// SPDX-License-Identifier: BSD-2-Clause
package org.tenrounds;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.security.AlgorithmParameters;
import java.security.InvalidAlgorithmParameterException;
import java.security.InvalidKeyException;
import java.security.Key;
import java.security.ProviderException;
import java.security.SecureRandom;
import java.security.spec.AlgorithmParameterSpec;
import javax.crypto.AEADBadTagException;
import javax.crypto.Cipher;
import javax.crypto.ShortBufferException;
import javax.crypto.spec.GCMParameterSpec;

/**
 * AES/GCM/NoPadding (SP 800-38D) as SunJCE has it: encryption refuses the IV of the message before,
 * and decryption writes nothing before it has the whole message.
 *
 * <p>AAD is collected. A message that comes in one call, as most do, is then one call of the core.
 */
final class GcmCipher extends AesCipher {
    private static final int IV_LENGTH = 12;

    private int tagLength = BLOCK;
    private final IvGuard guard = new IvGuard();

    // The message. Encryption holds less than a block of it, decryption the ciphertext so far.
    private final Held aad = new Held();
    /** Data may have come, so no AAD may follow. */
    private boolean aadEnded;
    /** The core has the IV and the AAD. */
    private boolean started;
    private long processed;

    GcmCipher(int keyLength) {
        super(keyLength, Calls.GCM_KEY);
    }

    // ---- Parameters ----

    @Override
    Class<GCMParameterSpec> specClass() {
        return GCMParameterSpec.class;
    }

    @Override
    protected AlgorithmParameters engineGetParameters() {
        return parameters("GCM",
                new GCMParameterSpec(tagLength * 8, iv == null ? freshIv(IV_LENGTH) : iv));
    }

    @Override
    protected void engineInit(int opmode, Key key, SecureRandom random) throws InvalidKeyException {
        if (opmode == Cipher.DECRYPT_MODE || opmode == Cipher.UNWRAP_MODE) {
            throw new InvalidKeyException("decryption needs a GCMParameterSpec");
        }
        super.engineInit(opmode, key, random);
    }

    @Override
    void setParameters(AlgorithmParameterSpec parameters)
            throws InvalidAlgorithmParameterException {
        int tagBits = 128;
        if (parameters == null) {
            setIv(freshIv(IV_LENGTH));
        } else if (parameters instanceof GCMParameterSpec) {
            setIv(((GCMParameterSpec) parameters).getIV());
            tagBits = ((GCMParameterSpec) parameters).getTLen();
        } else {
            throw new InvalidAlgorithmParameterException(
                    "GCM takes a GCMParameterSpec, not " + parameters.getClass().getName());
        }
        checkIv();
        tagLength = tagLength(tagBits);
    }

    private void checkIv() throws InvalidAlgorithmParameterException {
        if (iv.length == 0) {
            throw new InvalidAlgorithmParameterException("the IV is empty");
        }
    }

    @Override
    boolean next(AlgorithmParameterSpec parameters) throws InvalidAlgorithmParameterException {
        if (aad.length > 0 || !(parameters instanceof GCMParameterSpec)
                || ((GCMParameterSpec) parameters).getTLen() != tagLength * 8) {
            return false;
        }
        setIv(((GCMParameterSpec) parameters).getIV());
        checkIv();
        checkUse(true, true);
        restart();
        return true;
    }

    @Override
    void checkUse(boolean same, boolean last) throws InvalidAlgorithmParameterException {
        guard.check(context, iv, encrypting, same, last);
    }

    /** Returns the length of a tag in bytes. */
    static int tagLength(int bits) throws InvalidAlgorithmParameterException {
        if (bits < 96 || bits > 128 || bits % 8 != 0) {
            throw new InvalidAlgorithmParameterException(
                    "a tag has 96, 104, 112, 120 or 128 bits, not " + bits);
        }
        return bits / 8;
    }

    @Override
    void reset() {
        super.reset();
        aad.clear();
        restart();
    }

    private void restart() {
        aadEnded = false;
        started = false;
        processed = 0;
    }

    private void ended() {
        reset();
        context.end();
    }

    // SunJCE's limit, too.
    private void checkLength(long more) {
        if (processed + more > Integer.MAX_VALUE) {
            throw new ProviderException("a message has at most 2^31 - 1 bytes");
        }
    }

    // ---- AAD ----

    @Override
    protected void engineUpdateAAD(byte[] in, int at, int length) {
        context.enter();
        try {
            addAad(in, at, length);
        } finally {
            context.leave();
        }
    }

    @Override
    protected void engineUpdateAAD(ByteBuffer in) {
        context.enter();
        try {
            ByteBuffer source = Buffers.readable(in);
            addAad(Buffers.array(source), Buffers.at(source), source.remaining());
            in.position(in.limit());
            Reference.reachabilityFence(source);
        } finally {
            context.leave();
        }
    }

    private void addAad(byte[] in, long at, int length) {
        guard.checkFresh(encrypting);
        if (aadEnded) {
            throw new IllegalStateException("AAD comes before all data");
        }
        aad.add(in, at, length);
    }

    // ---- Data ----

    @Override
    protected int engineGetOutputSize(int length) {
        int total = held.length + length;
        return encrypting ? total + tagLength : Math.max(total - tagLength, 0);
    }

    @Override
    int updateSize(int length) {
        return encrypting ? Math.addExact(held.length, length) / BLOCK * BLOCK : 0;
    }

    @Override
    protected int engineUpdate(ByteBuffer in, ByteBuffer out) throws ShortBufferException {
        context.enter();
        try {
            ByteBuffer source = Buffers.readable(in);
            ByteBuffer target = Buffers.writable(out);
            int written = update(Buffers.array(source), Buffers.at(source), source.remaining(),
                    Buffers.array(target), Buffers.at(target), target.remaining());
            return Buffers.end(in, source, out, target, written);
        } finally {
            context.leave();
        }
    }

    @Override
    protected int engineDoFinal(ByteBuffer in, ByteBuffer out)
            throws ShortBufferException, AEADBadTagException {
        context.enter();
        try {
            guard.checkFresh(encrypting);
            ByteBuffer source = Buffers.readable(in);
            ByteBuffer target = Buffers.writable(out);
            int written = finish(Buffers.array(source), Buffers.at(source), source.remaining(),
                    Buffers.array(target), Buffers.at(target), target.remaining());
            return Buffers.end(in, source, out, target, written);
        } finally {
            context.leave();
        }
    }

    @Override
    int update(byte[] in, long at, int length, byte[] out, long outAt, int room)
            throws ShortBufferException {
        checkRoom(updateSize(length), room);
        guard.checkFresh(encrypting);
        if (!encrypting) {
            aadEnded = true;
            held.add(in, at, length);
            return 0;
        }
        checkLength((long) held.length + length);
        start();
        int written = process(in, at, length, out, outAt);
        processed += written;
        return written;
    }

    @Override
    int finish(byte[] in, long at, int length, byte[] out, long outAt, int room)
            throws ShortBufferException, AEADBadTagException {
        guard.checkFresh(encrypting);
        return encrypting ? seal(in, at, length, out, outAt, room)
                : open(in, at, length, out, outAt, room);
    }

    private int seal(byte[] in, long at, int length, byte[] out, long outAt, int room)
            throws ShortBufferException {
        checkLength((long) held.length + length + tagLength);
        int total = engineGetOutputSize(length);
        checkRoom(total, room);
        byte[] source = in;
        if (Context.overwrites(in, at, length, out, outAt, held.length)) {
            source = Context.copy(in, at, length);
            at = 0;
        }
        if (!started && held.length == 0 && isShort(length)) {
            context.call(Calls.GCM_SEAL, iv, aad.bytes, aad.length, source, at, length, out, outAt,
                    total, length, tagLength);
        } else {
            start();
            int data = total - tagLength;
            int whole = process(source, at, length, out, outAt);
            crypt(held.bytes, 0, held.length, out, Context.move(outAt, whole));
            context.call(Calls.GCM_TAG, Context.EMPTY, Context.EMPTY, 0, Context.EMPTY, 0, 0, out,
                    Context.move(outAt, data), tagLength, tagLength, 0);
        }
        if (source != in) {
            Keys.wipe(source);
        }
        guard.spend();
        ended();
        return total;
    }

    private int open(byte[] in, long at, int length, byte[] out, long outAt, int room)
            throws ShortBufferException, AEADBadTagException {
        long sum = (long) held.length + length - tagLength;
        if (sum < 0) {
            ended();
            throw new AEADBadTagException("the message is shorter than its tag");
        }
        checkLength(sum);
        int total = (int) sum;
        checkRoom(total, room);
        if (held.length > 0) {
            held.add(in, at, length);
            in = held.bytes;
            at = 0;
        } else if (Context.overwrites(in, at, length, out, outAt, 0)) {
            in = Context.copy(in, at, length);
            at = 0;
        }
        boolean genuine;
        if (isShort(total)) {
            genuine = context.call(Calls.GCM_OPEN, iv, aad.bytes, aad.length, in, at,
                    total + tagLength, out, outAt, total, total, tagLength);
        } else {
            start();
            crypt(in, at, total, out, outAt);
            genuine = context.call(Calls.GCM_CHECK, Context.EMPTY, Context.EMPTY, 0, in,
                    Context.move(at, total), tagLength, Context.EMPTY, 0, 0, tagLength, 0);
            if (!genuine) {
                Context.wipe(out, outAt, total);
            }
        }
        ended();
        if (!genuine) {
            throw new AEADBadTagException("the tag does not match");
        }
        return total;
    }

    private boolean isShort(int length) {
        return length <= Context.PIECE && aad.length <= Context.PIECE;
    }

    /** Gives IV and AAD to the core, once for each message. */
    private void start() {
        aadEnded = true;
        if (started) {
            return;
        }
        context.call(Calls.GCM_START, iv, Context.EMPTY, 0, Context.EMPTY, 0, 0, Context.EMPTY, 0,
                0, 0, 0);
        context.pieces(Calls.GCM_AAD, Context.EMPTY, aad.bytes, 0, aad.length, aad.bytes, 0,
                Context.PIECE);
        started = true;
    }

    @Override
    void crypt(byte[] in, long at, int length, byte[] out, long outAt) {
        context.pieces(encrypting ? Calls.GCM_ENCRYPT : Calls.GCM_DECRYPT, Context.EMPTY, in, at,
                length, out, outAt, Context.PIECE);
    }
}
