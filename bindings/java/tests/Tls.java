// SPDX-License-Identifier: BSD-2-Clause

import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import java.io.DataInputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
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
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLServerSocket;
import javax.net.ssl.SSLSession;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManagerFactory;

/**
 * TLS of the JDK with the provider, by sockets and by HTTPS: java Tls STORE. The PKCS#12 store has
 * a key, its certificate and the password "password".
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
            counted("sockets", Tls::exchange, tls, suite);
            counted("HTTPS", Tls::request, tls, suite);
        }
    }

    private interface Way {
        void send(SSLContext tls, String version, String suite, byte[] data) throws Exception;
    }

    /** Both sides read and write with our ciphers. */
    private static void counted(String name, Way way, SSLContext tls, String[] suite)
            throws Exception {
        String what = name + " with " + suite[0] + " " + suite[1];
        byte[] data = new byte[300_000];
        new Random(1).nextBytes(data);
        int before = CIPHERS.get();
        way.send(tls, suite[0], suite[1], data);
        Test.check(CIPHERS.get() >= before + 4, what + " do not use our ciphers");
        System.out.println("ok: " + what);
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

    /** The JDK's web server returns what the JDK's web client sends. */
    private static void request(SSLContext tls, String version, String suite, byte[] data)
            throws Exception {
        InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        HttpsServer server = HttpsServer.create(any, 0);
        server.setHttpsConfigurator(new HttpsConfigurator(tls));
        server.createContext("/", exchange -> {
            byte[] got = exchange.getRequestBody().readAllBytes();
            exchange.sendResponseHeaders(200, got.length);
            try (OutputStream out = exchange.getResponseBody()) {
                out.write(got);
            }
        });
        server.start();
        try {
            HttpClient client = HttpClient.newBuilder().sslContext(tls).sslParameters(
                    new SSLParameters(new String[] {suite}, new String[] {version})).build();
            URI uri = URI.create("https://localhost:" + server.getAddress().getPort());
            HttpResponse<byte[]> response = client.send(
                    HttpRequest.newBuilder(uri).POST(BodyPublishers.ofByteArray(data)).build(),
                    BodyHandlers.ofByteArray());
            Test.checkEqual(response.body(), data, suite);
            SSLSession session = response.sslSession().orElseThrow();
            Test.check(session.getProtocol().equals(version), session.getProtocol());
            Test.check(session.getCipherSuite().equals(suite), session.getCipherSuite());
        } finally {
            server.stop(0);
        }
    }

    /** The server returns what the client sends. */
    private static void exchange(SSLContext tls, String version, String suite, byte[] data)
            throws Exception {
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
