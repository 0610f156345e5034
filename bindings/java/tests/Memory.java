// SPDX-License-Identifier: BSD-2-Clause

import java.nio.file.Files;
import java.nio.file.Path;
import java.security.Provider;
import java.util.ArrayList;
import java.util.List;
import javax.crypto.Cipher;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.IvParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/**
 * Memory outside of the heap: java -Xmx96m -XX:MaxDirectMemorySize=1m Memory. Long messages of CCM
 * and GCM-SIV need no direct memory, and give back what they took when they end. Among thousands of
 * ciphers, one gives back its context after each message, and gets another.
 */
final class Memory {
    private static final int LENGTH = 8 << 20;
    private static final int MESSAGES = 100;
    /** More than Context.CROWD. */
    private static final int CIPHERS = 4100;

    private Memory() {}

    public static void main(String[] arguments) throws Exception {
        Provider ours = Test.ours();
        byte[] text = new byte[LENGTH];
        for (String mode : new String[] {"CCM", "GCM-SIV"}) {
            Cipher cipher = Cipher.getInstance("AES/" + mode + "/NoPadding", ours);
            SecretKeySpec key = new SecretKeySpec(new byte[16], "AES");
            for (int i = 0; i < MESSAGES; i++) {
                GCMParameterSpec nonce = new GCMParameterSpec(128,
                        new byte[] {(byte) i, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
                cipher.init(Cipher.ENCRYPT_MODE, key, nonce);
                byte[] sealed = cipher.doFinal(text);
                if (i == 0) {
                    cipher.init(Cipher.DECRYPT_MODE, key, nonce);
                    Test.checkEqual(cipher.doFinal(sealed), text, mode);
                }
            }
        }
        crowd(ours);
        // The heap and the JVM itself take less than half of it.
        long most = (long) LENGTH * MESSAGES / 2;
        long peak = peak();
        Test.check(peak < most, "the process took " + peak + " bytes");
        System.out.println("ok: " + 2 * MESSAGES + " long messages, " + (peak >> 20) + " MiB");
    }

    private static void crowd(Provider ours) throws Exception {
        SecretKeySpec key = new SecretKeySpec(new byte[16], "AES");
        IvParameterSpec iv = new IvParameterSpec(new byte[16]);
        byte[] text = new byte[100];
        Cipher sun = Cipher.getInstance("AES/CFB/NoPadding", "SunJCE");
        sun.init(Cipher.ENCRYPT_MODE, key, iv);
        byte[] sealed = sun.doFinal(text);
        List<Cipher> begun = new ArrayList<>();
        Cipher cipher = Cipher.getInstance("AES/CFB/NoPadding", ours);
        cipher.init(Cipher.ENCRYPT_MODE, key, iv);
        for (int i = 0; i < CIPHERS; i++) {
            Cipher other = Cipher.getInstance("AES/CFB/NoPadding", ours);
            other.init(Cipher.ENCRYPT_MODE, key, iv);
            other.update(text);
            begun.add(other);
            // From the crowd on, the next cipher may take the context of this one.
            Test.checkEqual(cipher.doFinal(text), sealed, "with " + begun.size() + " ciphers");
        }
    }

    /** Returns the most memory that this process has had, in bytes. */
    private static long peak() throws Exception {
        for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (line.startsWith("VmHWM:")) {
                return Long.parseLong(line.replaceAll("\\D", "")) * 1024;
            }
        }
        throw new AssertionError("/proc/self/status has no VmHWM");
    }
}
