// SPDX-License-Identifier: BSD-2-Clause

import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.function.Supplier;
import javax.crypto.Cipher;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/**
 * Direct buffers that a call must refuse or copy, because C would read or write beyond them: java
 * Buffers. Exceptions are those of SunJCE.
 */
final class Buffers {
    private Buffers() {}

    public static void main(String[] arguments) throws Exception {
        huge();
        if (Runtime.version().feature() >= 22) {
            arenas();
        }
        System.out.println("ok: direct buffers");
    }

    private static Cipher cipher(Object provider, int opmode) throws Exception {
        String name = "AES/GCM/NoPadding";
        Cipher cipher = provider.equals("SunJCE") ? Cipher.getInstance(name, "SunJCE")
                : Cipher.getInstance(name, Test.ours());
        cipher.init(opmode, new SecretKeySpec(new byte[16], "AES"),
                new GCMParameterSpec(128, new byte[12]));
        return cipher;
    }

    private static String thrown(Object provider, int opmode, ByteBuffer in, ByteBuffer out,
            boolean last) throws Exception {
        Cipher cipher = cipher(provider, opmode);
        try {
            if (last) {
                cipher.doFinal(in.duplicate(), out.duplicate());
            } else {
                cipher.update(in.duplicate(), out.duplicate());
            }
            return "nothing";
        } catch (Exception e) {
            return e.getClass().getName();
        }
    }

    /** The length of the output is more than an int can hold. */
    private static void huge() throws Exception {
        Path file = Files.createTempFile("tenrounds", ".sparse");
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ,
                StandardOpenOption.WRITE, StandardOpenOption.DELETE_ON_CLOSE)) {
            ByteBuffer in = channel.map(FileChannel.MapMode.READ_WRITE, 0, Integer.MAX_VALUE);
            ByteBuffer out = ByteBuffer.allocateDirect(64);
            for (boolean last : new boolean[] {false, true}) {
                String ours = thrown("ours", Cipher.ENCRYPT_MODE, in, out, last);
                String sun = thrown("SunJCE", Cipher.ENCRYPT_MODE, in, out, last);
                Test.check(ours.equals(sun), "2 GiB: ours " + ours + ", SunJCE " + sun);
            }
        }
    }

    private static Object arena(String kind) throws ReflectiveOperationException {
        return Class.forName("java.lang.foreign.Arena").getMethod(kind).invoke(null);
    }

    private static ByteBuffer buffer(Object arena, int length) throws ReflectiveOperationException {
        Method allocate = Class.forName("java.lang.foreign.SegmentAllocator")
                .getMethod("allocate", long.class);
        Method view = Class.forName("java.lang.foreign.MemorySegment").getMethod("asByteBuffer");
        return (ByteBuffer) view.invoke(allocate.invoke(arena, (long) length));
    }

    /** Memory of an arena of foreign functions, which a program can close. */
    private static void arenas() throws Exception {
        byte[] text = new byte[40_000];
        Arrays.fill(text, (byte) 7);
        byte[] sealed = cipher("SunJCE", Cipher.ENCRYPT_MODE).doFinal(text);
        for (String kind : new String[] {"global", "ofAuto", "ofShared", "ofConfined"}) {
            Object arena = arena(kind);
            ByteBuffer in = buffer(arena, text.length).put(text).flip();
            ByteBuffer out = buffer(arena, sealed.length);
            Cipher cipher = cipher("ours", Cipher.ENCRYPT_MODE);
            int written = cipher.update(in.slice(0, 20_000), out);
            written += cipher.doFinal(in.slice(20_000, 20_000), out);
            Test.check(written == sealed.length && out.position() == written, written);
            byte[] got = new byte[written];
            out.flip().get(got);
            Test.checkEqual(got, sealed, kind);
            ByteBuffer opened = buffer(arena, text.length);
            cipher("ours", Cipher.DECRYPT_MODE).doFinal(out.rewind(), opened);
            Test.check(opened.flip().equals(in), kind);

            ByteBuffer heap = ByteBuffer.allocate(sealed.length);
            if (kind.equals("ofConfined")) {
                refused(() -> in, () -> heap, true);
                refused(() -> heap.slice(0, 100), () -> out.rewind(), true);
            }
            if (kind.equals("ofConfined") || kind.equals("ofShared")) {
                Class.forName("java.lang.foreign.Arena").getMethod("close").invoke(arena);
                refused(() -> in, () -> heap, false);
                refused(() -> heap.slice(0, 100), () -> out.rewind(), false);
            }
        }
    }

    /** Calls in this or another thread throw what SunJCE throws. */
    private static void refused(Supplier<ByteBuffer> in, Supplier<ByteBuffer> out,
            boolean otherThread) throws Exception {
        for (boolean last : new boolean[] {false, true}) {
            String[] names = new String[2];
            for (int i = 0; i < 2; i++) {
                int who = i;
                Runnable call = () -> {
                    try {
                        names[who] = thrown(who == 0 ? "ours" : "SunJCE", Cipher.ENCRYPT_MODE,
                                in.get(), out.get(), last);
                    } catch (Exception e) {
                        names[who] = "failed: " + e;
                    }
                };
                if (otherThread) {
                    Thread thread = new Thread(call);
                    thread.start();
                    thread.join();
                } else {
                    call.run();
                }
            }
            Test.check(names[0].equals(names[1]) && !names[0].equals("nothing"),
                    "ours " + names[0] + ", SunJCE " + names[1]);
        }
    }
}
