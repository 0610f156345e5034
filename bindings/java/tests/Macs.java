// SPDX-License-Identifier: BSD-2-Clause

import java.nio.ByteBuffer;
import java.security.Key;
import java.security.Provider;
import java.security.spec.AlgorithmParameterSpec;
import java.util.Arrays;
import java.util.Random;
import javax.crypto.Cipher;
import javax.crypto.Mac;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.IvParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/**
 * Random MACs in pieces, against what SunJCE's ciphers compute: java Macs MESSAGES [SEED]. And what
 * the MACs refuse.
 */
final class Macs {
    private static final Provider OURS = Test.ours();

    private Macs() {}

    public static void main(String[] arguments) throws Exception {
        int messages = Integer.parseInt(arguments[0]);
        long seed = arguments.length > 1 ? Long.parseLong(arguments[1]) : System.nanoTime();
        System.out.println("seed " + seed);
        Random random = new Random(seed);
        Mac cmac = Mac.getInstance("AESCMAC", OURS);
        Mac gmac = Mac.getInstance("AESGMAC", OURS);
        for (int i = 0; i < messages; i++) {
            Key key = new SecretKeySpec(bytes(random, 16 + 8 * random.nextInt(3)), "AES");
            byte[] text = bytes(random, random.nextInt(random.nextInt(9) == 0 ? 100_000 : 1200));
            cmac.init(key);
            // Two messages with one key, and one that reset() drops.
            for (int j = 0; j < 2; j++) {
                Test.checkEqual(tag(random, cmac, text), cmac(key, text), "CMAC " + i);
            }
            cmac.update(text);
            cmac.reset();
            byte[] iv = bytes(random, random.nextBoolean() ? 12 : 1 + random.nextInt(40));
            int bits = 96 + 8 * random.nextInt(5);
            boolean whole = bits == 128 && random.nextBoolean();
            gmac.init(key, whole ? new IvParameterSpec(iv) : new GCMParameterSpec(bits, iv));
            Test.check(gmac.getMacLength() == bits / 8, gmac.getMacLength());
            Cipher gcm = Cipher.getInstance("AES/GCM/NoPadding", "SunJCE");
            gcm.init(Cipher.ENCRYPT_MODE, key, new GCMParameterSpec(bits, iv));
            gcm.updateAAD(text);
            Test.checkEqual(tag(random, gmac, text), gcm.doFinal(), "GMAC " + i);
        }
        refuse(cmac, gmac);
        System.out.println("ok: " + messages + " messages of random MACs");
    }

    private static byte[] bytes(Random random, int length) {
        byte[] bytes = new byte[length];
        random.nextBytes(bytes);
        return bytes;
    }

    private static byte[] tag(Random random, Mac mac, byte[] text) {
        int at = 0;
        while (random.nextInt(4) > 0) {
            int length = random.nextInt(text.length - at + 1) / (1 + random.nextInt(9));
            if (random.nextBoolean()) {
                mac.update(ByteBuffer.allocateDirect(length).put(text, at, length).flip());
            } else {
                mac.update(text, at, length);
            }
            at += length;
            if (at < text.length) {
                mac.update(text[at++]);
            }
        }
        return mac.doFinal(Arrays.copyOfRange(text, at, text.length));
    }

    /** CMAC by SunJCE's CBC (SP 800-38B section 6.2). */
    private static byte[] cmac(Key key, byte[] text) throws Exception {
        Cipher cbc = Cipher.getInstance("AES/CBC/NoPadding", "SunJCE");
        cbc.init(Cipher.ENCRYPT_MODE, key, new IvParameterSpec(new byte[16]));
        byte[] subkey = doubled(cbc.doFinal(new byte[16]));
        int blocks = Math.max(1, (text.length + 15) / 16);
        byte[] padded = Arrays.copyOf(text, 16 * blocks);
        if (text.length < padded.length) {
            padded[text.length] = (byte) 0x80;
            subkey = doubled(subkey);
        }
        for (int i = 0; i < 16; i++) {
            padded[padded.length - 16 + i] ^= subkey[i];
        }
        byte[] sealed = cbc.doFinal(padded);
        return Arrays.copyOfRange(sealed, sealed.length - 16, sealed.length);
    }

    private static byte[] doubled(byte[] block) {
        byte[] twice = new byte[16];
        for (int i = 0; i < 16; i++) {
            twice[i] = (byte) (block[i] << 1 | (i < 15 ? block[i + 1] >> 7 & 1 : 0));
        }
        twice[15] ^= (byte) (block[0] < 0 ? 0x87 : 0);
        return twice;
    }

    private static void refuse(Mac cmac, Mac gmac) {
        Key key = new SecretKeySpec(new byte[16], "AES");
        AlgorithmParameterSpec iv = new IvParameterSpec(new byte[12]);
        // GMAC after its tag, with the same IV.
        fails("IllegalStateException", () -> gmac.update((byte) 0));
        fails("IllegalStateException", gmac::doFinal);
        fails("InvalidAlgorithmParameterException", () -> cmac.init(key, iv));
        fails("IllegalStateException", cmac::doFinal);
        fails("InvalidAlgorithmParameterException",
                () -> gmac.init(key, new IvParameterSpec(new byte[0])));
        fails("InvalidAlgorithmParameterException",
                () -> gmac.init(key, new GCMParameterSpec(64, new byte[12])));
        fails("InvalidKeyException", () -> gmac.init(key));
        fails("InvalidKeyException", () -> cmac.init(new SecretKeySpec(new byte[20], "AES")));
        fails("InvalidKeyException", () -> cmac.init(new SecretKeySpec(new byte[16], "DES")));
    }

    private interface Call {
        void run() throws Exception;
    }

    private static void fails(String name, Call call) {
        try {
            call.run();
        } catch (Exception e) {
            Test.check(e.getClass().getSimpleName().equals(name), name + ", not " + e);
            return;
        }
        throw new AssertionError("no " + name);
    }
}
