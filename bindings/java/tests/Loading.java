// SPDX-License-Identifier: BSD-2-Clause

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.ref.WeakReference;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.security.Provider;
import java.security.Security;
import java.util.HexFormat;
import java.util.concurrent.atomic.AtomicReference;
import javax.crypto.Cipher;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.SecretKeySpec;
import org.tenrounds.TenroundsProvider;

/**
 * Loading of the provider:
 *
 * <ul>
 *   <li>java Loading active JNI (or FFM): java.security names the provider, which calls C so
 *   <li>java Loading inactive TEXT: it steps aside, and its reason has this text
 *   <li>java Loading unlinked: the JVM fails to link the foreign function; calls stay with JNI
 *   <li>java Loading forbidden: the JVM forbids to link, which the provider notices before it tries
 *   <li>java Loading loaders JAR JNI (or FFM): two class loaders have one each, which calls C so;
 *       one with a damaged library steps aside; all can be unloaded
 * </ul>
 */
final class Loading {
    private Loading() {}

    public static void main(String[] arguments) throws Exception {
        switch (arguments[0]) {
            case "active":
                active(arguments[1]);
                break;
            case "inactive":
                inactive(arguments[1]);
                break;
            case "unlinked":
                unlinked();
                break;
            case "forbidden":
                forbidden();
                break;
            default:
                loaders(Path.of(arguments[1]).toUri().toURL(), arguments[2]);
        }
        System.out.println("ok: " + String.join(" ", arguments));
    }

    private static void active(String calls) throws Exception {
        Provider first = Security.getProviders()[0];
        Test.check(first.getName().equals(TenroundsProvider.NAME), first + " comes first");
        Test.check(TenroundsProvider.reason().isEmpty(), first.getInfo());
        Test.check(Cipher.getInstance("AES/GCM/NoPadding").getProvider() == first, "GCM");
        Test.check(Cipher.getInstance("AES/CFB/NoPadding").getProvider() == first, "CFB");
        Test.check(Cipher.getInstance("AES/CBC/PKCS5Padding").getProvider() == first
                == calls.equals("FFM"), "CBC");
        // What we lack comes from SunJCE.
        Test.check(!Cipher.getInstance("AES/CTS/NoPadding").getProvider().equals(first), "CTS");
        // Not in a module, which opens nothing to tests.
        if (!first.getClass().getModule().isNamed()) {
            encryptUntil(calls, first, callsOf(first.getClass().getClassLoader()));
        }
    }

    /** Returns the calls of the provider that this class loader has loaded. */
    private static Object callsOf(ClassLoader loader) throws ReflectiveOperationException {
        Field field = Class.forName("org.tenrounds.Library", true, loader)
                .getDeclaredField("CALLS");
        field.setAccessible(true);
        return field.get(null);
    }

    /** A run that hangs here has not changed to these calls. */
    private static void encryptUntil(String wanted, Provider provider, Object calls)
            throws Exception {
        do {
            encrypt(provider);
        } while (!calls.toString().equals(wanted));
    }

    private static void inactive(String text) throws Exception {
        Provider ours = new TenroundsProvider();
        String reason = TenroundsProvider.reason().orElse("none");
        Test.check(reason.contains(text), "the reason is: " + reason);
        Test.check(ours.getInfo().contains(text), ours.getInfo());
        Test.check(ours.getServices().isEmpty(), ours.getServices());
        Security.insertProviderAt(ours, 1);
        Cipher cipher = Cipher.getInstance("AES/GCM/NoPadding");
        Test.check(cipher.getProvider().getName().equals("SunJCE"), cipher.getProvider());
        encrypt(cipher.getProvider());
    }

    private static void unlinked() throws Exception {
        AtomicReference<Throwable> uncaught = new AtomicReference<>();
        Thread.setDefaultUncaughtExceptionHandler((thread, e) -> uncaught.set(e));
        Provider first = Test.ours();
        Test.check(hasCtr(first), "no CTR before linking");
        // A run that hangs here has not tried to link.
        do {
            encrypt(first);
        } while (uncaught.get() == null && hasCtr(Test.ours()));
        Thread.setDefaultUncaughtExceptionHandler(null);
        Test.check(uncaught.get() == null, uncaught.get());
        encrypt(first);
        Object calls = callsOf(first.getClass().getClassLoader());
        Test.check(calls.toString().equals("JNI"), calls);
    }

    /** In JDK 22 and 23, a JVM may forbid that alone; later ones forbid loading as well. */
    private static void forbidden() throws ReflectiveOperationException {
        Method calls = Class.forName("org.tenrounds.Linking").getDeclaredMethod("calls");
        Method isFast = Class.forName("org.tenrounds.Calls").getDeclaredMethod("isFast");
        calls.setAccessible(true);
        isFast.setAccessible(true);
        Test.check(isFast.invoke(calls.invoke(null)).equals(false), "it may link");
    }

    private static boolean hasCtr(Provider provider) {
        return provider.getService("Cipher", "AES/CTR/NoPadding") != null;
    }

    private static void encrypt(Provider provider) throws Exception {
        Cipher cipher = Cipher.getInstance("AES/GCM/NoPadding", provider);
        cipher.init(Cipher.ENCRYPT_MODE, new SecretKeySpec(new byte[16], "AES"),
                new GCMParameterSpec(128, new byte[12]));
        // Test case 2 of the specification of GCM (McGrew and Viega, 2005).
        Test.checkEqual(cipher.doFinal(new byte[16]), HexFormat.of().parseHex(
                "0388dace60b6a392f328c2b971b2fe78ab6e47d42cec13bdf53a67b21257bddf"), "GCM");
    }

    /** A loader of the jar alone. It can damage the native library. */
    private static final class Loader extends URLClassLoader {
        private final boolean damages;

        Loader(URL jar, boolean damages) {
            super(new URL[] {jar}, ClassLoader.getPlatformClassLoader());
            this.damages = damages;
        }

        @Override
        public InputStream getResourceAsStream(String name) {
            InputStream in = super.getResourceAsStream(name);
            if (!damages || !name.endsWith(".so") || in == null) {
                return in;
            }
            try (in) {
                byte[] bytes = in.readAllBytes();
                bytes[bytes.length / 2] ^= 1;
                return new ByteArrayInputStream(bytes);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        Provider provider() throws ReflectiveOperationException {
            return (Provider) loadClass(TenroundsProvider.class.getName()).getConstructor()
                    .newInstance();
        }
    }

    private static void loaders(URL jar, String calls) throws Exception {
        WeakReference<?>[] loaders =
                {use(jar, false, calls), use(jar, false, calls), use(jar, true, calls)};
        for (WeakReference<?> loader : loaders) {
            while (loader.get() != null) { // a run that hangs here has found a leak
                System.gc();
                Thread.sleep(10);
            }
        }
    }

    private static WeakReference<Loader> use(URL jar, boolean damages, String calls)
            throws Exception {
        try (Loader loader = new Loader(jar, damages)) {
            Provider provider = loader.provider();
            Test.check(provider.getClass() != TenroundsProvider.class, "another class");
            if (damages) {
                Test.check(provider.getInfo().contains("CRC-32"), provider.getInfo());
                Test.check(provider.getServices().isEmpty(), provider.getServices());
            } else {
                encryptUntil(calls, provider, callsOf(loader));
                encrypt(provider);
            }
            return new WeakReference<>(loader);
        }
    }
}
