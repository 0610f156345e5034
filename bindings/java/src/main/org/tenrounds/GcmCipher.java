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
     * The key and IV of the last encryption, which must not come again. While the context has that
     * key, there is no copy, and lastKey is null.
     */
    private byte[] lastKey;
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
        reset();
        if (!encrypts(opmode)) {
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
        reset();
        try {
            engineInit(opmode, key, parameters == null ? null
                    : parameters.getParameterSpec(GCMParameterSpec.class), random);
        } catch (InvalidParameterSpecException e) {
            throw new InvalidAlgorithmParameterException(e);
        }
    }

    @Override
    protected void engineInit(int opmode, Key key, AlgorithmParameterSpec parameters,
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
        if (tagBits < 96 || tagBits > 128 || tagBits % 8 != 0) {
            throw new InvalidAlgorithmParameterException(
                    "a tag has 96, 104, 112, 120 or 128 bits, not " + tagBits);
        }
        tagLength = tagBits / 8;
        byte[] bytes = encoded(key);
        try {
            boolean sameKey = context.isKey(bytes);
            if (encrypting && Arrays.equals(iv, lastIv)
                    && (lastKey == null ? sameKey : Context.equal(bytes, lastKey))) {
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

    /** Keeps what the next encryption has to differ from. */
    private void remember(boolean sameKey) {
        if (encrypting) {
            wipe(lastKey);
            lastKey = null;
            lastIv = iv;
        } else if (lastKey == null && !sameKey) {
            lastKey = context.key();
        }
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
        addAad(in, at, length);
    }

    @Override
    protected void engineUpdateAAD(ByteBuffer in) {
        byte[] source = readable(in);
        addAad(source, readableAt(in), in.remaining());
        in.position(in.limit());
        Reference.reachabilityFence(in);
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
        check();
        byte[] out = new byte[updateSize(length)];
        update(in, at, length, out, 0);
        return out;
    }

    @Override
    protected int engineUpdate(byte[] in, int at, int length, byte[] out, int outAt)
            throws ShortBufferException {
        check();
        checkRoom(updateSize(length), out.length - outAt);
        return update(in, at, length, out, outAt);
    }

    @Override
    protected int engineUpdate(ByteBuffer in, ByteBuffer out) throws ShortBufferException {
        check();
        checkRoom(updateSize(in.remaining()), out.remaining());
        byte[] source = readable(in);
        int written = update(source, readableAt(in), in.remaining(), Context.array(out),
                Context.at(out));
        return moved(in, out, written);
    }

    @Override
    protected byte[] engineDoFinal(byte[] in, int at, int length) throws AEADBadTagException {
        byte[] out;
        try {
            checkFresh();
            out = new byte[engineGetOutputSize(length)];
            finish(in == null ? Context.EMPTY : in, at, length, out, 0, out.length);
        } catch (ShortBufferException e) {
            throw new ProviderException(e);
        }
        return out;
    }

    @Override
    protected int engineDoFinal(byte[] in, int at, int length, byte[] out, int outAt)
            throws ShortBufferException, AEADBadTagException {
        checkFresh();
        return finish(in == null ? Context.EMPTY : in, at, length, out, outAt, out.length - outAt);
    }

    @Override
    protected int engineDoFinal(ByteBuffer in, ByteBuffer out)
            throws ShortBufferException, AEADBadTagException {
        checkFresh();
        byte[] source = readable(in);
        int written = finish(source, readableAt(in), in.remaining(), Context.array(out),
                Context.at(out), out.remaining());
        return moved(in, out, written);
    }

    /** The array of a buffer. A heap buffer that can only be read hides its array: then a copy. */
    private static byte[] readable(ByteBuffer in) {
        return in.hasArray() || in.isDirect() ? Context.array(in) : remaining(in);
    }

    private static long readableAt(ByteBuffer in) {
        return in.hasArray() || in.isDirect() ? Context.at(in) : 0;
    }

    private static byte[] remaining(ByteBuffer in) {
        byte[] copy = new byte[in.remaining()];
        in.duplicate().get(copy);
        return copy;
    }

    private static int moved(ByteBuffer in, ByteBuffer out, int written) {
        in.position(in.limit());
        out.position(out.position() + written);
        // Only here, because the calls know no more than the addresses of direct buffers.
        Reference.reachabilityFence(in);
        Reference.reachabilityFence(out);
        return written;
    }

    private static void checkRoom(int needed, int room) throws ShortBufferException {
        if (room < needed) {
            throw new ShortBufferException(
                    "the output needs " + needed + " bytes, and has room for " + room);
        }
    }

    private int update(byte[] in, long at, int length, byte[] out, long outAt) {
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
        return encrypting ? seal(in, at, length, out, outAt, room)
                : open(in, at, length, out, outAt, room);
    }

    private int seal(byte[] in, long at, int length, byte[] out, long outAt, int room)
            throws ShortBufferException {
        int total = engineGetOutputSize(length);
        checkRoom(total, room);
        checkLength(total);
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
