// SPDX-License-Identifier: BSD-2-Clause
package org.tenrounds;

/** Chooses how Java calls C, from JDK 22 on. */
final class Linking {
    private Linking() {}

    /** Returns the calls, once the library is loaded. */
    static Calls calls() {
        return new ForeignCalls();
    }
}
