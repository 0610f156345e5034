// SPDX-License-Identifier: BSD-2-Clause
package org.tenrounds;

import java.security.Security;

/**
 * Makes the provider the first one before a program begins, without a change of the program:
 *
 * <pre>{@code java -javaagent:tenrounds.jar -jar PROGRAM.jar}</pre>
 */
public final class Agent {
    private Agent() {}

    /** The JVM calls this method before main(). */
    public static void premain(String arguments) {
        Security.insertProviderAt(new TenroundsProvider(), 1);
    }
}
