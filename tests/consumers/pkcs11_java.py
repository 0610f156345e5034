# SPDX-License-Identifier: BSD-2-Clause
"""Tests Java's SunPKCS11 over the module, in each JDK below /usr/lib/jvm and in that of `java`: it
computes what SunJCE does, and each opens what the other sealed. An HTTPS server and its client use it
without a change of their code. As docs/pkcs11.md shows it, a KeyStore of SoftHSM keeps the master key
of data that the module encrypts. With --measure instead: the CPU seconds of a warm JVM for each GB, with SunJCE and with the
module."""

import glob
import os
import re
import subprocess

from harness_gains import MEASURING, JavaGain, Server
from harness_pkcs11 import KEY, MESSAGE, NONCE, PIN, ModuleConsumer, check

consumer = ModuleConsumer("java", limit=1500 if MEASURING else 400, needs={"java": "openjdk-17-jdk-headless", "javac": "openjdk-17-jdk-headless",
                                 "softhsm2-util": "softhsm2"})
WHOLE = len(MESSAGE) // 16 * 16
SIZE = 1 << 30  # the bytes of a measured load
# The operations in which the module does each mode; key wrap is ECB of single blocks.
OPERATIONS = {"GCM": ("gcm_seal", "gcm_open", "gcm_encrypt", "gcm_decrypt"), "CBC": ("cbc_encrypt", "cbc_decrypt"),
              "CTR": ("ctr",), "ECB": ("ecb_encrypt", "ecb_decrypt"), "KW": ("ecb_encrypt", "ecb_decrypt"),
              "KWP": ("ecb_encrypt", "ecb_decrypt")}
PROGRAM = """
import java.nio.file.*;
import java.security.*;
import java.security.spec.*;
import java.util.*;
import javax.crypto.*;
import javax.crypto.spec.*;

public class Peers {
    static String name, mode;
    static Key key;
    static byte[] iv;

    static Cipher cipher(Provider provider, int direction) throws Exception {
        Cipher cipher = Cipher.getInstance(name, provider);
        AlgorithmParameterSpec spec = mode.equals("GCM") ? new GCMParameterSpec(128, iv)
            : mode.equals("CBC") || mode.equals("CTR") ? new IvParameterSpec(iv) : null;
        cipher.init(direction, key, spec);
        if (mode.equals("GCM"))
            cipher.updateAAD("header".getBytes());
        return cipher;
    }

    static void same(byte[] a, byte[] b, String what) throws Exception {
        if (!Arrays.equals(a, b))
            throw new Exception(what);
    }

    static void messages(Provider ours, Provider java) throws Exception {
        byte[] in = Files.readAllBytes(Path.of("message"));
        // Padding is for messages that are no whole blocks.
        in = Arrays.copyOf(in, in.length / 16 * 16 + (name.endsWith("/PKCS5Padding") ? 7 : 0));
        byte[] sealed = cipher(ours, Cipher.ENCRYPT_MODE).doFinal(in);
        same(sealed, cipher(java, Cipher.ENCRYPT_MODE).doFinal(in), "SunJCE encrypts to something else");
        same(in, cipher(ours, Cipher.DECRYPT_MODE).doFinal(sealed), "decryption does not give the message back");
        if (mode.equals("GCM")) {
            byte[] wrong = sealed.clone();
            wrong[5] ^= 1;
            try {
                cipher(ours, Cipher.DECRYPT_MODE).doFinal(wrong);
                throw new Exception("a wrong tag was taken");
            } catch (AEADBadTagException expected) {
            }
        }
        Files.write(Path.of("sealed"), sealed);
    }

    static void keys(Provider ours, Provider java) throws Exception {
        for (int bits : new int[] {128, 192, 256}) {
            byte[] bytes = new byte[bits / 8];
            new Random(bits).nextBytes(bytes);
            Key inner = new SecretKeySpec(bytes, "AES");
            byte[] wrapped = cipher(ours, Cipher.WRAP_MODE).wrap(inner);
            same(wrapped, cipher(java, Cipher.WRAP_MODE).wrap(inner), "SunJCE wraps to something else");
            Key again = cipher(ours, Cipher.UNWRAP_MODE).unwrap(wrapped, "AES", Cipher.SECRET_KEY);
            same(bytes, again.getEncoded(), "unwrapping does not give the key back");
            wrapped[5] ^= 1;
            try {
                cipher(ours, Cipher.UNWRAP_MODE).unwrap(wrapped, "AES", Cipher.SECRET_KEY);
                throw new Exception("a changed key was unwrapped");
            } catch (InvalidKeyException expected) {
            }
        }
    }

    public static void main(String[] words) throws Exception {
        Provider ours = Security.getProvider("SunPKCS11").configure(words[0]), java = Security.getProvider("SunJCE");
        name = words[1];
        mode = name.split("/")[1];
        key = new SecretKeySpec(HexFormat.of().parseHex(words[2]), "AES");
        iv = HexFormat.of().parseHex(words[3]);
        try {
            Cipher.getInstance(name, ours);
        } catch (NoSuchAlgorithmException missing) {
            System.out.println(ours.getName() + " absent");
            return;
        }
        if (mode.startsWith("KW"))
            keys(ours, java);
        else
            messages(ours, java);
        System.out.println(ours.getName() + " done");
    }
}
"""


def java(jdk, *words, side="ours", **how):
    return consumer.run(side, [f"{jdk}/bin/java", "-Xshare:auto", "-cp", ".", *words], limit=100, **how).decode()


def both(jdk, name, bits):
    """Equal to SunJCE's output, and in the unauthenticated modes to openssl's."""
    mode, padding = name.split("/")[1:]
    iv = NONCE if mode == "GCM" else KEY[:16]
    said = java(jdk, "Peers", "ours.cfg", name, KEY[:bits // 8].hex(), iv.hex())
    if mode in ("KW", "KWP") and version(jdk) < 18:
        check(said == "SunPKCS11-tenrounds absent\n", said)
        return "not in SunPKCS11 of this JDK"
    check(said == "SunPKCS11-tenrounds done\n", said)
    if mode in ("CBC", "CTR", "ECB") and padding == "NoPadding":
        expected = consumer.openssl(f"aes-{bits}-{mode.lower()}", KEY[:bits // 8], MESSAGE[:WHOLE],
                                    iv if mode != "ECB" else None)
        check(consumer.read("sealed") == expected, "openssl encrypts to something else")
    return consumer.demand_module(OPERATIONS[mode], 1000 if mode in ("KW", "KWP") else 2 * WHOLE)


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
import java.nio.file.*;
import java.security.*;
import java.util.*;
import javax.crypto.*;
import javax.crypto.spec.*;

public class Store {
    static Provider provider(String file) {
        return Security.getProvider("SunPKCS11").configure(file);
    }

    public static void main(String[] words) throws Exception {
        Provider token = provider("token.cfg"), tenrounds = provider("ours.cfg");
        KeyStore store = KeyStore.getInstance("PKCS11", token);
        store.load(null, words[0].toCharArray());
        KeyGenerator generator = KeyGenerator.getInstance("AES", token);
        generator.init(256);
        store.setEntry("master", new KeyStore.SecretKeyEntry(generator.generateKey()), null);
        Key kept = store.getKey("master", null);
        byte[] data = HexFormat.of().parseHex(words[1]), iv = new byte[12];
        Cipher master = Cipher.getInstance("AES/GCM/NoPadding", token);
        master.init(Cipher.ENCRYPT_MODE, kept, new GCMParameterSpec(128, iv));
        byte[] sealed = master.doFinal(data);

        master.init(Cipher.DECRYPT_MODE, kept, new GCMParameterSpec(128, iv));
        SecretKey key = new SecretKeySpec(master.doFinal(sealed), "AES");
        Cipher cipher = Cipher.getInstance("AES/ECB/NoPadding", tenrounds);
        cipher.init(Cipher.ENCRYPT_MODE, key);
        byte[] in = Files.readAllBytes(Path.of("message"));
        Files.write(Path.of("sealed"), cipher.doFinal(Arrays.copyOf(in, in.length / 16 * 16)));
        store.deleteEntry("master");
        System.out.println(kept.getEncoded());
    }
}
"""
# No line names a provider. Many short messages first let the JVM compile its own AES.
BULK = """
import java.nio.ByteBuffer;
import java.security.spec.AlgorithmParameterSpec;
import java.util.Scanner;
import javax.crypto.*;
import javax.crypto.spec.*;

public class Bulk {
    static boolean gcm;
    static Cipher cipher;
    static SecretKey key = new SecretKeySpec(new byte[32], "AES");
    static byte[] in, out, iv;
    static long count;

    static void messages(int bytes, long size) throws Exception {
        for (long done = 0; done < size; done += bytes) {
            ByteBuffer.wrap(iv).putLong(++count);
            AlgorithmParameterSpec spec = gcm ? new GCMParameterSpec(128, iv) : new IvParameterSpec(iv);
            cipher.init(Cipher.ENCRYPT_MODE, key, spec);
            cipher.doFinal(in, 0, bytes, out, 0);
        }
    }

    public static void main(String[] words) throws Exception {
        gcm = words[0].equals("GCM");
        int bytes = Integer.parseInt(words[1]);
        cipher = Cipher.getInstance("AES/" + words[0] + "/NoPadding");
        in = new byte[bytes];
        out = new byte[bytes + 16];
        iv = new byte[gcm ? 12 : 16];
        for (int round = 0; round < 4; round++)
            for (int length = 1024; length <= bytes; length *= 4)
                messages(length, 1 << 27);
        System.out.println("ready");
        for (Scanner sizes = new Scanner(System.in); sizes.hasNextLong();) {
            messages(bytes, sizes.nextLong());
            System.out.println("done");
        }
    }
}
"""


def serve(side, mode, length):
    """A JVM that has compiled its AES."""
    process = consumer.start("java" if side == "ours" else side, ["java", "-cp", ".", "Bulk", mode, length],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    check(process.stdout.readline() == b"ready\n", "Java is not ready")
    return process, process


def messages(process):
    process.stdin.write(b"%d\n" % SIZE)
    process.stdin.flush()
    check(process.stdout.readline() == b"done\n", "Java is not done")
    return SIZE


def measure():
    consumer.write("Bulk.java", BULK)
    consumer.run("plain", ["javac", "--release", "17", "-nowarn", "Bulk.java"], limit=100)
    home = os.path.dirname(os.path.dirname(os.path.realpath(consumer.program["java"])))
    for mode in ("GCM", "CTR"):
        for label, length in (("64 KiB", 1 << 16), ("1 MiB", 1 << 20)):
            JavaGain(consumer, "Java", f"warm, Cipher, AES-256-{mode}, {label} messages", f"AES-256-{mode}",
                     f"openjdk-{version(home)}-jre-headless", call=length).result(
                Server(lambda side: serve(side, mode, length), messages))
    consumer.end()


def https(jdk, protocol):
    """Both ends in one JVM, so that each byte is sealed once and opened once."""
    said = java(jdk, "Https", protocol, side="java")
    check("GCM" in said and f" {1 << 20} " in said, said)
    check("PKCS11" not in said, f"random numbers or HMAC are not Java's own: {said}")
    for operation in ("gcm_seal", "gcm_open"):
        consumer.demand_module((operation,), 1 << 20)
    return said.split()[0]


def keystore(jdk):
    """A token's key opens the data key, with which the module encrypts."""
    said = java(jdk, "Store", PIN, KEY.hex())
    check(said.split() == ["null"], f"the master key can be read: {said}")
    check(consumer.read("sealed") == consumer.openssl("aes-256-ecb", KEY, MESSAGE[:WHOLE]),
          "openssl encrypts to something else")
    return consumer.demand_module(("ecb_encrypt",), WHOLE)


def version(jdk):
    """The number in the file `release` of a JDK: 17, or 8 for 1.8."""
    with open(f"{jdk}/release") as file:
        return int(re.search(r'^JAVA_VERSION="(?:1\.)?(\d+)', file.read(), re.M)[1])


def jdks():
    """Every JDK once, oldest first. Those before 17 cannot run the programs of this test."""
    found = glob.glob("/usr/lib/jvm/*/bin/java") + [consumer.program["java"]]
    homes = {os.path.dirname(os.path.dirname(os.path.realpath(file))) for file in found}
    homes = [home for home in homes if os.path.exists(f"{home}/release") and version(home) >= 17]
    return sorted(homes, key=lambda home: (version(home), home))


if MEASURING:
    measure()
consumer.write("Peers.java", PROGRAM)
consumer.write("Https.java", HTTPS)
consumer.write("Store.java", STORE)
consumer.write("ours.cfg", f"name = tenrounds\nlibrary = {consumer.module}\nslot = 0\n")
softhsm = consumer.library("softhsm/libsofthsm2.so", "softhsm2")
consumer.make_softhsm_token("keys")
consumer.write("token.cfg", f"name = keys\nlibrary = {softhsm}\nslotListIndex = 0\n")
consumer.run("plain", ["javac", "--release", "17", "-nowarn", "Peers.java", "Https.java", "Store.java"], limit=100)
consumer.run("plain", ["keytool", "-genkeypair", "-alias", "server", "-keyalg", "EC", "-dname", "CN=localhost", "-ext",
                       "san=dns:localhost", "-keystore", "server.p12", "-storepass", "changeit"], limit=100)
for jdk in jdks():
    java_n = f"Java {version(jdk)}"
    for name, bits in (("AES/GCM/NoPadding", 128), ("AES/GCM/NoPadding", 256), ("AES/CBC/NoPadding", 256),
                       ("AES/CBC/PKCS5Padding", 256), ("AES/CTR/NoPadding", 128), ("AES/ECB/NoPadding", 256),
                       ("AES/ECB/PKCS5Padding", 128), ("AES/KW/NoPadding", 256), ("AES/KW/PKCS5Padding", 256),
                       ("AES/KWP/NoPadding", 256)):
        consumer.result(f"{java_n}, SunPKCS11, {name}, {bits} bits", both, jdk, name, bits)
    for protocol in ("TLSv1.3", "TLSv1.2"):
        consumer.result(f"{java_n}, HTTPS server and client, {protocol}", https, jdk, protocol)
    consumer.result(f"{java_n}, a KeyStore of SoftHSM keeps the master key", keystore, jdk)
consumer.end()
