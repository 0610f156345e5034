# SPDX-License-Identifier: BSD-2-Clause
"""Runs the tests of the crate cryptoki, without PINs and stored objects (scripts/fetch).
EXCLUDED has those that cannot pass, each with its reason. For SoftHSM, some tests expect less than for kryoptic;
AS_SOFTHSM has those in which our module is like it.
"""

import os
import re

from harness_pkcs11 import ModuleConsumer, check

consumer = ModuleConsumer("cryptoki-suite", limit=300, needs={})
PAIRS = "it makes a pair of keys, and the module has only secret keys"
MESSAGES = "it uses the functions for messages of PKCS#11 3.0, which the module does not have"
DERIVATION = "it derives a key by a mechanism that the module does not have"
EXCLUDED = {
    "basic": {
        **dict.fromkeys((
            "derive_key", "encrypt_decrypt", "get_attribute_info_test", "get_attributes_test",
            "object_handle_new_from_raw", "rsa_pkcs_oaep_empty", "rsa_pkcs_oaep_with_data", "sign_verify",
            "sign_verify_eddsa", "sign_verify_eddsa_with_ed25519_schemes", "sign_verify_eddsa_with_ed448_schemes",
            "sign_verify_multipart", "sign_verify_multipart_already_initialized", "update_attributes_key",
            "wrap_and_unwrap_key", "wrap_and_unwrap_key_oaep"), PAIRS),
        **dict.fromkeys(("import_export", "ro_rw_session_test"), "it stores a public key"),
        **dict.fromkeys(("get_session_info_test", "login_feast", "set_pin_test"), "it logs in or sets a PIN"),
        **dict.fromkeys(("encrypt_decrypt_gcm_message_no_aad", "encrypt_decrypt_gcm_message_with_aad"), MESSAGES),
        **dict.fromkeys((
            "derive_key_concatenation_key_and_data", "derive_key_concatenation_two_keys", "derive_key_extract_from_key",
            "derive_key_sp800", "derive_key_xor_key_and_data", "ekdf_aes_cbc_encrypt_data",
            "kbkdf_additional_keys_counter_mode", "kbkdf_additional_keys_feedback_mode", "kbkdf_counter_mode",
            "kbkdf_feedback_mode",
            "kbkdf_invalid_data_params_counter_mode", "kbkdf_invalid_data_params_feedback_mode"), DERIVATION),
        **dict.fromkeys((
            "sign_verify_sha1_hmac", "sign_verify_sha224_hmac", "sign_verify_sha256_hmac", "sign_verify_sha384_hmac",
            "sign_verify_sha512_hmac"), "the module has no HMAC"),
        **dict.fromkeys((
            "sha256_digest", "sha256_digest_multipart", "sha256_digest_multipart_already_initialized",
            "sha256_digest_multipart_with_key"), "the module has no digests"),
        "generate_random_test": "the operating system's random numbers take no seed (CKR_RANDOM_SEED_NOT_SUPPORTED)",
        "unique_id": "it expects CKR_ATTRIBUTE_TYPE_INVALID for CKA_UNIQUE_ID in a template; ours is "
                     "CKR_ATTRIBUTE_READ_ONLY, as section 4.1 of the standard has it",
    },
    "wycheproof": {"aes_gcm_message_wycheproof": MESSAGES},
}
AS_SOFTHSM = {
    "get_info_test": "version 2.40",
    "get_slot_event": "no event, and not an error",
    "is_fn_supported_test": "no functions of 3.0",
}


def suite(folder, name, excluded, only=(), least=1):
    program = os.path.join(folder, name)
    listed = consumer.run("plain", [program, "--list", "--format", "terse"]).decode().splitlines()
    known = {line.removesuffix(": test") for line in listed}
    unknown = (set(excluded) | set(only)) - known
    check(not unknown, f"the suite has no such tests: {sorted(unknown)}")
    for test, why in excluded.items():
        consumer.say(f"excluded: {name}, {test}: {why}")
    words = [word for test in excluded for word in ("--skip", test)]
    said = consumer.run("ours", [program, "--exact", "--test-threads", "1", *words, *only], limit=200).decode()
    passed = re.search(r"^test result: ok. ([1-9]\d*) passed", said, re.M)
    check(passed, f"no test passed: {said}")
    return f"{passed[1]} tests passed, {consumer.demand_module(('gcm_seal', 'cbc_encrypt', 'ecb_encrypt'), least)}"


def as_softhsm(folder):
    consumer.environment["TEST_PRETEND_LIBRARY"] = "softhsm"
    return suite(folder, "basic", {}, AS_SOFTHSM, least=0)  # they encrypt nothing


folder = consumer.fetched("cryptoki-tests")
consumer.environment["TEST_PKCS11_MODULE"] = consumer.module
consumer.result("the tests of the crate cryptoki", suite, folder, "basic", {**EXCLUDED["basic"], **AS_SOFTHSM})
consumer.result("the tests of the crate cryptoki for AES-GCM, from Wycheproof", suite, folder, "wycheproof",
                EXCLUDED["wycheproof"])
consumer.result("the tests of the crate cryptoki that expect what SoftHSM has", as_softhsm, folder)
consumer.end()
