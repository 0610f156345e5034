// SPDX-License-Identifier: BSD-2-Clause
package org.tenrounds;

/** Chooses how Java calls C. A multi-release jar has another class of this name for JDK 22. */
final class Linking {
    private Linking() {}

    /** Returns the calls, once the library is loaded. */
    static Calls calls() {
        return new JniCalls();
    }
}
