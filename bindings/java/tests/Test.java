// SPDX-License-Identifier: BSD-2-Clause

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Collectors;
import org.tenrounds.TenroundsProvider;

/** What the tests share. */
final class Test {
    private Test() {}

    /** Returns our provider, which must be active. */
    static TenroundsProvider ours() {
        TenroundsProvider provider = new TenroundsProvider();
        check(TenroundsProvider.reason().isEmpty(), provider.getInfo());
        return provider;
    }

    static void check(boolean holds, Object what) {
        if (!holds) {
            throw new AssertionError(what);
        }
    }

    static void checkEqual(byte[] got, byte[] wanted, Object what) {
        check(Arrays.equals(got, wanted), what + ": got " + hex(got) + ", wanted " + hex(wanted));
    }

    static String hex(byte[] bytes) {
        return bytes == null ? "null" : bytes.length > 300 ? bytes.length + " bytes"
                : HexFormat.of().formatHex(bytes);
    }

    /** A case of a file in tests/vectors, whose README.md has the form of a line. */
    record Vector(String name, boolean valid, byte[] key, byte[] iv, byte[] aad, byte[] text,
            byte[] sealed, byte[] tag) {
        byte[] sealedAndTag() {
            byte[] all = Arrays.copyOf(sealed, sealed.length + tag.length);
            System.arraycopy(tag, 0, all, sealed.length, tag.length);
            return all;
        }
    }

    static List<Vector> vectors(Path folder, String file) throws java.io.IOException {
        return Files.readAllLines(folder.resolve(file)).stream().filter(l -> !l.startsWith("#"))
                .map(line -> {
                    String[] f = line.split(" ");
                    return new Vector(file + " " + f[0], f[1].equals("valid"), bytes(f[2]),
                            bytes(f[3]), bytes(f[4]), bytes(f[5]), bytes(f[6]), bytes(f[7]));
                }).collect(Collectors.toList());
    }

    private static byte[] bytes(String field) {
        return field.equals("-") ? new byte[0] : HexFormat.of().parseHex(field);
    }
}
