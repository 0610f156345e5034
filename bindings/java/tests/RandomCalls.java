// SPDX-License-Identifier: BSD-2-Clause

import java.nio.ByteBuffer;
import java.security.AlgorithmParameters;
import java.security.GeneralSecurityException;
import java.security.InvalidAlgorithmParameterException;
import java.security.InvalidKeyException;
import java.security.Provider;
import java.security.ProviderException;
import java.security.SecureRandom;
import java.security.SecureRandomSpi;
import java.security.spec.AlgorithmParameterSpec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import javax.crypto.AEADBadTagException;
import javax.crypto.Cipher;
import javax.crypto.SecretKey;
import javax.crypto.ShortBufferException;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.IvParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/**
 * The same random calls to our ciphers and to SunJCE's: java RandomCalls MESSAGES [SEED]. Results,
 * written bytes, positions of buffers and classes of exceptions must be the same.
 */
final class RandomCalls {
    private static final Provider OURS = Test.ours();

    private static final String[] TRANSFORMATIONS = {"AES/GCM/NoPadding", "AES/GCM/NoPadding",
        "AES_128/GCM/NoPadding", "AES/CTR/NoPadding", "AES/CBC/NoPadding", "AES/CBC/PKCS5Padding",
        "AES/CBC/PKCS5Padding", "AES_256/CBC/NoPadding",
        "AES/CFB/NoPadding", "AES/CFB128/PKCS5Padding", "AES/OFB/NoPadding",
        "AES/OFB/PKCS5Padding", "AES/KW/NoPadding", "AES/KWP/NoPadding", "AES_256/KW/NoPadding"};
    private static final int MOST = 300_000;
    private static final byte[] KWP_IV = {(byte) 0xa6, 0x59, 0x59, (byte) 0xa6};

    private final Random random;
    private final String transformation;
    private final boolean gcm;
    private final boolean wraps;
    private final Cipher ours;
    private final Cipher sun;
    private final List<String> calls = new ArrayList<>();
    private final SecretKey[] keys;
    private final byte[][] ivs;
    private SecretKey current;
    /** After an invalid key, SunJCE has forgotten which IV must not come again; we have not. */
    private boolean ended;

    private RandomCalls(Random random) throws GeneralSecurityException {
        this.random = random;
        // With JNI alone, the provider has no CTR and CBC.
        String drawn = TRANSFORMATIONS[random.nextInt(TRANSFORMATIONS.length)];
        transformation = OURS.getService("Cipher", drawn) != null ? drawn : TRANSFORMATIONS[0];
        gcm = transformation.contains("GCM");
        wraps = transformation.contains("/KW");
        ours = Cipher.getInstance(transformation, OURS);
        sun = Cipher.getInstance(transformation, "SunJCE");
        keys = new SecretKey[] {key(16), key(32), key(chance(8) ? 20 : 24)};
        ivs = new byte[][] {bytes(ivLength()), bytes(ivLength())};
    }

    public static void main(String[] arguments) throws Exception {
        int messages = Integer.parseInt(arguments[0]);
        long seed = arguments.length > 1 ? Long.parseLong(arguments[1]) : System.nanoTime();
        System.out.println("seed " + seed);
        int done = 0;
        for (long one = seed; done < messages; one++) {
            RandomCalls calls = new RandomCalls(new Random(one));
            try {
                for (int i = 0; i < 8 && !calls.ended; i++, done++) {
                    if (calls.chance(10)) {
                        calls.wrap();
                    } else {
                        calls.message();
                    }
                }
            } catch (AssertionError e) {
                throw new AssertionError("seed " + one + ", " + calls.transformation + ":\n  "
                        + String.join("\n  ", calls.calls), e);
            }
        }
        System.out.println("ok: " + done + " messages of random calls");
    }

    private boolean chance(int in) {
        return random.nextInt(in) == 0;
    }

    private byte[] bytes(int length) {
        byte[] bytes = new byte[length];
        random.nextBytes(bytes);
        return bytes;
    }

    private int ivLength() {
        if (wraps) {
            return transformation.contains("KWP") ? 4 : 8;
        }
        return gcm ? chance(3) ? 1 + random.nextInt(90) : 12 : chance(20) ? 15 : 16;
    }

    private SecretKey key(int length) {
        return new SecretKeySpec(bytes(length), chance(30) ? "DES" : "AES");
    }

    private int length() {
        int kind = random.nextInt(8);
        if (wraps) {
            // Not less than 16, because SunJCE makes an array of negative length then.
            return 16 + (kind == 0 ? random.nextInt(20) : 8 * random.nextInt(kind == 1 ? 2000 : 9));
        }
        return kind == 0 ? random.nextInt(MOST) : kind == 1 ? 16 * random.nextInt(20)
                : random.nextInt(kind < 4 ? 600 : 60);
    }

    // ---- One call to both ----

    private interface Call {
        Object on(Cipher cipher, boolean first) throws Exception;
    }

    /** Makes a call. Returns the exception that both threw, or null. */
    private Exception both(String what, Call call) {
        calls.add(what);
        Object[] results = new Object[2];
        Exception[] thrown = new Exception[2];
        for (int i = 0; i < 2; i++) {
            Cipher cipher = i == 0 ? ours : sun;
            boolean first = i == 0;
            try {
                results[i] = call.on(cipher, first);
            } catch (Exception e) {
                thrown[i] = e;
            }
        }
        String[] names = Arrays.stream(thrown).map(e -> e == null ? "no exception"
                : e.getClass().getName()).toArray(String[]::new);
        if (wraps && thrown[1] instanceof ArrayIndexOutOfBoundsException) {
            // A fault of SunJCE's key wrap, if the output has an offset.
            return thrown[1];
        }
        if (!names[0].equals(names[1]) && !faultOf17(thrown[0], thrown[1])) {
            AssertionError error = new AssertionError(
                    what + ": ours " + names[0] + ", SunJCE " + names[1] + " " + thrown[1]);
            error.initCause(thrown[0]);
            throw error;
        }
        Test.check(Arrays.deepEquals(new Object[] {results[0]}, new Object[] {results[1]}),
                what + ": ours " + show(results[0]) + ", SunJCE " + show(results[1]));
        return thrown[0] instanceof ShortBufferException ? thrown[1] : thrown[0];
    }

    /**
     * Whether this is a fault of JDK 17. It checks the tag before the room for the plaintext, and
     * does not see at once that a message is shorter than its tag.
     */
    private static boolean faultOf17(Exception ours, Exception sun) {
        return of17()
                && (ours instanceof ShortBufferException && sun instanceof AEADBadTagException
                        || ours instanceof AEADBadTagException
                                && (sun instanceof ShortBufferException
                                        || sun instanceof ProviderException));
    }

    /** SunJCE of JDK 17, which also takes any IV of 4 bytes in KWP. */
    private static boolean of17() {
        return Runtime.version().feature() == 17;
    }

    private static String show(Object result) {
        return result instanceof byte[] ? Test.hex((byte[]) result) : result instanceof Object[]
                ? Arrays.toString(Arrays.stream((Object[]) result).map(RandomCalls::show).toArray())
                : String.valueOf(result);
    }

    // ---- Messages ----

    private Exception init(int opmode) throws GeneralSecurityException {
        SecretKey key = keys[random.nextInt(transformation.startsWith("AES_") ? 2 : 3)];
        byte[] iv = ivs[random.nextInt(2)];
        if (opmode != Cipher.DECRYPT_MODE && opmode != Cipher.UNWRAP_MODE && !chance(6)) {
            iv = bytes(iv.length);
            ivs[random.nextInt(2)] = iv;
        }
        int tag = chance(3) ? 96 + 8 * random.nextInt(5) : chance(25) ? 64 : 128;
        AlgorithmParameterSpec spec = gcm ? new GCMParameterSpec(tag, iv)
                : chance(20) ? null : new IvParameterSpec(
                        transformation.contains("KWP") && (of17() || !chance(8)) ? KWP_IV : iv);
        long seed = random.nextLong();
        int how = random.nextInt(12);
        Exception e = both("init " + opmode + " " + how + " tag " + tag + " iv " + iv.length,
                (cipher, first) -> {
                    SecureRandom fixed = fixed(seed);
                    try {
                        if (how == 0) {
                            cipher.init(opmode, key, fixed);
                        } else if (how == 1 && gcm && tag != 64) {
                            AlgorithmParameters p = AlgorithmParameters.getInstance("GCM");
                            p.init(spec);
                            cipher.init(opmode, key, p, fixed);
                        } else {
                            cipher.init(opmode, key, spec, fixed);
                        }
                    } catch (InvalidAlgorithmParameterException why) {
                        // With two errors, either may come: SunJCE remembers the IV of such a call.
                        throw fits(key) ? why : new InvalidKeyException(why);
                    }
                    AlgorithmParameters p = cipher.getParameters();
                    return new Object[] {cipher.getIV(), p == null ? null : p.getEncoded()};
                });
        current = e == null ? key : current;
        ended |= e != null && !isKey(key);
        return e;
    }

    /** Wraps a key, or unwraps one that may be damaged. */
    private void wrap() throws Exception {
        boolean wraps = random.nextBoolean();
        if (init(wraps ? Cipher.WRAP_MODE : Cipher.UNWRAP_MODE) != null || ended) {
            return;
        }
        byte[] raw = bytes(chance(3) ? 16 : random.nextInt(50));
        if (wraps) {
            both("wrap " + raw.length, (cipher, first) -> cipher.wrap(
                    raw.length == 0 ? new EmptyKey() : new SecretKeySpec(raw, "AES")));
            return;
        }
        byte[] wrapped = sealed(new byte[0]);
        int type = chance(4) ? Cipher.PRIVATE_KEY : Cipher.SECRET_KEY;
        both("unwrap " + wrapped.length, (cipher, first) -> cipher.unwrap(wrapped,
                type == Cipher.SECRET_KEY ? "AES" : "EC", type).getEncoded());
    }

    private static final class EmptyKey implements SecretKey {
        private static final long serialVersionUID = 1;

        @Override
        public String getAlgorithm() {
            return "AES";
        }

        @Override
        public String getFormat() {
            return "RAW";
        }

        @Override
        public byte[] getEncoded() {
            return new byte[0];
        }
    }

    private static boolean isKey(SecretKey key) {
        return key.getAlgorithm().equals("AES") && key.getEncoded().length != 20;
    }

    /** Whether the transformation takes keys of this length. */
    private boolean fits(SecretKey key) {
        return isKey(key) && (!transformation.startsWith("AES_")
                || transformation.startsWith("AES_" + key.getEncoded().length * 8));
    }

    private void message() throws Exception {
        int opmode = random.nextBoolean() ? Cipher.ENCRYPT_MODE : Cipher.DECRYPT_MODE;
        if (!chance(6)) {
            Exception e = init(opmode);
            if (ended || e != null && !chance(4)) {
                return;
            }
        }
        byte[] aad = gcm && random.nextBoolean() ? bytes(chance(40) ? 40_000 : random.nextInt(80))
                : new byte[0];
        for (byte[] piece : pieces(aad)) {
            aad(piece);
        }
        byte[] text = opmode == Cipher.DECRYPT_MODE ? sealed(aad) : bytes(length());
        List<byte[]> pieces = pieces(text);
        for (int i = 0; i < pieces.size(); i++) {
            if (chance(40)) {
                aad(bytes(3));
            }
            Exception e = piece(pieces.get(i), i == pieces.size() - 1);
            if (e != null && !(e instanceof ShortBufferException)) {
                // What a cipher does after an error is not defined until it is initialized.
                while (!ended && init(Cipher.ENCRYPT_MODE) != null) {
                    calls.add("again");
                    ivs[0] = bytes(gcm ? 12 : wraps ? 8 : 16);
                    ivs[1] = bytes(gcm ? 12 : wraps ? 8 : 16);
                    keys[2] = key(24);
                    keys[1] = new SecretKeySpec(bytes(32), "AES");
                    keys[0] = new SecretKeySpec(bytes(16), "AES");
                }
                return;
            }
        }
    }

    /** A message that both can decrypt, except that one in ten is damaged. */
    private byte[] sealed(byte[] aad) {
        byte[] text = bytes(length());
        try {
            Cipher seal = Cipher.getInstance(transformation, "SunJCE");
            AlgorithmParameters parameters = sun.getParameters();
            seal.init(Cipher.ENCRYPT_MODE, current, parameters);
            if (gcm) {
                seal.updateAAD(aad);
            }
            text = seal.doFinal(text);
        } catch (Exception e) {
            calls.add("not sealed: " + e);
        }
        if (chance(10) && text.length > 0) {
            text[random.nextInt(text.length)] ^= 1;
        }
        return text;
    }

    private List<byte[]> pieces(byte[] all) {
        List<byte[]> pieces = new ArrayList<>();
        int count = random.nextInt(4);
        int at = 0;
        for (int i = 0; i < count; i++) {
            int next = at + random.nextInt(chance(2) ? Math.min(40, all.length - at + 1)
                    : all.length - at + 1);
            pieces.add(Arrays.copyOfRange(all, at, next));
            at = next;
        }
        pieces.add(Arrays.copyOfRange(all, at, all.length));
        return pieces;
    }

    private void aad(byte[] piece) {
        int kind = random.nextInt(3);
        both("updateAAD " + piece.length, (cipher, first) -> {
            if (kind == 0) {
                cipher.updateAAD(piece);
            } else {
                ByteBuffer buffer = buffer(piece, kind == 1, true);
                cipher.updateAAD(buffer);
                return buffer.position();
            }
            return null;
        });
    }

    private static ByteBuffer buffer(byte[] content, boolean direct, boolean readOnly) {
        ByteBuffer whole = direct ? ByteBuffer.allocateDirect(content.length + 7)
                : ByteBuffer.allocate(content.length + 7);
        whole.position(3);
        ByteBuffer buffer = whole.slice();
        buffer.put(content).flip();
        return readOnly ? buffer.asReadOnlyBuffer() : buffer;
    }

    private Exception piece(byte[] in, boolean last) {
        both("getOutputSize", (cipher, first) -> cipher.getOutputSize(in.length));
        int size = Math.max(0, size(in.length));
        int room = chance(5) ? Math.max(0, size - random.nextInt(40)) : size + random.nextInt(20);
        int at = random.nextInt(9);
        int kind = random.nextInt(9);
        boolean inDirect = random.nextBoolean();
        boolean outDirect = random.nextBoolean();
        String what = (last ? "doFinal " : "update ") + kind + " of " + in.length + ", room "
                + room;
        Exception e = both(what, (cipher, first) -> {
            switch (kind) {
                case 0:
                case 1:
                    return last ? cipher.doFinal(in, 0, in.length) : plain(cipher.update(in));
                case 2:
                case 3:
                    return intoBuffer(cipher, in, last, room, inDirect, outDirect);
                case 4:
                    return inPlace(cipher, in, last, size + 16, first);
                default:
                    return intoArray(cipher, in, last, at, room);
            }
        });
        if (e instanceof ShortBufferException) {
            if (gcm && of17()) {
                return new ProviderException("SunJCE of JDK 17 forgets the AAD here");
            }
            // Nothing was consumed: again with room.
            return both(what + " again",
                    (cipher, first) -> intoArray(cipher, in, last, at, size + 64));
        }
        return e;
    }

    /** A cipher may return null or an empty array. */
    private static byte[] plain(byte[] result) {
        return result == null ? new byte[0] : result;
    }

    private int size(int length) {
        try {
            return sun.getOutputSize(length);
        } catch (IllegalStateException e) {
            return length;
        }
    }

    private static Object intoArray(Cipher cipher, byte[] in, boolean last, int at, int room)
            throws GeneralSecurityException {
        byte[] source = new byte[in.length + at];
        System.arraycopy(in, 0, source, at, in.length);
        byte[] out = new byte[at + room];
        int written = last ? cipher.doFinal(source, at, in.length, out, at)
                : cipher.update(source, at, in.length, out, at);
        return new Object[] {written, Arrays.copyOf(out, at + written)};
    }

    private static Object intoBuffer(Cipher cipher, byte[] in, boolean last, int room,
            boolean inDirect, boolean outDirect) throws GeneralSecurityException {
        ByteBuffer source = buffer(in, inDirect, true);
        ByteBuffer out = buffer(new byte[room], outDirect, false);
        int written = last ? cipher.doFinal(source, out) : cipher.update(source, out);
        byte[] got = new byte[out.position()];
        out.duplicate().flip().get(got);
        return new Object[] {written, source.position(), got};
    }

    /** Ours in one array, with the output before, at or after the input; SunJCE in two. */
    private Object inPlace(Cipher cipher, byte[] in, boolean last, int room, boolean first)
            throws GeneralSecurityException {
        if (!first) {
            byte[] out = new byte[room];
            int written = last ? cipher.doFinal(in, 0, in.length, out, 0)
                    : cipher.update(in, 0, in.length, out, 0);
            return Arrays.copyOf(out, written);
        }
        int inAt = in.length % 23;
        int outAt = in.length % 29 % 23;
        byte[] all = new byte[Math.max(room, in.length) + 32];
        System.arraycopy(in, 0, all, inAt, in.length);
        int written = last ? cipher.doFinal(all, inAt, in.length, all, outAt)
                : cipher.update(all, inAt, in.length, all, outAt);
        return Arrays.copyOfRange(all, outAt, outAt + written);
    }

    /** A generator that returns the same bytes for the same seed. */
    private static SecureRandom fixed(long seed) {
        return new SecureRandom(new SecureRandomSpi() {
            private static final long serialVersionUID = 1;
            private final Random bytes = new Random(seed);

            @Override
            protected void engineSetSeed(byte[] ignored) {}

            @Override
            protected void engineNextBytes(byte[] out) {
                bytes.nextBytes(out);
            }

            @Override
            protected byte[] engineGenerateSeed(int length) {
                return new byte[length];
            }
        }, null) {
            private static final long serialVersionUID = 1;
        };
    }
}
