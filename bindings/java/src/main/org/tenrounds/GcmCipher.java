// SPDX-License-Identifier: BSD-2-Clause
package org.tenrounds;

import java.lang.ref.Reference;
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
import javax.crypto.AEADBadTagException;
import javax.crypto.IllegalBlockSizeException;
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
    private static final SecureRandom RANDOM = new SecureRandom();

    private final Context context = new Context(Calls.GCM_KEY);
    private boolean initialized;
    private boolean encrypting = true;
    private SecureRandom random;
    private int tagLength = 16;
    private byte[] iv;
    /**
     * The IV of the last encryption, which must not come again with the same key. That is the key
     * which the context has kept, or else its current one.
     */
    private byte[] lastIv = Context.EMPTY;
    /** A message was encrypted with the IV. */
    private boolean spent;

    // The message.
    private final Held aad = new Held();
    /** Data may have come, so no AAD may follow. */
    private boolean aadEnded;
    /** The core has the IV and the AAD. */
    private boolean started;
    /** Encryption: less than a block. Decryption: the ciphertext so far. */
    private final Held held = new Held();
    private long processed;

    GcmCipher(int keyLength) {
        super(keyLength);
    }

    // ---- Parameters ----

    @Override
    protected byte[] engineGetIV() {
        return iv == null ? null : iv.clone();
    }

    @Override
    protected AlgorithmParameters engineGetParameters() {
        try {
            AlgorithmParameters parameters = AlgorithmParameters.getInstance("GCM");
            parameters.init(new GCMParameterSpec(tagLength * 8, iv == null ? freshIv() : iv));
            return parameters;
        } catch (NoSuchAlgorithmException | InvalidParameterSpecException e) {
            throw new ProviderException(e);
        }
    }

    private byte[] freshIv() {
        byte[] fresh = new byte[IV_LENGTH];
        (random == null ? RANDOM : random).nextBytes(fresh);
        return fresh;
    }

    @Override
    protected void engineInit(int opmode, Key key, SecureRandom random) throws InvalidKeyException {
        if (!encrypts(opmode)) {
            forget();
            throw new InvalidKeyException("decryption needs a GCMParameterSpec");
        }
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
                    : parameters.getParameterSpec(GCMParameterSpec.class), random);
        } catch (InvalidParameterSpecException e) {
            forget();
            throw new InvalidAlgorithmParameterException(e);
        }
    }

    @Override
    protected void engineInit(int opmode, Key key, AlgorithmParameterSpec parameters,
            SecureRandom random) throws InvalidKeyException, InvalidAlgorithmParameterException {
        context.enter();
        try {
            initialize(opmode, key, parameters, random);
        } finally {
            context.leave();
        }
    }

    private void initialize(int opmode, Key key, AlgorithmParameterSpec parameters,
            SecureRandom random) throws InvalidKeyException, InvalidAlgorithmParameterException {
        reset();
        this.random = random;
        int tagBits = 128;
        if (parameters == null) {
            iv = freshIv();
        } else if (parameters instanceof GCMParameterSpec) {
            iv = ((GCMParameterSpec) parameters).getIV();
            tagBits = ((GCMParameterSpec) parameters).getTLen();
        } else {
            throw new InvalidAlgorithmParameterException(
                    "GCM takes a GCMParameterSpec, not " + parameters.getClass().getName());
        }
        if (iv == null || iv.length == 0) {
            throw new InvalidAlgorithmParameterException("the IV is empty");
        }
        encrypting = encrypts(opmode);
        tagLength = tagLength(tagBits);
        byte[] bytes = encoded(key);
        try {
            boolean sameKey = context.isKey(bytes);
            if (encrypting && Arrays.equals(iv, lastIv)
                    && (context.hasKept() ? context.isKept(bytes) : sameKey)) {
                throw new InvalidAlgorithmParameterException(
                        "encryption needs another IV than that of the message before");
            }
            checkAes(key, bytes);
            remember(sameKey);
            context.setKey(bytes);
        } finally {
            wipe(bytes);
        }
        spent = false;
        initialized = true;
    }

    /** Returns the length of a tag in bytes. */
    static int tagLength(int bits) throws InvalidAlgorithmParameterException {
        if (bits < 96 || bits > 128 || bits % 8 != 0) {
            throw new InvalidAlgorithmParameterException(
                    "a tag has 96, 104, 112, 120 or 128 bits, not " + bits);
        }
        return bits / 8;
    }

    /** Keeps what the next encryption has to differ from. */
    private void remember(boolean sameKey) {
        if (encrypting) {
            context.dropKept();
            lastIv = iv;
        } else if (!context.hasKept() && !sameKey) {
            context.keepKey();
        }
    }

    private void forget() {
        context.enter();
        reset();
        context.leave();
    }

    /** Forgets the message. */
    private void reset() {
        aad.clear();
        held.clear();
        aadEnded = false;
        started = false;
        processed = 0;
    }

    private void ended() {
        reset();
        context.end();
    }

    private void check() {
        if (!initialized) {
            throw new IllegalStateException("the cipher is not initialized");
        }
    }

    private void checkFresh() {
        check();
        if (encrypting && spent) {
            throw new IllegalStateException("encryption needs another key or IV for each message");
        }
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
        checkFresh();
        if (aadEnded) {
            throw new IllegalStateException("AAD comes before all data");
        }
        aad.add(in, at, length);
    }

    // ---- Data ----

    @Override
    protected int engineGetOutputSize(int length) {
        check();
        int total = held.length + length;
        return encrypting ? total + tagLength : Math.max(total - tagLength, 0);
    }

    /** How many bytes update() would write. */
    private int updateSize(int length) {
        return encrypting ? (held.length + length) / BLOCK * BLOCK : 0;
    }

    @Override
    protected byte[] engineUpdate(byte[] in, int at, int length) {
        context.enter();
        try {
            check();
            checkLength((long) held.length + length);
            byte[] out = new byte[updateSize(length)];
            update(in, at, length, out, 0, out.length);
            return out;
        } catch (ShortBufferException e) {
            throw new ProviderException(e);
        } finally {
            context.leave();
        }
    }

    @Override
    protected int engineUpdate(byte[] in, int at, int length, byte[] out, int outAt)
            throws ShortBufferException {
        context.enter();
        try {
            return update(in, at, length, out, outAt, out.length - outAt);
        } finally {
            context.leave();
        }
    }

    @Override
    protected int engineUpdate(ByteBuffer in, ByteBuffer out) throws ShortBufferException {
        context.enter();
        try {
            check();
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
    protected byte[] engineDoFinal(byte[] in, int at, int length) throws AEADBadTagException {
        context.enter();
        try {
            checkFresh();
            checkLength((long) held.length + length + tagLength);
            byte[] out = new byte[engineGetOutputSize(length)];
            finish(in == null ? Context.EMPTY : in, at, length, out, 0, out.length);
            return out;
        } catch (ShortBufferException e) {
            throw new ProviderException(e);
        } finally {
            context.leave();
        }
    }

    @Override
    protected int engineDoFinal(byte[] in, int at, int length, byte[] out, int outAt)
            throws ShortBufferException, AEADBadTagException {
        context.enter();
        try {
            return finish(in == null ? Context.EMPTY : in, at, length, out, outAt,
                    out.length - outAt);
        } finally {
            context.leave();
        }
    }

    @Override
    protected int engineDoFinal(ByteBuffer in, ByteBuffer out)
            throws ShortBufferException, AEADBadTagException {
        context.enter();
        try {
            checkFresh();
            ByteBuffer source = Buffers.readable(in);
            ByteBuffer target = Buffers.writable(out);
            int written = finish(Buffers.array(source), Buffers.at(source), source.remaining(),
                    Buffers.array(target), Buffers.at(target), target.remaining());
            return Buffers.end(in, source, out, target, written);
        } finally {
            context.leave();
        }
    }

    private static void checkRoom(int needed, int room) throws ShortBufferException {
        if (room < needed) {
            throw new ShortBufferException(
                    "the output needs " + needed + " bytes, and has room for " + room);
        }
    }

    private int update(byte[] in, long at, int length, byte[] out, long outAt, int room)
            throws ShortBufferException {
        check();
        checkRoom(updateSize(length), room);
        checkFresh();
        if (!encrypting) {
            aadEnded = true;
            held.add(in, at, length);
            return 0;
        }
        checkLength((long) held.length + length);
        start();
        int written = updateSize(length);
        crypt(in, at, length, out, outAt);
        processed += written;
        return written;
    }

    private int finish(byte[] in, long at, int length, byte[] out, long outAt, int room)
            throws ShortBufferException, AEADBadTagException {
        checkFresh();
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
            int whole = crypt(source, at, length, out, outAt);
            if (held.length > 0) {
                context.call(Calls.GCM_ENCRYPT, Context.EMPTY, Context.EMPTY, 0, held.bytes, 0,
                        held.length, out, Context.move(outAt, whole), held.length, held.length, 0);
            }
            context.call(Calls.GCM_TAG, Context.EMPTY, Context.EMPTY, 0, Context.EMPTY, 0, 0, out,
                    Context.move(outAt, data), tagLength, tagLength, 0);
        }
        if (source != in) {
            wipe(source);
        }
        spent = true;
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
            pieces(Calls.GCM_DECRYPT, in, at, total, out, outAt);
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
        pieces(Calls.GCM_AAD, aad.bytes, 0, aad.length, aad.bytes, 0);
        started = true;
    }

    /** Encrypts held bytes and input as far as they make whole blocks, and holds the others. */
    private int crypt(byte[] in, long at, int length, byte[] out, long outAt) {
        int written = updateSize(length);
        if (written == 0) {
            held.add(in, at, length);
            return 0;
        }
        byte[] source = in;
        if (Context.overwrites(in, at, length, out, outAt, held.length)) {
            source = Context.copy(in, at, length);
            at = 0;
        }
        int used = 0;
        int first = 0;
        if (held.length > 0) {
            used = BLOCK - held.length;
            held.add(source, at, used);
            // The block may overwrite the input that follows it only if the input is copied.
            context.call(Calls.GCM_ENCRYPT, Context.EMPTY, Context.EMPTY, 0, held.bytes, 0, BLOCK,
                    out, outAt, BLOCK, BLOCK, 0);
            held.clear();
            first = BLOCK;
        }
        pieces(Calls.GCM_ENCRYPT, source, Context.move(at, used), written - first, out,
                Context.move(outAt, first));
        int end = used + written - first;
        held.add(source, Context.move(at, end), length - end);
        if (source != in) {
            wipe(source);
        }
        return written;
    }

    private void pieces(int operation, byte[] in, long at, int length, byte[] out, long outAt) {
        for (int done = 0, n; done < length; done += n) {
            n = Math.min(length - done, Context.PIECE);
            context.call(operation, Context.EMPTY, Context.EMPTY, 0, in, Context.move(at, done), n,
                    out, Context.move(outAt, done), n, n, 0);
        }
    }
}
