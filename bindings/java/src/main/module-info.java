// SPDX-License-Identifier: BSD-2-Clause

/** AES for the Java Cryptography Architecture, over the core of tenrounds. */
module org.tenrounds {
    exports org.tenrounds;

    provides java.security.Provider with org.tenrounds.TenroundsProvider;
}
