// SPDX-License-Identifier: BSD-2-Clause

import java.nio.ByteBuffer;
import java.security.Provider;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import javax.crypto.Cipher;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/**
 * Threads that encrypt with us and decrypt with SunJCE, and the reverse, while the collector moves
 * their arrays: java Threads THREADS MESSAGES [SEED]. Run it with a small heap.
 */
final class Threads {
    private static final Provider OURS = Test.ours();

    private Threads() {}

    public static void main(String[] arguments) throws Exception {
        int threads = Integer.parseInt(arguments[0]);
        int messages = Integer.parseInt(arguments[1]);
        long seed = arguments.length > 2 ? Long.parseLong(arguments[2]) : System.nanoTime();
        System.out.println("seed " + seed);
        ExecutorService pool = Executors.newFixedThreadPool(threads + 1);
        List<Future<?>> results = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            Random random = new Random(seed + i);
            results.add(pool.submit((Callable<Void>) () -> messages(random, messages)));
        }
        results.add(pool.submit((Callable<Void>) () -> misuse(messages)));
        for (Future<?> result : results) {
            result.get();
        }
        pool.shutdown();
        System.out.println("ok: " + threads + " threads, " + messages + " messages each");
    }

    private static Void messages(Random random, int count) throws Exception {
        Cipher kept = Cipher.getInstance("AES/GCM/NoPadding", OURS);
        List<byte[]> garbage = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            byte[] text = bytes(random, random.nextInt(random.nextInt(20) == 0 ? 200_000 : 2000));
            byte[] raw = bytes(random, random.nextBoolean() ? 16 : 32);
            SecretKeySpec key = new SecretKeySpec(raw, "AES");
            GCMParameterSpec iv = new GCMParameterSpec(128, bytes(random, 12));
            // Most ciphers are dropped without an end, and some are made for each message.
            Cipher ours = random.nextBoolean() ? kept
                    : Cipher.getInstance("AES/GCM/NoPadding", OURS);
            Cipher sun = Cipher.getInstance("AES/GCM/NoPadding", "SunJCE");
            boolean seals = random.nextBoolean();
            byte[] sealed = run(random, seals ? ours : sun, Cipher.ENCRYPT_MODE, key, iv, text);
            byte[] opened = run(random, seals ? sun : ours, Cipher.DECRYPT_MODE, key, iv, sealed);
            Test.checkEqual(opened, text, "message " + i);
            garbage.add(sealed);
            if (garbage.size() > 20) {
                garbage.subList(0, 15).clear();
            }
        }
        return null;
    }

    private static byte[] run(Random random, Cipher cipher, int opmode, SecretKeySpec key,
            GCMParameterSpec iv, byte[] in) throws Exception {
        cipher.init(opmode, key, iv);
        cipher.updateAAD(new byte[5]);
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

    /** Two threads with one cipher, which JCE forbids: results are wrong, but nothing crashes. */
    private static Void misuse(int count) throws Exception {
        Cipher cipher = Cipher.getInstance("AES/GCM/NoPadding", OURS);
        List<Thread> threads = new ArrayList<>();
        for (int t = 0; t < 2; t++) {
            Random random = new Random(t);
            Thread thread = new Thread(() -> {
                for (int i = 0; i < count; i++) {
                    try {
                        SecretKeySpec key = new SecretKeySpec(bytes(random, 16), "AES");
                        cipher.init(Cipher.ENCRYPT_MODE, key,
                                new GCMParameterSpec(128, bytes(random, 12)));
                        cipher.updateAAD(new byte[random.nextInt(100)]);
                        cipher.update(new byte[random.nextInt(100)]);
                        cipher.doFinal(new byte[random.nextInt(5000)]);
                    } catch (Exception e) {
                        // As good as any result.
                    }
                }
            });
            thread.start();
            threads.add(thread);
        }
        for (Thread thread : threads) {
            thread.join();
        }
        return null;
    }
}
