// SPDX-License-Identifier: BSD-2-Clause

import java.io.DataInputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.NoSuchAlgorithmException;
import java.security.Provider;
import java.security.Security;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLServerSocket;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManagerFactory;

/**
 * TLS of the JDK with the provider: java Tls STORE. The PKCS#12 store has a key, its certificate and
 * the password "password".
 */
final class Tls {
    private static final String[][] SUITES = {
        {"TLSv1.3", "TLS_AES_128_GCM_SHA256"},
        {"TLSv1.3", "TLS_AES_256_GCM_SHA384"},
        {"TLSv1.2", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"},
        {"TLSv1.2", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"},
        {"TLSv1.2", "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256"},
    };

    private static final AtomicInteger CIPHERS = new AtomicInteger();

    private Tls() {}

    public static void main(String[] arguments) throws Exception {
        Security.insertProviderAt(new Counting(), 1);
        SSLContext tls = context(Path.of(arguments[0]));
        for (String[] suite : SUITES) {
            boolean gcm = suite[1].contains("GCM");
            if (!gcm && Test.ours().getService("Cipher", "AES/CBC/NoPadding") == null) {
                continue; // with JNI alone, the provider has no more than GCM
            }
            int before = CIPHERS.get();
            exchange(tls, suite[0], suite[1]);
            Test.check(CIPHERS.get() >= before + 4, suite[1] + " does not use our ciphers");
            System.out.println("ok: " + suite[0] + " " + suite[1]);
        }
    }

    /** Has our ciphers, and counts them. */
    private static final class Counting extends Provider {
        private static final long serialVersionUID = 1;

        Counting() {
            super("counting", "1", "counts ciphers");
            for (Service service : Test.ours().getServices()) {
                putService(new Service(this, service.getType(), service.getAlgorithm(),
                        service.getClassName(), null, null) {
                    @Override
                    public Object newInstance(Object parameter) throws NoSuchAlgorithmException {
                        CIPHERS.incrementAndGet();
                        return service.newInstance(parameter);
                    }
                });
            }
        }
    }

    private static SSLContext context(Path file) throws Exception {
        char[] password = "password".toCharArray();
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(Files.newInputStream(file), password);
        KeyManagerFactory keys = KeyManagerFactory.getInstance("SunX509");
        keys.init(store, password);
        KeyStore trusted = KeyStore.getInstance("PKCS12");
        trusted.load(null, null);
        trusted.setCertificateEntry("server", store.getCertificate("server"));
        TrustManagerFactory trust = TrustManagerFactory.getInstance("PKIX");
        trust.init(trusted);
        SSLContext tls = SSLContext.getInstance("TLS");
        tls.init(keys.getKeyManagers(), trust.getTrustManagers(), null);
        return tls;
    }

    /** The server returns what the client sends. */
    private static void exchange(SSLContext tls, String version, String suite) throws Exception {
        byte[] data = new byte[300_000];
        new Random(1).nextBytes(data);
        try (SSLServerSocket server =
                (SSLServerSocket) tls.getServerSocketFactory().createServerSocket(0)) {
            Thread echo = new Thread(() -> {
                try (SSLSocket socket = (SSLSocket) server.accept()) {
                    byte[] got = new byte[data.length];
                    new DataInputStream(socket.getInputStream()).readFully(got);
                    socket.getOutputStream().write(got);
                } catch (Exception e) {
                    e.printStackTrace(); // the client fails, too
                }
            });
            echo.start();
            try (SSLSocket socket = (SSLSocket) tls.getSocketFactory()
                    .createSocket("localhost", server.getLocalPort())) {
                socket.setEnabledProtocols(new String[] {version});
                socket.setEnabledCipherSuites(new String[] {suite});
                OutputStream out = socket.getOutputStream();
                for (int at = 0, n; at < data.length; at += n) {
                    n = Math.min(data.length - at, 1 + at % 20_000);
                    out.write(data, at, n);
                }
                byte[] got = new byte[data.length];
                new DataInputStream(socket.getInputStream()).readFully(got);
                Test.checkEqual(got, data, suite);
                Test.check(socket.getSession().getCipherSuite().equals(suite), suite);
            }
            echo.join();
        }
    }
}
