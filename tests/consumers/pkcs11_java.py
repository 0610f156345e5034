# SPDX-License-Identifier: BSD-2-Clause
"""Tests Java's SunPKCS11 over the module: it computes what SunJCE does, and each opens what the
other sealed. An HTTPS server and its client use it under 'tenrounds run --java', without a change of
their code. A KeyStore lists and uses a key of a token."""

import json
import os

from harness_pkcs11 import KEY, MESSAGE, NONCE, TokenConsumer, check

consumer = TokenConsumer("java", limit=200, needs={"java": "openjdk-17-jdk-headless", "javac": "openjdk-17-jdk-headless"})
PROGRAM = """
import java.nio.file.*;
import java.security.*;
import java.util.*;
import javax.crypto.*;
import javax.crypto.spec.*;

public class Peers {
    static byte[] run(Provider provider, int mode, String name, byte[] key, byte[] iv, byte[] in) throws Exception {
        Cipher cipher = Cipher.getInstance(name, provider);
        boolean gcm = name.contains("/GCM/");
        cipher.init(mode, new SecretKeySpec(key, "AES"),
            name.contains("/ECB/") ? null : gcm ? new GCMParameterSpec(128, iv) : new IvParameterSpec(iv));
        if (gcm)
            cipher.updateAAD("header".getBytes());
        return cipher.doFinal(in);
    }

    public static void main(String[] words) throws Exception {
        Provider ours = Security.getProvider("SunPKCS11").configure(words[0]), java = Security.getProvider("SunJCE");
        String name = words[1];
        byte[] key = HexFormat.of().parseHex(words[2]), iv = HexFormat.of().parseHex(words[3]);
        byte[] in = Files.readAllBytes(Path.of("message"));
        in = Arrays.copyOf(in, in.length / 16 * 16);
        byte[] sealed = run(ours, Cipher.ENCRYPT_MODE, name, key, iv, in);
        if (!Arrays.equals(sealed, run(java, Cipher.ENCRYPT_MODE, name, key, iv, in)))
            throw new Exception("SunJCE encrypts to something else");
        if (!Arrays.equals(in, run(ours, Cipher.DECRYPT_MODE, name, key, iv, sealed)))
            throw new Exception("decryption does not give the message back");
        if (name.contains("/GCM/")) {
            sealed[5] ^= 1;
            try {
                run(ours, Cipher.DECRYPT_MODE, name, key, iv, sealed);
                throw new Exception("a wrong tag was taken");
            } catch (AEADBadTagException expected) {
            }
            sealed[5] ^= 1;
        }
        Files.write(Path.of("sealed"), sealed);
        System.out.println(ours.getName() + " " + ours.getService("Cipher", name.split("/")[0] + "/" + name.split("/")[1] + "/" + name.split("/")[2]));
    }
}
"""


def both(name, bits):
    """Equal to SunJCE's output, and in the unauthenticated modes to openssl's."""
    iv = NONCE if "GCM" in name else KEY[:16]
    said = consumer.run("plain", ["java", "-Xshare:auto", "-cp", ".", "Peers", "ours.cfg", name, KEY[:bits // 8].hex(),
                                  iv.hex()], limit=100).decode()
    check(said.startswith("SunPKCS11-tenrounds "), said)
    mode = name.split("/")[1].lower()
    if mode in ("cbc", "ctr"):
        expected = consumer.openssl(f"aes-{bits}-{mode}", KEY[:bits // 8], MESSAGE[:len(MESSAGE) // 16 * 16], iv)
        check(consumer.read("sealed") == expected, "openssl encrypts to something else")


def counted():
    words = ["java", "-Xshare:auto", "-cp", ".", "Peers", "ours.cfg", "AES/GCM/NoPadding", KEY[:16].hex(), NONCE.hex()]
    return consumer.counted(words, ("gcm_seal", "gcm_encrypt"), len(MESSAGE) // 16 * 16, limit=100)


# Java takes its ciphers from whatever provider is first. No line names tenrounds.
HTTPS = """
import com.sun.net.httpserver.*;
import java.io.*;
import java.net.*;
import java.security.*;
import javax.crypto.*;
import javax.net.ssl.*;

public class Https {
    public static void main(String[] words) throws Exception {
        KeyStore store = KeyStore.getInstance(new File("server.p12"), "changeit".toCharArray());
        KeyManagerFactory keys = KeyManagerFactory.getInstance("PKIX");
        keys.init(store, "changeit".toCharArray());
        TrustManagerFactory trust = TrustManagerFactory.getInstance("PKIX");
        trust.init(store);
        SSLContext context = SSLContext.getInstance(words[0]);
        context.init(keys.getKeyManagers(), trust.getTrustManagers(), null);
        HttpsServer server = HttpsServer.create(new InetSocketAddress("localhost", 0), 0);
        server.setHttpsConfigurator(new HttpsConfigurator(context));
        byte[] body = new byte[1 << 20];
        server.createContext("/", exchange -> {
            exchange.sendResponseHeaders(200, body.length);
            try (OutputStream out = exchange.getResponseBody()) {
                out.write(body);
            }
        });
        server.start();
        URL url = new URL("https://localhost:" + server.getAddress().getPort() + "/");
        HttpsURLConnection client = (HttpsURLConnection) url.openConnection();
        client.setSSLSocketFactory(context.getSocketFactory());
        int received = client.getInputStream().readAllBytes().length;
        System.out.println(client.getCipherSuite() + " " + received + " " + new SecureRandom().getProvider().getName()
            + " " + Mac.getInstance("HmacSHA256").getProvider().getName());
        server.stop(0);
    }
}
"""
STORE = """
import java.security.*;
import java.util.*;
import javax.crypto.*;

public class Store {
    public static void main(String[] words) throws Exception {
        Provider token = Security.getProvider("SunPKCS11").configure("token.cfg");
        KeyStore store = KeyStore.getInstance("PKCS11", token);
        store.load(null, "1234".toCharArray());
        Key key = store.getKey("backup", null);
        Cipher cipher = Cipher.getInstance("AES/ECB/NoPadding", token);
        cipher.init(Cipher.ENCRYPT_MODE, key);
        String sealed = HexFormat.of().formatHex(cipher.doFinal(new byte[16]));
        KeyGenerator generator = KeyGenerator.getInstance("AES", token);
        generator.init(256);
        store.setEntry("made", new KeyStore.SecretKeyEntry(generator.generateKey()), null);
        System.out.println(new TreeSet<>(Collections.list(store.aliases())) + " " + key.getEncoded() + " " + sealed);
    }
}
"""


def tool(*words, **how):
    return consumer.run("plain", [os.path.join(consumer.dist, "bin", "tenrounds"), *words], **how)


def https(protocol):
    """Both ends in one JVM, so that each byte is sealed once and opened once."""
    said = tool("run", "--java", "--count=counts", "--", "java", "-Xshare:auto", "-cp", ".", "Https", protocol,
                limit=100).decode()
    check("GCM" in said and f" {1 << 20} " in said, said)
    check("PKCS11" not in said, f"random numbers or HMAC are not Java's own: {said}")
    lines = json.loads(consumer.read("counts"))["run"]["executed"]
    for operation in ("gcm_seal", "gcm_open"):
        count = sum(line["bytes"] for line in lines if (line["host"], line["operation"]) == ("pkcs11", operation))
        check(count >= 1 << 20, f"{operation} of the module had {count} bytes")
    return said.split()[0]


def keystore():
    """A key that the tool stored, and one that Java stores."""
    pins = []
    for name, pin in (("pin", b"1234"), ("so-pin", b"officer")):
        consumer.write(name, pin)
        os.chmod(consumer.path(name), 0o600)
        pins += [f"--{name}-file", consumer.path(name)]
    token = ["--token", consumer.path("token"), "--pin-file", consumer.path("pin")]
    tool("token", "init", "--token", consumer.path("token"), *pins)
    tool("token", "import", "--label", "backup", *token, "-", input=KEY)
    consumer.write("token.cfg", f"name = mine\nlibrary = {consumer.module}\nslotListIndex = 1\n")
    said = consumer.run("plain", ["env", f"TENROUNDS_TOKEN={consumer.path('token')}", "java", "-cp", ".", "Store"],
                        limit=100).decode()
    sealed = consumer.openssl("aes-256-ecb", KEY, bytes(16)).hex()
    check(said.split() == ["[backup,", "made]", "null", sealed], said)
    listed = json.loads(tool("token", "list", "--json", *token))["token"]["objects"]
    check([key["label"] for key in listed] == ["backup", "made"], f"the tool lists {listed}")


consumer.write("Peers.java", PROGRAM)
consumer.write("Https.java", HTTPS)
consumer.write("Store.java", STORE)
consumer.write("ours.cfg", f"name = tenrounds\nlibrary = {consumer.module}\nslot = 0\n")
consumer.run("plain", ["javac", "-nowarn", "Peers.java", "Https.java", "Store.java"], limit=100)
consumer.run("plain", ["keytool", "-genkeypair", "-alias", "server", "-keyalg", "EC", "-dname", "CN=localhost", "-ext",
                       "san=dns:localhost", "-keystore", "server.p12", "-storepass", "changeit"], limit=100)
for name, bits in (("AES/GCM/NoPadding", 128), ("AES/GCM/NoPadding", 256), ("AES/CBC/NoPadding", 256),
                   ("AES/CTR/NoPadding", 128)):
    consumer.result(f"SunPKCS11, {name}, {bits} bits", both, name, bits)
consumer.result("the module counts what Java encrypts", counted)
for protocol in ("TLSv1.3", "TLSv1.2"):
    consumer.result(f"HTTPS server and client under 'tenrounds run --java', {protocol}", https, protocol)
consumer.result("a KeyStore lists and uses the keys of a token", keystore)
consumer.end()
