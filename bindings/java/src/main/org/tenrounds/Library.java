// SPDX-License-Identifier: BSD-2-Clause
package org.tenrounds;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Properties;
import java.util.zip.CRC32;
import java.util.zip.Checksum;

/** Loads the native library from the jar, once for each class loader. */
final class Library {
    /** What the build says of the jar: its version, and the CRC-32 of each library. */
    private static final Properties BUILD = build();

    static final String VERSION = BUILD.getProperty("version", "0");

    /** Why the library cannot serve this process, or null if it does. */
    static final String PROBLEM;

    /** The calls into the library, or null if there is a problem. */
    static final Calls CALLS;

    static {
        Calls calls = null;
        String problem;
        try {
            problem = load();
            if (problem == null) {
                calls = Linking.calls();
            }
        } catch (IOException | RuntimeException | LinkageError e) {
            problem = "the native library cannot be loaded: " + e;
        }
        CALLS = calls;
        PROBLEM = problem;
    }

    private Library() {}

    private static Properties build() {
        Properties properties = new Properties();
        try (InputStream in = Library.class.getResourceAsStream("build.properties")) {
            properties.load(in);
        } catch (IOException | RuntimeException e) {
            properties.clear();
        }
        return properties;
    }

    /** Returns null, or why the library cannot serve. */
    private static String load() throws IOException {
        String name = System.getProperty("os.name") + "-" + System.getProperty("os.arch");
        name = name.toLowerCase(Locale.ROOT).replace("amd64", "x86_64") + ".so";
        try (InputStream in = Library.class.getResourceAsStream(name)) {
            if (in == null) {
                return "the jar has no native library for this system (" + name + ")";
            }
            loadCopy(in, BUILD.getProperty(name));
        }
        switch (JniCalls.start()) {
            case Calls.READY:
                return null;
            case Calls.MASKED:
                return "TENROUNDS_MASK masks the processor's AES instructions";
            case Calls.NO_INSTRUCTIONS:
                return "the processor has no AES instructions";
            default:
                return "a known-answer test failed";
        }
    }

    /** Loads a copy in a folder that only this user can enter, and deletes it at once. */
    private static void loadCopy(InputStream in, String checksum) throws IOException {
        Path folder = Files.createTempDirectory("tenrounds");
        Path file = folder.resolve("libtenrounds-java.so");
        try {
            byte[] library = in.readAllBytes();
            // Not SHA-256, which takes a new JVM 35 ms, and 25 ms over the compressed library. This
            // one finds damage, and no more is needed: an attacker who can change the jar can
            // change what it says of the library.
            Checksum crc = new CRC32();
            crc.update(library);
            if (crc.getValue() != Long.parseLong(checksum, 16)) {
                throw new IOException("its CRC-32 is not the one that the jar names");
            }
            Files.write(file, library);
            System.load(file.toString());
        } finally {
            Files.deleteIfExists(file);
            Files.delete(folder);
        }
    }
}
