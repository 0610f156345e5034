// SPDX-License-Identifier: BSD-2-Clause
package org.tenrounds;

import java.lang.annotation.Native;
import java.nio.ByteBuffer;

/**
 * The calls into C. Two classes implement them: JniCalls, and ForeignCalls from JDK 22 on.
 *
 * <p>The compiler writes the constants into a C header, so that both sides have the same values.
 */
abstract class Calls {
    // What start() returns.
    @Native static final int READY = 0;
    @Native static final int SELF_TEST_FAILED = 1;
    @Native static final int MASKED = 2;
    @Native static final int NO_INSTRUCTIONS = 3;

    // The one error of call() that Java distinguishes: TR_ERR_TAG.
    @Native static final int TAG_MISMATCH = 9;

    /** The most bytes of a short call: see {@link Context#callShort}. */
    @Native static final int SHORT = 512;

    // The operations of call().
    @Native static final int WIPE = 0;
    @Native static final int COPY = 1;
    @Native static final int GCM_KEY = 2;
    @Native static final int GCM_SEAL = 3;
    @Native static final int GCM_OPEN = 4;
    @Native static final int GCM_START = 5;
    @Native static final int GCM_AAD = 6;
    @Native static final int GCM_ENCRYPT = 7;
    @Native static final int GCM_DECRYPT = 8;
    @Native static final int GCM_TAG = 9;
    @Native static final int GCM_CHECK = 10;
    @Native static final int AES_KEY = 11;
    @Native static final int CBC_ENCRYPT = 12;
    @Native static final int CBC_DECRYPT = 13;
    @Native static final int CFB_ENCRYPT = 14;
    @Native static final int CFB_DECRYPT = 15;
    @Native static final int OFB = 16;
    @Native static final int CTR = 17;
    @Native static final int AES_IV = 18;
    @Native static final int CMAC_KEY = 19;
    @Native static final int CMAC_SIGN = 20;
    @Native static final int CMAC_START = 21;
    @Native static final int CMAC_UPDATE = 22;
    @Native static final int CMAC_TAG = 23;
    @Native static final int KW_WRAP = 24;
    @Native static final int KW_UNWRAP = 25;
    @Native static final int KWP_WRAP = 26;
    @Native static final int KWP_UNWRAP = 27;
    @Native static final int CCM_KEY = 28;
    @Native static final int CCM_SEAL = 29;
    @Native static final int CCM_OPEN = 30;
    @Native static final int GCM_SIV_KEY = 31;
    @Native static final int GCM_SIV_SEAL = 32;
    @Native static final int GCM_SIV_OPEN = 33;
    @Native static final int XTS_KEY = 34;
    @Native static final int XTS_ENCRYPT = 35;
    @Native static final int XTS_DECRYPT = 36;
    @Native static final int GCM_SEAL_MANY = 37;
    @Native static final int GCM_OPEN_MANY = 38;

    /**
     * Runs an operation. The arrays may not be null. A position below zero is the inverted address
     * of a direct buffer, whose array is then ignored. A negative aadLength stands for so many
     * bytes of AAD directly before the input. The caller has checked all ranges.
     *
     * @return 0, or an error of the core
     */
    abstract int call(int operation, long context, byte[] iv, int ivLength, byte[] aad,
            int aadLength, byte[] in, long inAt, byte[] out, long outAt, int length, int tagLength);

    /** Whether a call that takes arrays costs so little that CTR and CBC are as fast as in SunJCE. */
    abstract boolean isFast();

    /** Whether the memory of a direct buffer is not freed before the buffer is unreachable. */
    abstract boolean staysAllocated(ByteBuffer buffer);

    /** Returns the address of a direct buffer's current position. */
    abstract long address(ByteBuffer buffer);
}
