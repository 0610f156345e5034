// SPDX-License-Identifier: BSD-2-Clause

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.ByteBuffer;
import java.security.GeneralSecurityException;
import java.security.NoSuchAlgorithmException;
import java.security.Provider;
import java.security.Security;
import java.security.spec.AlgorithmParameterSpec;
import java.util.Arrays;
import javax.crypto.Cipher;
import javax.crypto.SecretKey;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.IvParameterSpec;
import javax.crypto.spec.SecretKeySpec;
import org.tenrounds.TenroundsProvider;

/**
 * Compares the provider with another one, by the thread's processor time. Against SunJCE, the
 * command 'scripts/java bench BUILD' runs both forms.
 *
 * <ul>
 *   <li>java Compare [CLASS]: in a warm JVM, medians of the ratios of alternated windows; against
 *       the provider of this class, if there is one
 *   <li>java Compare first PROVIDER: the first ten messages of 1 MiB in this JVM, by tenrounds or
 *       SunJCE, in milliseconds; and the first one of 64 bytes
 * </ul>
 */
final class Compare {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    /** A block, and whole blocks of about 64 B, 1350 B, 16 KiB and 1 MiB. */
    private static final int[] LENGTHS = {16, 64, 1344, 16 * 1024, 1024 * 1024};
    private static final String[] ROWS = {"GCM encrypt", "GCM decrypt", "CTR encrypt",
        "CBC decrypt", "CBC encrypt", "CFB decrypt", "CFB encrypt", "OFB encrypt"};
    private static final int WINDOWS = 21;
    private static final long WARM = 800_000_000;
    private static final long WINDOW = 4_000_000;

    private Compare() {}

    public static void main(String[] arguments) throws Exception {
        if (arguments.length > 1) {
            first(arguments[1]);
            return;
        }
        Provider other = arguments.length == 0 ? Security.getProvider("SunJCE")
                : (Provider) Class.forName(arguments[0]).getConstructor().newInstance();
        System.out.println("JDK " + Runtime.version() + ": times " + other.getName() + " "
                + other.getVersionStr() + " (ns of ours)");
        System.out.printf("%-28s", "bytes");
        Arrays.stream(LENGTHS).forEach(length -> System.out.printf(" %18d", length));
        System.out.println();
        for (String row : ROWS) {
            String name = "AES/" + row.substring(0, 3) + "/NoPadding";
            if (!has(new TenroundsProvider(), name) || !has(other, name)) {
                continue;
            }
            int opmode = row.endsWith("encrypt") ? Cipher.ENCRYPT_MODE : Cipher.DECRYPT_MODE;
            row(name, opmode, 128, other);
            row(name, opmode, 256, other);
        }
    }

    private static boolean has(Provider provider, String name) throws GeneralSecurityException {
        try {
            Cipher.getInstance(name, provider);
            return true;
        } catch (NoSuchAlgorithmException e) {
            return false;
        }
    }

    private static void row(String name, int opmode, int bits, Provider provider)
            throws Exception {
        System.out.printf("%-28s", name.substring(4, 7) + " " + bits
                + (opmode == Cipher.ENCRYPT_MODE ? " encrypt" : " decrypt"));
        for (int length : LENGTHS) {
            Load ours = new Load(new TenroundsProvider(), name, opmode, bits / 8, length);
            Load other = new Load(provider, name, opmode, bits / 8, length);
            ours.run(length <= 64 ? WARM : WARM / 4);
            other.run(length <= 64 ? WARM : WARM / 4);
            double[] ratios = new double[WINDOWS];
            double[] times = new double[WINDOWS];
            for (int i = 0; i < WINDOWS; i++) {
                double one = i % 2 == 0 ? ours.run(WINDOW) : other.run(WINDOW);
                double two = i % 2 == 0 ? other.run(WINDOW) : ours.run(WINDOW);
                times[i] = i % 2 == 0 ? one : two;
                ratios[i] = (i % 2 == 0 ? two : one) / times[i];
            }
            System.out.printf(" %7.2f (%8.0f)", median(ratios), median(times));
        }
        System.out.println();
    }

    private static double median(double[] values) {
        Arrays.sort(values);
        return values[values.length / 2];
    }

    /** A cipher and one message. A message begins with a new IV. */
    private static final class Load {
        private final Cipher cipher;
        private final int opmode;
        private final SecretKey key;
        private final boolean gcm;
        private final byte[] in;
        private final byte[] out;
        private long messages;

        Load(Provider provider, String name, int opmode, int keyLength, int length)
                throws GeneralSecurityException {
            cipher = Cipher.getInstance(name, provider);
            this.opmode = opmode;
            key = new SecretKeySpec(new byte[keyLength], "AES");
            gcm = name.contains("GCM");
            cipher.init(Cipher.ENCRYPT_MODE, key, spec());
            boolean opens = gcm && opmode == Cipher.DECRYPT_MODE;
            in = opens ? cipher.doFinal(new byte[length]) : new byte[length];
            out = new byte[length + 16];
        }

        private AlgorithmParameterSpec spec() {
            byte[] iv = ByteBuffer.allocate(gcm ? 12 : 16).putLong(messages).array();
            return gcm ? new GCMParameterSpec(128, iv) : new IvParameterSpec(iv);
        }

        private void message() throws GeneralSecurityException {
            // The one message that there is to open has the first IV.
            messages += gcm && opmode == Cipher.DECRYPT_MODE ? 0 : 1;
            cipher.init(opmode, key, spec());
            cipher.doFinal(in, 0, in.length, out, 0);
        }

        /** Runs for about this many nanoseconds. Returns those of a message. */
        double run(long nanoseconds) throws GeneralSecurityException {
            long begin = THREADS.getCurrentThreadCpuTime();
            long time;
            int count = 0;
            do {
                for (int i = 0; i < Math.max(1, 200_000 / (in.length + 200)); i++, count++) {
                    message();
                }
                time = THREADS.getCurrentThreadCpuTime() - begin;
            } while (time < nanoseconds);
            return (double) time / count;
        }
    }

    private static void first(String name) throws Exception {
        long begin = THREADS.getCurrentThreadCpuTime();
        Provider provider = name.equals("SunJCE") ? Security.getProvider(name)
                : new TenroundsProvider();
        new Load(provider, "AES/GCM/NoPadding", Cipher.ENCRYPT_MODE, 16, 64).message();
        long small = THREADS.getCurrentThreadCpuTime();
        Load load = new Load(provider, "AES/GCM/NoPadding", Cipher.ENCRYPT_MODE, 16, 1024 * 1024);
        long loaded = THREADS.getCurrentThreadCpuTime();
        for (int i = 0; i < 10; i++) {
            load.message();
        }
        long end = THREADS.getCurrentThreadCpuTime();
        System.out.printf("%s: first use %.1f ms, ten messages of 1 MiB %.1f ms%n", name,
                (small - begin) / 1e6, (end - loaded) / 1e6);
    }
}
