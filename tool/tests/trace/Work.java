// SPDX-License-Identifier: BSD-2-Clause
/* Does AES in a mode until it is killed, for tests of `tenrounds trace`. */
import javax.crypto.Cipher;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.IvParameterSpec;
import javax.crypto.spec.SecretKeySpec;

public class Work {
    public static void main(String[] args) throws Exception {
        SecretKeySpec key = new SecretKeySpec(new byte[16], "AES");
        byte[] data = new byte[16384];
        long end = System.nanoTime() + 600_000_000_000L;
        Cipher cipher = Cipher.getInstance("AES/" + args[0] + "/NoPadding");
        for (int i = 0; System.nanoTime() < end; i++) {
            byte[] iv = new byte[args[0].equals("GCM") ? 12 : 16];
            iv[0] = (byte) i;
            iv[1] = (byte) (i >> 8);
            iv[2] = (byte) (i >> 16);
            cipher.init(
                    Cipher.ENCRYPT_MODE,
                    key,
                    args[0].equals("GCM")
                            ? new GCMParameterSpec(128, iv)
                            : new IvParameterSpec(iv));
            cipher.doFinal(data);
        }
    }
}
