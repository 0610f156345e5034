// SPDX-License-Identifier: BSD-2-Clause

import java.nio.file.Files;
import java.nio.file.Path;
import java.security.Provider;
import javax.crypto.Cipher;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/**
 * Long messages of CCM and GCM-SIV need no direct memory, and give back what they took when they
 * end: java -Xmx96m -XX:MaxDirectMemorySize=1m Memory.
 */
final class Memory {
    private static final int LENGTH = 8 << 20;
    private static final int MESSAGES = 100;

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
        // The heap and the JVM itself take less than half of it.
        long most = (long) LENGTH * MESSAGES / 2;
        long peak = peak();
        Test.check(peak < most, "the process took " + peak + " bytes");
        System.out.println("ok: " + 2 * MESSAGES + " long messages, " + (peak >> 20) + " MiB");
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
