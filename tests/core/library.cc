// SPDX-License-Identifier: BSD-2-Clause
// The shared library from C++: FIPS-197 appendix C.1, by way of a copied struct tr_cipher. The
// library and its header have one version.
#include "tenrounds.h"

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>

int main()
{
    const std::array<std::uint8_t, 16> expected = {0x69, 0xc4, 0xe0, 0xd8, 0x6a, 0x7b, 0x04, 0x30,
                                                   0xd8, 0xcd, 0xb7, 0x80, 0x70, 0xb4, 0xc5, 0x5a};
    std::array<std::uint8_t, 16> key, block, out;
    for (std::uint8_t i = 0; i < 16; i++) {
        key[i] = i;
        block[i] = static_cast<std::uint8_t>(i * 0x11);
    }
    tr_aes_key aes = {};
    tr_cipher cipher = {};
    std::size_t len = 0;
    if (tr_aes_set_key(&aes, nullptr, key.data(), key.size()) != TR_OK ||
        tr_cipher_start(&cipher, &aes, TR_ECB, 0, 0, nullptr) != TR_OK)
        return 1;
    tr_cipher copy = cipher;
    const tr_status status = tr_cipher_update(&copy, out.data(), &len, block.data(), block.size());
    tr_cleanse(&cipher, sizeof(cipher));
    tr_cleanse(&aes, sizeof(aes));
    std::printf("# %s: %s\n", tr_version(), tr_strerror(status));
    const bool same_version = std::strcmp(tr_version(), TR_VERSION_STRING) == 0;
    return status == TR_OK && len == 16 && out == expected && same_version ? 0 : 1;
}
