// SPDX-License-Identifier: BSD-2-Clause
// A key server in the memory of each JVM, for Parquet: the master key is in the job's configuration.

import java.util.HexFormat;
import org.apache.parquet.crypto.keytools.LocalWrapKmsClient;

public class Keys extends LocalWrapKmsClient {
    @Override
    protected void initializeInternal() {
    }

    @Override
    protected byte[] getMasterKeyFromServer(String name) {
        return HexFormat.of().parseHex(hadoopConfiguration.get("example.keys." + name));
    }
}
