// SPDX-License-Identifier: BSD-2-Clause

import java.nio.ByteBuffer;
import java.security.Provider;
import java.security.spec.AlgorithmParameterSpec;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.crypto.Cipher;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.IvParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/**
 * Threads that encrypt with us and decrypt with SunJCE, and the reverse, while the collector moves
 * their arrays: java Threads THREADS MESSAGES [SECONDS [SEED]]. Each thread uses one mode. With
 * SECONDS, the same again until they are over. Run it with a small heap.
 */
final class Threads {
    private static final Provider OURS = Test.ours();
    /** Those that the provider has: not CTR and CBC with JNI alone. */
    private static final List<String> CIPHERS =
            Stream.of("AES/GCM/NoPadding", "AES/CFB/NoPadding", "AES/CTR/NoPadding",
                            "AES/CBC/PKCS5Padding")
                    .filter(name -> OURS.getService("Cipher", name) != null)
                    .collect(Collectors.toList());

    private Threads() {}

    public static void main(String[] arguments) throws Exception {
        int threads = Integer.parseInt(arguments[0]);
        int messages = Integer.parseInt(arguments[1]);
        long seconds = arguments.length > 2 ? Long.parseLong(arguments[2]) : 0;
        long seed = arguments.length > 3 ? Long.parseLong(arguments[3]) : System.nanoTime();
        System.out.println("seed " + seed);
        long begin = System.nanoTime();
        int rounds = 0;
        do {
            round(threads, messages, seed + (long) rounds++ * threads);
        } while (System.nanoTime() - begin < seconds * 1_000_000_000);
        System.out.println("ok: " + threads + " threads, " + rounds + " times " + messages
                + " messages each, of " + CIPHERS);
    }

    private static void round(int threads, int messages, long seed) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(threads + 1);
        List<Future<?>> results = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            Random random = new Random(seed + i);
            String name = CIPHERS.get(i % CIPHERS.size());
            results.add(pool.submit((Callable<Void>) () -> messages(name, random, messages)));
        }
        results.add(pool.submit((Callable<Void>) () -> misuse(messages)));
        for (Future<?> result : results) {
            result.get();
        }
        pool.shutdown();
    }

    private static Void messages(String name, Random random, int count) throws Exception {
        Cipher kept = Cipher.getInstance(name, OURS);
        List<byte[]> garbage = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            byte[] text = bytes(random, random.nextInt(random.nextInt(20) == 0 ? 200_000 : 2000));
            byte[] raw = bytes(random, random.nextBoolean() ? 16 : 32);
            SecretKeySpec key = new SecretKeySpec(raw, "AES");
            AlgorithmParameterSpec iv = name.contains("GCM")
                    ? new GCMParameterSpec(128, bytes(random, 12))
                    : new IvParameterSpec(bytes(random, 16));
            // Most ciphers are dropped without an end, and some are made for each message.
            Cipher ours = random.nextBoolean() ? kept : Cipher.getInstance(name, OURS);
            Cipher sun = Cipher.getInstance(name, "SunJCE");
            boolean seals = random.nextBoolean();
            byte[] sealed = run(random, seals ? ours : sun, Cipher.ENCRYPT_MODE, key, iv, text);
            byte[] opened = run(random, seals ? sun : ours, Cipher.DECRYPT_MODE, key, iv, sealed);
            Test.checkEqual(opened, text, name + ", message " + i);
            garbage.add(sealed);
            if (garbage.size() > 20) {
                garbage.subList(0, 15).clear();
            }
        }
        return null;
    }

    private static byte[] run(Random random, Cipher cipher, int opmode, SecretKeySpec key,
            AlgorithmParameterSpec iv, byte[] in) throws Exception {
        cipher.init(opmode, key, iv);
        if (iv instanceof GCMParameterSpec) {
            cipher.updateAAD(new byte[5]);
        }
        if (random.nextBoolean()) {
            return cipher.doFinal(in);
        }
        ByteBuffer source = ByteBuffer.allocateDirect(in.length).put(in).flip();
        ByteBuffer out = random.nextBoolean() ? ByteBuffer.allocate(cipher.getOutputSize(in.length))
                : ByteBuffer.allocateDirect(cipher.getOutputSize(in.length));
        cipher.doFinal(source, out);
        byte[] result = new byte[out.flip().remaining()];
        out.get(result);
        return result;
    }

    private static byte[] bytes(Random random, int length) {
        byte[] bytes = new byte[length];
        random.nextBytes(bytes);
        return bytes;
    }

    /**
     * Two threads with one cipher, which JCE forbids: results are wrong, but nothing crashes, and
     * nothing is written beyond a direct buffer. While one encrypts, the other lets the cipher
     * hold more bytes than there is room for.
     */
    private static Void misuse(int count) throws Exception {
        Cipher cipher = Cipher.getInstance("AES/GCM/NoPadding", OURS);
        SecretKeySpec key = new SecretKeySpec(new byte[16], "AES");
        ByteBuffer whole = ByteBuffer.allocateDirect(500_000);
        ByteBuffer in = ByteBuffer.allocateDirect(100_000);
        ByteBuffer out = whole.slice(0, in.capacity() + 16);
        byte[] iv = new byte[12];
        Thread encrypts = new Thread(() -> {
            for (int i = 0; i < count; i++) {
                ByteBuffer.wrap(iv).putInt(i);
                ignore(() -> {
                    cipher.init(Cipher.ENCRYPT_MODE, key, new GCMParameterSpec(128, iv));
                    cipher.updateAAD(new byte[20]);
                    cipher.doFinal(in.rewind(), out.rewind());
                });
            }
        });
        Thread holds = new Thread(() -> {
            byte[] sealed = new byte[200_000];
            while (encrypts.isAlive()) {
                ignore(() -> {
                    cipher.init(Cipher.DECRYPT_MODE, key, new GCMParameterSpec(96, new byte[12]));
                    cipher.update(sealed);
                });
                ignore(() -> cipher.init(Cipher.ENCRYPT_MODE,
                        new SecretKeySpec(new byte[32], "AES"), new GCMParameterSpec(96, iv)));
            }
        });
        encrypts.start();
        holds.start();
        encrypts.join();
        holds.join();
        byte[] beyond = new byte[whole.capacity() - out.capacity()];
        whole.get(out.capacity(), beyond);
        Test.checkEqual(beyond, new byte[beyond.length], "beyond the output");
        return null;
    }

    private interface Use {
        void run() throws Exception;
    }

    private static void ignore(Use use) {
        try {
            use.run();
        } catch (Exception e) {
            // As good as any result.
        }
    }
}
