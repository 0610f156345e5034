// SPDX-License-Identifier: BSD-2-Clause

import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.Provider;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import javax.crypto.Cipher;
import javax.crypto.Mac;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.IvParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/** Published vectors through JCE: java Vectors FOLDER, the tests/vectors of the repository. */
final class Vectors {
    private static final Provider OURS = Test.ours();

    private Vectors() {}

    public static void main(String[] arguments) throws Exception {
        Path folder = Path.of(arguments[0]);
        gcm(folder, "wycheproof/aes_gcm.txt", 300);
        gcm(folder, "wycheproof/aes_gmac.txt", 150);
        wraps(folder, "KW", "wycheproof/aes_wrap.txt");
        wraps(folder, "KWP", "wycheproof/aes_kwp.txt");
        macs(folder, "AESCMAC", "wycheproof/aes_cmac.txt");
        macs(folder, "AESGMAC", "wycheproof/aes_gmac.txt");
        List<String> modes = new ArrayList<>(List.of("CFB", "OFB"));
        if (OURS.getService("Cipher", "AES/CBC/PKCS5Padding") != null) { // not with JNI alone
            cbc(folder);
            modes.addAll(List.of("CBC", "CTR"));
        }
        for (String mode : modes) {
            for (int bits : new int[] {128, 192, 256}) {
                String name = mode + (mode.equals("CFB") ? "128" : "") + bits;
                sp80038a(mode, folder.resolve("sp800-38a/" + name + ".rsp"));
            }
        }
    }

    private static void gcm(Path folder, String file, int fewest) throws Exception {
        int done = 0;
        for (Test.Vector v : Test.vectors(folder, file)) {
            boolean mac = file.contains("gmac");
            byte[] aad = mac ? v.text() : v.aad();
            byte[] text = mac ? new byte[0] : v.text();
            SecretKeySpec key = new SecretKeySpec(v.key(), "AES");
            Cipher cipher = Cipher.getInstance("AES/GCM/NoPadding", OURS);
            byte[] opened;
            try {
                GCMParameterSpec parameters = new GCMParameterSpec(v.tag().length * 8, v.iv());
                cipher.init(Cipher.DECRYPT_MODE, key, parameters);
                cipher.updateAAD(aad);
                opened = cipher.doFinal(v.sealedAndTag());
                Test.check(v.valid(), v.name() + " is accepted");
                Test.checkEqual(opened, text, v.name());
                cipher.init(Cipher.ENCRYPT_MODE, key, parameters);
                cipher.updateAAD(aad);
                Test.checkEqual(cipher.doFinal(text), v.sealedAndTag(), v.name());
                done++;
            } catch (GeneralSecurityException e) {
                // SunJCE takes only tags of 12 bytes and more, too.
                Test.check(!v.valid() || v.tag().length < 12, v.name() + ": " + e);
                done++;
            }
        }
        Test.check(done >= fewest, file + " has " + done + " cases");
        System.out.println("ok: " + done + " cases of " + file);
    }

    private static void wraps(Path folder, String mode, String file) throws Exception {
        int done = 0;
        for (Test.Vector v : Test.vectors(folder, file)) {
            Cipher cipher = Cipher.getInstance("AES/" + mode + "/NoPadding", OURS);
            SecretKeySpec key = new SecretKeySpec(v.key(), "AES");
            cipher.init(Cipher.DECRYPT_MODE, key);
            try {
                Test.checkEqual(cipher.doFinal(v.sealed()), v.text(), v.name());
                Test.check(v.valid(), v.name() + " is accepted");
            } catch (GeneralSecurityException e) {
                Test.check(!v.valid(), v.name() + ": " + e);
            }
            if (v.valid()) {
                cipher.init(Cipher.ENCRYPT_MODE, key);
                Test.checkEqual(cipher.doFinal(v.text()), v.sealed(), v.name());
            }
            done++;
        }
        Test.check(done > 150, file + " has " + done + " cases");
        System.out.println("ok: " + done + " cases of " + file);
    }

    private static void macs(Path folder, String name, String file) throws Exception {
        int done = 0;
        for (Test.Vector v : Test.vectors(folder, file)) {
            Mac mac = Mac.getInstance(name, OURS);
            done++;
            if (v.key().length == 0) {
                continue; // SecretKeySpec refuses an empty key
            }
            try {
                mac.init(new SecretKeySpec(v.key(), "AES"), name.equals("AESCMAC") ? null
                        : new GCMParameterSpec(v.tag().length * 8, v.iv()));
                // CMAC has tags of 16 bytes, which a program truncates.
                byte[] tag = Arrays.copyOf(mac.doFinal(v.text()), v.tag().length);
                Test.check(Arrays.equals(tag, v.tag()) == v.valid(), v.name());
            } catch (GeneralSecurityException e) {
                Test.check(!v.valid() || v.tag().length < 12, v.name() + ": " + e);
            }
        }
        Test.check(done > 150, file + " has " + done + " cases");
        System.out.println("ok: " + name + ", " + done + " cases of " + file);
    }

    private static void cbc(Path folder) throws Exception {
        int done = 0;
        for (Test.Vector v : Test.vectors(folder, "wycheproof/aes_cbc_pkcs5.txt")) {
            Cipher cipher = Cipher.getInstance("AES/CBC/PKCS5Padding", OURS);
            SecretKeySpec key = new SecretKeySpec(v.key(), "AES");
            cipher.init(Cipher.DECRYPT_MODE, key, new IvParameterSpec(v.iv()));
            try {
                Test.checkEqual(cipher.doFinal(v.sealed()), v.text(), v.name());
                // Wycheproof's invalid cases include an empty message, which SunJCE accepts, too.
                Test.check(v.valid() || v.sealed().length == 0, v.name() + " is accepted");
            } catch (GeneralSecurityException e) {
                Test.check(!v.valid(), v.name() + ": " + e);
            }
            if (v.valid()) {
                cipher.init(Cipher.ENCRYPT_MODE, key, new IvParameterSpec(v.iv()));
                Test.checkEqual(cipher.doFinal(v.text()), v.sealed(), v.name());
            }
            done++;
        }
        Test.check(done > 150, done);
        System.out.println("ok: " + done + " cases of wycheproof/aes_cbc_pkcs5.txt");
    }

    private static void sp80038a(String mode, Path file) throws Exception {
        Map<String, byte[]> fields = new HashMap<>();
        for (String line : Files.readAllLines(file)) {
            String[] words = line.split(" = ");
            if (words.length == 2 && !words[0].equals("COUNT")) {
                fields.put(words[0], HexFormat.of().parseHex(words[1]));
            }
        }
        Cipher cipher = Cipher.getInstance("AES/" + mode + "/NoPadding", OURS);
        SecretKeySpec key = new SecretKeySpec(fields.get("KEY"), "AES");
        IvParameterSpec iv = new IvParameterSpec(fields.get("IV"));
        cipher.init(Cipher.ENCRYPT_MODE, key, iv);
        byte[] sealed = cipher.doFinal(fields.get("PLAINTEXT"));
        Test.checkEqual(sealed, fields.get("CIPHERTEXT"), file);
        cipher.init(Cipher.DECRYPT_MODE, key, iv);
        Test.checkEqual(cipher.doFinal(sealed), fields.get("PLAINTEXT"), file);
        System.out.println("ok: " + file.getFileName());
    }
}
