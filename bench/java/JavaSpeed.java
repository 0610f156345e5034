// SPDX-License-Identifier: BSD-2-Clause
import java.nio.ByteBuffer;
import java.security.KeyStore;
import java.security.Provider;
import java.security.Security;
import java.security.spec.AlgorithmParameterSpec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import javax.crypto.Cipher;
import javax.crypto.SecretKey;
import javax.crypto.SecretKeyFactory;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.IvParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/**
 * AES of several providers in one JVM, in turn (scripts/bench-java).
 *
 * <pre>
 * java JavaSpeed.java warm ROUNDS NAME=CONFIG[:PIN]...   one line a figure: row, bytes, name, ns of each round
 * java JavaSpeed.java cold BYTES COUNT NAME=CONFIG       the milliseconds of COUNT messages of BYTES by AES-128-GCM
 * </pre>
 *
 * NAME=java is SunJCE; the other names have a configuration of SunPKCS11. A message is init and doFinal with a key that
 * the provider has already. Each window has some milliseconds, after the compiler has had its time.
 */
public class JavaSpeed {
    static final int[] SIZES = {16, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20};
    static final byte[] KEY = new byte[16];
    static final long WARM_NS = 300_000_000L, WINDOW_NS = 4_000_000L;

    enum Row {
        GCM("AES/GCM/NoPadding", true), GCM_OPEN("AES/GCM/NoPadding", false), CTR("AES/CTR/NoPadding", true),
        CBC("AES/CBC/NoPadding", true);

        final String transformation;
        final boolean encrypts;

        Row(String transformation, boolean encrypts) {
            this.transformation = transformation;
            this.encrypts = encrypts;
        }
    }

    /** One provider's cipher and key for a row and size. */
    static class Subject {
        final String name;
        final Row row;
        final Cipher cipher;
        final SecretKey key;
        final byte[] in, out;
        final byte[] iv = new byte[12];
        final IvParameterSpec block = new IvParameterSpec(new byte[16]);
        GCMParameterSpec opened;
        long count;

        Subject(String name, Provider provider, Row row, int bytes) throws Exception {
            this.name = name;
            this.row = row;
            cipher = Cipher.getInstance(row.transformation, provider);
            SecretKey raw = new SecretKeySpec(KEY, "AES");
            boolean translates = provider.getService("SecretKeyFactory", "AES") != null;
            key = translates ? SecretKeyFactory.getInstance("AES", provider).translateKey(raw) : raw;
            byte[] text = new byte[bytes];
            if (row == Row.GCM_OPEN) {
                cipher.init(Cipher.ENCRYPT_MODE, key, opened = new GCMParameterSpec(128, new byte[12]));
                in = cipher.doFinal(text);
            } else {
                in = text;
            }
            out = new byte[bytes + 32];
        }

        AlgorithmParameterSpec parameters() {
            switch (row) {
            case GCM:
                // No nonce twice under a key: SunJCE insists on it.
                ByteBuffer.wrap(iv).putLong(4, ++count);
                return new GCMParameterSpec(128, iv);
            case GCM_OPEN:
                return opened;
            default:
                return block;
            }
        }

        int message() throws Exception {
            cipher.init(row.encrypts ? Cipher.ENCRYPT_MODE : Cipher.DECRYPT_MODE, key, parameters());
            return cipher.doFinal(in, 0, in.length, out, 0);
        }

        /** Messages for so long; returns the nanoseconds of one. */
        double window(long ns) throws Exception {
            long begin = System.nanoTime(), end;
            int messages = 0;
            do {
                message();
                messages++;
                end = System.nanoTime();
            } while (end - begin < ns);
            return (double) (end - begin) / messages;
        }
    }

    static Provider provider(String name, String config) throws Exception {
        if (name.equals("java"))
            return Security.getProvider("SunJCE");
        String[] parts = config.split(":", 2);
        Provider provider = Security.getProvider("SunPKCS11").configure(parts[0]);
        if (parts.length == 2)
            KeyStore.getInstance("PKCS11", provider).load(null, parts[1].toCharArray());
        return provider;
    }

    static void warm(String[] words) throws Exception {
        int rounds = Integer.parseInt(words[1]);
        List<String> names = new ArrayList<>();
        List<Provider> providers = new ArrayList<>();
        for (String word : Arrays.copyOfRange(words, 2, words.length)) {
            String[] pair = word.split("=", 2);
            names.add(pair[0]);
            providers.add(provider(pair[0], pair.length == 2 ? pair[1] : ""));
        }
        for (Row row : Row.values()) {
            for (int bytes : SIZES) {
                List<Subject> subjects = new ArrayList<>();
                byte[] expected = null;
                for (int i = 0; i < names.size(); i++) {
                    Subject subject = new Subject(names.get(i), providers.get(i), row, bytes);
                    subjects.add(subject);
                    int length = subject.message();
                    byte[] written = Arrays.copyOf(subject.out, length);
                    if (expected != null && !Arrays.equals(written, expected))
                        throw new Exception(subject.name + " writes something else: " + row + ", " + bytes + " bytes");
                    expected = written;
                }
                double[][] ns = new double[subjects.size()][rounds];
                for (Subject subject : subjects)
                    subject.window(WARM_NS);
                for (int round = 0; round < rounds; round++)
                    for (int step = 0; step < subjects.size(); step++) {
                        int which = (round + step) % subjects.size();
                        ns[which][round] = subjects.get(which).window(WINDOW_NS);
                    }
                for (int i = 0; i < subjects.size(); i++) {
                    StringBuilder line = new StringBuilder(row + " " + bytes + " " + names.get(i));
                    for (double value : ns[i])
                        line.append(String.format(Locale.ROOT, " %.1f", value));
                    System.out.println(line);
                }
            }
        }
    }

    static void cold(String[] words) throws Exception {
        int bytes = Integer.parseInt(words[1]), count = Integer.parseInt(words[2]);
        String[] pair = words[3].split("=", 2);
        long begin = System.nanoTime();
        Provider provider = provider(pair[0], pair.length == 2 ? pair[1] : "");
        Subject subject = new Subject(pair[0], provider, Row.GCM, bytes);
        for (int i = 0; i < count; i++)
            subject.message();
        System.out.println((System.nanoTime() - begin) / 1000000.0);
    }

    public static void main(String[] words) throws Exception {
        if (words[0].equals("cold"))
            cold(words);
        else
            warm(words);
    }
}
