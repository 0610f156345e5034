# SPDX-License-Identifier: BSD-2-Clause
"""Tests Java's SunPKCS11 over the module: it computes what SunJCE does, and each opens what the
other sealed."""

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


consumer.write("Peers.java", PROGRAM)
consumer.write("ours.cfg", f"name = tenrounds\nlibrary = {consumer.module}\nslot = 0\n")
consumer.run("plain", ["javac", "Peers.java"], limit=100)
for name, bits in (("AES/GCM/NoPadding", 128), ("AES/GCM/NoPadding", 256), ("AES/CBC/NoPadding", 256),
                   ("AES/CTR/NoPadding", 128)):
    consumer.result(f"SunPKCS11, {name}, {bits} bits", both, name, bits)
consumer.result("the module counts what Java encrypts", counted)
consumer.end()
