// SPDX-License-Identifier: BSD-2-Clause
package org.tenrounds;

import java.security.NoSuchAlgorithmException;
import java.security.Provider;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.IntFunction;
import java.util.function.Supplier;

/**
 * A security provider with AES over the core of tenrounds.
 *
 * <pre>{@code Security.insertProviderAt(new TenroundsProvider(), 1);}</pre>
 *
 * <p>It has no algorithm where the core would not help: without AES instructions, if TENROUNDS_MASK
 * masks them, on other systems, or if a known-answer test fails. Other providers serve then.
 */
public final class TenroundsProvider extends Provider {
    private static final long serialVersionUID = 1;

    /** The name of the provider, as for Security.getProvider() and java.security. */
    public static final String NAME = "tenrounds";

    /** The modes that SunJCE has for keys of one length, too. */
    private static final List<String> OF_ONE_LENGTH =
            List.of("GCM", "KW", "KWP", "CBC", "CFB", "OFB");

    /** Makes the provider. The first one in a process loads the native library. */
    public TenroundsProvider() {
        super(NAME, Library.VERSION, reason().map(why -> "inactive: " + why)
                .orElse("AES over the core of tenrounds"));
        if (reason().isEmpty()) {
            put("GCM", "NoPadding", GcmCipher::new);
            put("KW", "NoPadding", keys -> new KeyWrapCipher(false, keys));
            put("KWP", "NoPadding", keys -> new KeyWrapCipher(true, keys));
            put("CCM", "NoPadding", keys -> new AeadCipher(false));
            put("GCM-SIV", "NoPadding", keys -> new AeadCipher(true));
            put("XTS", "NoPadding", keys -> new XtsCipher());
            putService(new AesService(this, "Mac", "AESCMAC", List.of("AES-CMAC"),
                    () -> new AesMac(false)));
            putService(new AesService(this, "Mac", "AESGMAC", List.of("AES-GMAC"),
                    () -> new AesMac(true)));
            putBlockCiphers();
        } else {
            tell(reason().get());
        }
    }

    /** Says why it is inactive, if -Djava.security.debug=jca asks how providers are loaded. */
    private static void tell(String why) {
        try {
            if (System.getProperty("java.security.debug", "").contains("jca")) {
                System.err.println(NAME + " is inactive: " + why);
            }
        } catch (SecurityException e) {
            // A security manager keeps the property to itself.
        }
    }

    /** Where CTR and CBC would be slower than in SunJCE, they stay with it. So does ECB. */
    private void putBlockCiphers() {
        for (BlockCipher.Mode mode : BlockCipher.Mode.values()) {
            boolean gains = mode == BlockCipher.Mode.CFB || mode == BlockCipher.Mode.OFB;
            if (!gains && !Library.CALLS.isFast()) {
                continue;
            }
            put(mode.name(), "NoPadding", keys -> new BlockCipher(mode, false, keys));
            if (mode != BlockCipher.Mode.CTR) {
                put(mode.name(), "PKCS5Padding", keys -> new BlockCipher(mode, true, keys));
            }
        }
    }

    /** Returns why the provider has no algorithms here; empty if it has them. */
    public static Optional<String> reason() {
        return Optional.ofNullable(Library.PROBLEM);
    }

    private void put(String mode, String padding, IntFunction<Object> maker) {
        String transformation = "/" + mode + "/" + padding;
        List<String> aliases = mode.equals("CFB") || mode.equals("OFB")
                ? List.of("AES/" + mode + "128/" + padding) : List.of();
        putService(new AesService(this, "Cipher", "AES" + transformation, aliases,
                () -> maker.apply(0)));
        if (padding.equals("NoPadding") && OF_ONE_LENGTH.contains(mode)) {
            for (int bits : new int[] {128, 192, 256}) {
                putService(new AesService(this, "Cipher", "AES_" + bits + transformation,
                        List.of(), () -> maker.apply(bits / 8)));
            }
        }
    }

    /** A cipher or MAC without reflection. */
    private static final class AesService extends Service {
        private static final Map<String, String> ATTRIBUTES = Map.of("SupportedKeyFormats", "RAW");
        private final Supplier<Object> maker;

        AesService(Provider provider, String type, String algorithm, List<String> aliases,
                Supplier<Object> maker) {
            super(provider, type, algorithm, type.equals("Mac") ? AesMac.class.getName()
                    : GcmCipher.class.getName(), aliases, ATTRIBUTES);
            this.maker = maker;
        }

        @Override
        public Object newInstance(Object parameter) throws NoSuchAlgorithmException {
            return maker.get();
        }
    }
}
