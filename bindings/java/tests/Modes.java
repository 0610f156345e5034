// SPDX-License-Identifier: BSD-2-Clause

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.InvalidAlgorithmParameterException;
import java.security.InvalidKeyException;
import java.security.Provider;
import java.security.spec.AlgorithmParameterSpec;
import java.util.Arrays;
import java.util.Random;
import javax.crypto.AEADBadTagException;
import javax.crypto.Cipher;
import javax.crypto.IllegalBlockSizeException;
import javax.crypto.SecretKey;
import javax.crypto.ShortBufferException;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.IvParameterSpec;
import javax.crypto.spec.SecretKeySpec;
import org.tenrounds.GcmBatch;

/**
 * CCM, GCM-SIV and XTS, which SunJCE does not have, and batches of GCM: java Modes VECTORS MESSAGES
 * [SEED]. Published vectors, and random messages in pieces against the modes written here over
 * SunJCE's AES.
 */
final class Modes {
    private static final Provider OURS = Test.ours();

    private final Random random;

    private Modes(Random random) {
        this.random = random;
    }

    public static void main(String[] arguments) throws Exception {
        Path folder = Path.of(arguments[0]);
        vectors(folder, "CCM", "wycheproof/aes_ccm.txt", 400);
        vectors(folder, "GCM-SIV", "wycheproof/aes_gcm_siv.txt", 100);
        vectors(folder, "XTS", "wycheproof/aes_xts.txt", 100);
        int messages = Integer.parseInt(arguments[1]);
        long seed = arguments.length > 2 ? Long.parseLong(arguments[2]) : System.nanoTime();
        System.out.println("seed " + seed);
        for (int i = 0; i < messages; i++) {
            Modes modes = new Modes(new Random(seed + i));
            try {
                modes.ccm();
                modes.gcmSiv();
                modes.xts();
                if (i % 10 == 0) {
                    modes.batch();
                }
            } catch (AssertionError | Exception e) {
                throw new AssertionError("seed " + (seed + i), e);
            }
        }
        refuse();
        System.out.println("ok: " + messages + " random messages of CCM, GCM-SIV and XTS");
    }

    // ---- Vectors ----

    private static void vectors(Path folder, String mode, String file, int fewest)
            throws Exception {
        int done = 0;
        for (Test.Vector v : Test.vectors(folder, file)) {
            Cipher cipher = Cipher.getInstance("AES/" + mode + "/NoPadding", OURS);
            try {
                SecretKeySpec key = new SecretKeySpec(v.key(), "AES");
                AlgorithmParameterSpec spec = mode.equals("XTS") ? new IvParameterSpec(v.iv())
                        : new GCMParameterSpec(v.tag().length * 8, v.iv());
                cipher.init(Cipher.DECRYPT_MODE, key, spec);
                addAad(cipher, v.aad());
                Test.checkEqual(cipher.doFinal(v.sealedAndTag()), v.text(), v.name());
                Test.check(v.valid(), v.name() + " is accepted");
                cipher.init(Cipher.ENCRYPT_MODE, key, spec);
                addAad(cipher, v.aad());
                Test.checkEqual(cipher.doFinal(v.text()), v.sealedAndTag(), v.name());
            } catch (GeneralSecurityException e) {
                Test.check(!v.valid(), v.name() + ": " + e);
            }
            done++;
        }
        Test.check(done >= fewest, file + " has " + done + " cases");
        System.out.println("ok: " + done + " cases of " + file);
    }

    private static void addAad(Cipher cipher, byte[] aad) {
        if (aad.length > 0) {
            cipher.updateAAD(aad);
        }
    }

    // ---- Random messages ----

    private byte[] bytes(int length) {
        byte[] bytes = new byte[length];
        random.nextBytes(bytes);
        return bytes;
    }

    private int length() {
        return random.nextInt(random.nextInt(9) == 0 ? 70_000 : random.nextBoolean() ? 600 : 40);
    }

    private SecretKey key() {
        return new SecretKeySpec(bytes(16 + 8 * random.nextInt(3)), "AES");
    }

    private void ccm() throws Exception {
        SecretKey key = key();
        byte[] nonce = bytes(7 + random.nextInt(7));
        byte[] text = bytes(nonce.length == 13 ? length() % 65536 : length());
        byte[] aad = bytes(random.nextInt(20) == 0 ? 65_000 + random.nextInt(2000)
                : random.nextInt(60));
        int tag = 4 + 2 * random.nextInt(7);
        authenticated("CCM", key, new GCMParameterSpec(tag * 8, nonce), aad, text,
                ccm(key, nonce, aad, text, tag));
    }

    private void gcmSiv() throws Exception {
        SecretKey key = new SecretKeySpec(bytes(16 << random.nextInt(2)), "AES");
        byte[] nonce = bytes(12);
        byte[] text = bytes(length() / 8);
        byte[] aad = bytes(random.nextInt(60));
        authenticated("GCM-SIV", key, new GCMParameterSpec(128, nonce), aad, text,
                gcmSiv(key, nonce, aad, text));
    }

    private void authenticated(String mode, SecretKey key, GCMParameterSpec spec, byte[] aad,
            byte[] text, byte[] sealed) throws Exception {
        String what = mode + " of " + text.length + " bytes and AAD of " + aad.length;
        Cipher cipher = Cipher.getInstance("AES/" + mode + "/NoPadding", OURS);
        cipher.init(Cipher.ENCRYPT_MODE, key, spec);
        Test.checkEqual(inPieces(cipher, aad, text), sealed, what);
        cipher.init(Cipher.DECRYPT_MODE, key, spec);
        Test.checkEqual(inPieces(cipher, aad, sealed), text, what);
        byte[] damaged = sealed.clone();
        damaged[random.nextInt(damaged.length)] ^= (byte) (1 << random.nextInt(8));
        byte[] out = new byte[damaged.length];
        cipher.updateAAD(aad);
        throwsException(AEADBadTagException.class, () -> cipher.doFinal(damaged, 0, damaged.length,
                out, 0));
        Test.checkEqual(out, new byte[out.length], what + ", damaged");
        throwsException(AEADBadTagException.class, () -> cipher.doFinal(new byte[3]));
        // The cipher is as good as new after that.
        Test.checkEqual(inPieces(cipher, aad, sealed), text, what);
    }

    private void xts() throws Exception {
        SecretKey key = new SecretKeySpec(bytes(32 << random.nextInt(2)), "AES");
        byte[] tweak = bytes(16);
        byte[] text = bytes(16 + length() * (random.nextInt(50) == 0 ? 8 : 1));
        byte[] sealed = xts(key, tweak, text);
        Cipher cipher = Cipher.getInstance("AES/XTS/NoPadding", OURS);
        cipher.init(Cipher.ENCRYPT_MODE, key, new IvParameterSpec(tweak));
        Test.checkEqual(inPieces(cipher, new byte[0], text), sealed, "XTS of " + text.length);
        cipher.init(Cipher.DECRYPT_MODE, key, new IvParameterSpec(tweak));
        Test.checkEqual(inPieces(cipher, new byte[0], sealed), text, "XTS of " + text.length);
    }

    /** Processes a message in pieces, by arrays or buffers. The modes write only at the end. */
    private byte[] inPieces(Cipher cipher, byte[] aad, byte[] in) throws Exception {
        int cut = random.nextInt(aad.length + 1);
        cipher.updateAAD(aad, 0, cut);
        cipher.updateAAD(ByteBuffer.wrap(aad, cut, aad.length - cut));
        cut = random.nextInt(in.length + 1);
        Test.check(cipher.update(in, 0, cut, new byte[0], 0) == 0, "update() writes");
        int size = cipher.getOutputSize(in.length - cut);
        if (cipher.getOutputSize(0) > 0) {
            throwsException(ShortBufferException.class, () -> cipher.doFinal(in, in.length, 0,
                    new byte[0], 0));
        }
        if (random.nextBoolean()) {
            ByteBuffer out = ByteBuffer.allocateDirect(size);
            cipher.doFinal(ByteBuffer.wrap(in, cut, in.length - cut), out);
            byte[] result = new byte[out.flip().remaining()];
            out.get(result);
            return result;
        }
        // In place, with an offset.
        byte[] text = new byte[Math.max(in.length - cut, size) + 5];
        System.arraycopy(in, cut, text, 5, in.length - cut);
        int written = cipher.doFinal(text, 5, in.length - cut, text, 5);
        Test.check(written == size, written + " bytes, and the size is " + size);
        return Arrays.copyOfRange(text, 5, 5 + written);
    }

    private void batch() throws Exception {
        SecretKey key = key();
        GcmBatch batch = new GcmBatch(key);
        int count = random.nextInt(150);
        boolean alike = random.nextBoolean();
        int one = random.nextInt(300);
        int[] lengths = new int[count];
        int[] aadLengths = random.nextInt(4) == 0 ? null : new int[count];
        for (int i = 0; i < count; i++) {
            lengths[i] = alike ? one : random.nextInt(random.nextInt(30) == 0 ? 32769 : 600);
            if (aadLengths != null) {
                aadLengths[i] = alike ? one % 60 : random.nextInt(80);
            }
        }
        byte[] ivs = bytes(12 * count);
        byte[] aads = bytes(aadLengths == null ? 0 : Arrays.stream(aadLengths).sum());
        byte[] texts = bytes(Arrays.stream(lengths).sum());
        ByteBuffer sealed = ByteBuffer.allocate(texts.length + 16 * count);
        Cipher sun = Cipher.getInstance("AES/GCM/NoPadding", "SunJCE");
        for (int i = 0, at = 0, aadAt = 0; i < count; at += lengths[i++]) {
            sun.init(Cipher.ENCRYPT_MODE, key, new GCMParameterSpec(128, ivs, 12 * i, 12));
            if (aadLengths != null) {
                sun.updateAAD(aads, aadAt, aadLengths[i]);
                aadAt += aadLengths[i];
            }
            sealed.put(sun.doFinal(texts, at, lengths[i]));
        }
        Test.checkEqual(batch.seal(ivs, aads, aadLengths, texts, lengths), sealed.array(), "batch");
        Test.checkEqual(batch.open(ivs, aads, aadLengths, sealed.array(), lengths), texts, "batch");
        if (count > 0) {
            sealed.array()[random.nextInt(sealed.capacity())] ^= 4;
            throwsException(AEADBadTagException.class,
                    () -> batch.open(ivs, aads, aadLengths, sealed.array(), lengths));
        }
        throwsException(IllegalArgumentException.class,
                () -> batch.open(ivs, aads, aadLengths, new byte[sealed.capacity() + 1], lengths));
        throwsException(IllegalArgumentException.class,
                () -> batch.seal(new byte[1], aads, aadLengths, texts, lengths));
    }

    private interface Use {
        void run() throws Exception;
    }

    private static void throwsException(Class<? extends Exception> wanted, Use use) {
        Exception thrown = null;
        try {
            use.run();
        } catch (Exception e) {
            thrown = e;
        }
        Test.check(wanted.isInstance(thrown), "wanted " + wanted + ", got " + thrown);
    }

    private static void refuse() throws Exception {
        SecretKey key = new SecretKeySpec(new byte[32], "AES");
        Cipher ccm = Cipher.getInstance("AES/CCM/NoPadding", OURS);
        for (int[] wrong : new int[][] {{128, 6}, {128, 14}, {24, 12}, {40, 12}, {136, 12}}) {
            throwsException(InvalidAlgorithmParameterException.class, () -> ccm.init(
                    Cipher.ENCRYPT_MODE, key, new GCMParameterSpec(wrong[0], new byte[wrong[1]])));
        }
        GCMParameterSpec spec = new GCMParameterSpec(64, new byte[13]);
        ccm.init(Cipher.ENCRYPT_MODE, key, spec);
        throwsException(IllegalBlockSizeException.class, () -> ccm.doFinal(new byte[65536]));
        ccm.doFinal(new byte[65535]);
        throwsException(IllegalStateException.class, () -> ccm.doFinal(new byte[1]));
        throwsException(InvalidAlgorithmParameterException.class,
                () -> ccm.init(Cipher.ENCRYPT_MODE, key, spec));
        Cipher siv = Cipher.getInstance("AES/GCM-SIV/NoPadding", OURS);
        throwsException(InvalidAlgorithmParameterException.class, () -> siv.init(
                Cipher.ENCRYPT_MODE, key, new GCMParameterSpec(120, new byte[12])));
        siv.init(Cipher.ENCRYPT_MODE, key, new GCMParameterSpec(128, new byte[12]));
        Test.checkEqual(siv.doFinal(new byte[9]), siv.doFinal(new byte[9]), "the same nonce");
        siv.update(new byte[1]);
        throwsException(IllegalStateException.class, () -> siv.updateAAD(new byte[1]));
        Cipher xts = Cipher.getInstance("AES/XTS/NoPadding", OURS);
        IvParameterSpec tweak = new IvParameterSpec(new byte[16]);
        xts.init(Cipher.DECRYPT_MODE, key, tweak);
        throwsException(IllegalBlockSizeException.class, () -> xts.doFinal(new byte[15]));
        // Both of its keys are the same.
        throwsException(InvalidKeyException.class, () -> xts.init(Cipher.ENCRYPT_MODE, key, tweak));
        throwsException(InvalidKeyException.class, () -> xts.init(Cipher.DECRYPT_MODE,
                new SecretKeySpec(new byte[16], "AES"), tweak));
    }

    // ---- The modes over AES ----

    /** AES of one block after the other. */
    private static byte[] aes(byte[] key, byte[] blocks) throws GeneralSecurityException {
        Cipher cipher = Cipher.getInstance("AES/ECB/NoPadding", "SunJCE");
        cipher.init(Cipher.ENCRYPT_MODE, new SecretKeySpec(key, "AES"));
        return cipher.doFinal(blocks);
    }

    private static void xor(byte[] into, int at, byte[] with, int from, int length) {
        for (int i = 0; i < length; i++) {
            into[at + i] ^= with[from + i];
        }
    }

    private static int padded(int length) {
        return (length + 15) / 16 * 16;
    }

    /** SP 800-38C section 6.1 with the formats of its appendix A. */
    private static byte[] ccm(SecretKey key, byte[] nonce, byte[] aad, byte[] text, int tag)
            throws GeneralSecurityException {
        int aadHead = aad.length == 0 ? 0 : aad.length < 0xff00 ? 2 : 6;
        ByteBuffer b = ByteBuffer.allocate(16 + padded(aadHead + aad.length) + padded(text.length));
        b.putInt(12, text.length); // before the nonce, which overwrites what is not of the length
        int flags = (aad.length > 0 ? 64 : 0) + (tag - 2) / 2 * 8 + 14 - nonce.length;
        b.put((byte) flags).put(nonce);
        b.position(16);
        if (aadHead == 2) {
            b.putShort((short) aad.length);
        } else if (aadHead == 6) {
            b.putShort((short) 0xfffe).putInt(aad.length);
        }
        b.put(aad).position(16 + padded(aadHead + aad.length)).put(text);
        Cipher cbc = Cipher.getInstance("AES/CBC/NoPadding", "SunJCE");
        cbc.init(Cipher.ENCRYPT_MODE, key, new IvParameterSpec(new byte[16]));
        byte[] chain = cbc.doFinal(b.array());
        ByteBuffer counter = ByteBuffer.allocate(16).put((byte) (14 - nonce.length)).put(nonce);
        Cipher ctr = Cipher.getInstance("AES/CTR/NoPadding", "SunJCE");
        ctr.init(Cipher.ENCRYPT_MODE, key, new IvParameterSpec(counter.array()));
        byte[] mask = ctr.update(new byte[16]);
        byte[] sealed = Arrays.copyOf(ctr.doFinal(text), text.length + tag);
        xor(sealed, text.length, mask, 0, tag);
        xor(sealed, text.length, chain, chain.length - 16, tag);
        return sealed;
    }

    /** RFC 8452 section 4. */
    private static byte[] gcmSiv(SecretKey key, byte[] nonce, byte[] aad, byte[] text)
            throws GeneralSecurityException {
        byte[] raw = key.getEncoded();
        byte[] derived = new byte[16 + raw.length];
        for (int i = 0; i < derived.length / 8; i++) {
            byte[] block = ByteBuffer.allocate(16).order(ByteOrder.LITTLE_ENDIAN).putInt(i)
                    .put(nonce).array();
            System.arraycopy(aes(raw, block), 0, derived, 8 * i, 8);
        }
        byte[] cipherKey = Arrays.copyOfRange(derived, 16, derived.length);
        ByteBuffer b = ByteBuffer.allocate(padded(aad.length) + padded(text.length) + 16)
                .order(ByteOrder.LITTLE_ENDIAN);
        b.put(aad).position(padded(aad.length)).put(text);
        b.putLong(b.capacity() - 16, aad.length * 8L).putLong(b.capacity() - 8, text.length * 8L);
        byte[] tag = polyval(Arrays.copyOf(derived, 16), b.array());
        xor(tag, 0, nonce, 0, 12);
        tag[15] &= 127;
        tag = aes(cipherKey, tag);
        ByteBuffer counters = ByteBuffer.allocate(padded(text.length))
                .order(ByteOrder.LITTLE_ENDIAN);
        int first = ByteBuffer.wrap(tag).order(ByteOrder.LITTLE_ENDIAN).getInt();
        for (int i = 0; i < counters.capacity() / 16; i++) {
            counters.putInt(first + i).put(tag, 4, 11).put((byte) (tag[15] | 128));
        }
        byte[] sealed = Arrays.copyOf(text, text.length + 16);
        xor(sealed, 0, aes(cipherKey, counters.array()), 0, text.length);
        System.arraycopy(tag, 0, sealed, text.length, 16);
        return sealed;
    }

    /** RFC 8452 section 3, by GHASH: appendix A. */
    private static byte[] polyval(byte[] h, byte[] blocks) throws GeneralSecurityException {
        long[] key = {0, 0};
        ByteBuffer hash = ByteBuffer.wrap(reversed(h, 0));
        key[0] = hash.getLong();
        key[1] = hash.getLong();
        halve(key);
        long[] sum = {0, 0};
        for (int at = 0; at < blocks.length; at += 16) {
            ByteBuffer block = ByteBuffer.wrap(reversed(blocks, at));
            sum[0] ^= block.getLong();
            sum[1] ^= block.getLong();
            long[] product = {0, 0};
            long[] power = key.clone();
            for (int i = 0; i < 128; i++) {
                long bit = sum[i / 64] >> 63 - i % 64 & 1;
                product[0] ^= power[0] & -bit;
                product[1] ^= power[1] & -bit;
                halve(power);
            }
            sum = product;
        }
        return reversed(ByteBuffer.allocate(16).putLong(sum[0]).putLong(sum[1]).array(), 0);
    }

    /** Multiplies by x in the field of GHASH, whose first bit is that of x to the power of 0. */
    private static void halve(long[] element) {
        long carry = -(element[1] & 1);
        element[1] = element[1] >>> 1 | element[0] << 63;
        element[0] = element[0] >>> 1 ^ carry & 0xe1L << 56;
    }

    private static byte[] reversed(byte[] bytes, int at) {
        byte[] reversed = new byte[16];
        for (int i = 0; i < 16; i++) {
            reversed[i] = bytes[at + 15 - i];
        }
        return reversed;
    }

    /** IEEE 1619 section 5.3. */
    private static byte[] xts(SecretKey key, byte[] tweak, byte[] text)
            throws GeneralSecurityException {
        byte[] raw = key.getEncoded();
        byte[] data = Arrays.copyOf(raw, raw.length / 2);
        int whole = padded(text.length);
        ByteBuffer tweaks = ByteBuffer.allocate(whole).order(ByteOrder.LITTLE_ENDIAN);
        ByteBuffer t = ByteBuffer.wrap(aes(Arrays.copyOfRange(raw, raw.length / 2, raw.length),
                tweak)).order(ByteOrder.LITTLE_ENDIAN);
        for (long low = t.getLong(), high = t.getLong(); tweaks.hasRemaining(); ) {
            tweaks.putLong(low).putLong(high);
            long carry = high >> 63 & 0x87;
            high = high << 1 | low >>> 63;
            low = low << 1 ^ carry;
        }
        int blocks = text.length / 16 * 16;
        byte[] sealed = Arrays.copyOf(text, whole);
        xor(sealed, 0, tweaks.array(), 0, blocks);
        System.arraycopy(aes(data, Arrays.copyOf(sealed, blocks)), 0, sealed, 0, blocks);
        xor(sealed, 0, tweaks.array(), 0, blocks);
        int tail = text.length - blocks;
        if (tail > 0) {
            // The last whole block's ciphertext fills the tail, and gives its beginning to it.
            byte[] last = Arrays.copyOfRange(sealed, blocks - 16, blocks);
            byte[] stolen = Arrays.copyOf(last, 16);
            System.arraycopy(text, blocks, stolen, 0, tail);
            xor(stolen, 0, tweaks.array(), blocks, 16);
            stolen = aes(data, stolen);
            xor(stolen, 0, tweaks.array(), blocks, 16);
            System.arraycopy(stolen, 0, sealed, blocks - 16, 16);
            System.arraycopy(last, 0, sealed, blocks, tail);
        }
        return Arrays.copyOf(sealed, text.length);
    }
}
