// SPDX-License-Identifier: BSD-2-Clause
//! The vectors of NIST, Wycheproof and RFCs (tests/vectors/README.md) through
//! Cryptoki: whole and in random pieces, in place and apart, with the exact room and with a byte
//! too little. A message that is not valid gives the standard's code and no byte of plaintext.
//!
//! Left out: Monte Carlo chains (the core's tests have them), CFB1, which Cryptoki lacks, and key
//! wrap with the inverse cipher, for which it has no mechanism.

// The seed is printed, and the arguments of ck! may be unsafe.
#![allow(clippy::disallowed_macros, clippy::macro_metavars_in_unsafe)]

mod support;

use cryptoki_sys::*;
use std::path::{Path, PathBuf};
use std::ptr::null_mut;
use support::{bytes_of, mechanism, result, Session, Way};

/// A line of a .txt file, or a record of an .rsp file.
struct Case {
    /// The file and the case in it, for messages.
    name: String,
    valid: bool,
    key: Vec<u8>,
    iv: Vec<u8>,
    aad: Vec<u8>,
    /// None: the source does not give it.
    plain: Option<Vec<u8>>,
    cipher: Vec<u8>,
    tag: Vec<u8>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/vectors")
}

fn hex(text: &str) -> Vec<u8> {
    assert!(text.len().is_multiple_of(2), "{text}");
    let pair = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).expect("hexadecimal");
    (0..text.len()).step_by(2).map(pair).collect()
}

/// "-" is empty.
fn field(text: &str) -> Vec<u8> {
    match text {
        "-" => Vec::new(),
        text => hex(text),
    }
}

/// The cases of a .txt file but those with the verdict `bits`, whose lengths are no whole bytes.
fn lines(file: &str) -> Vec<Case> {
    let text = std::fs::read_to_string(folder().join(file)).expect(file);
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let case = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let [id, verdict, key, iv, aad, plain, cipher, tag] = words[..] else {
            panic!("{file}: {line}");
        };
        (verdict != "bits").then(|| Case {
            name: format!("{file}, {id}"),
            valid: verdict == "valid",
            key: field(key),
            iv: field(iv),
            aad: field(aad),
            plain: (plain != "?").then(|| field(plain)),
            cipher: field(cipher),
            tag: field(tag),
        })
    };
    let cases: Vec<Case> = lines.filter_map(case).collect();
    assert!(cases.len() >= 3, "{file} has {} cases", cases.len());
    cases
}

/// The records of an .rsp file: all of them are valid.
fn records(file: &Path) -> Vec<Case> {
    let name = file.file_name().unwrap().to_string_lossy().into_owned();
    let text = std::fs::read_to_string(file).unwrap().replace('\r', "");
    let record = |part: &str| {
        let of = |key: &str| {
            let mut pairs = part.lines().filter_map(|line| line.split_once(" = "));
            pairs.find(|(name, _)| *name == key).map(|(_, value)| value)
        };
        Some(Case {
            name: format!("{name}, {}", of("COUNT")?),
            valid: true,
            key: hex(of("KEY")?),
            iv: of("IV").map(hex).unwrap_or_default(),
            aad: Vec::new(),
            plain: of("PLAINTEXT").map(hex),
            cipher: hex(of("CIPHERTEXT")?),
            tag: Vec::new(),
        })
    };
    let cases: Vec<Case> = text.split("\n\n").filter_map(record).collect();
    let counts = text.lines().filter(|line| line.starts_with("COUNT = "));
    assert_eq!(cases.len(), counts.count(), "{name}");
    assert!(!cases.is_empty(), "{name}");
    cases
}

/// The .rsp files of a mode in both folders that have them.
fn files_of(mode: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for sub in ["cavp", "sp800-38a"] {
        for entry in std::fs::read_dir(folder().join(sub)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let rest = name
                .strip_prefix(mode)
                .and_then(|rest| rest.strip_suffix(".rsp"));
            if rest.is_some_and(|rest| !rest.contains("MCT")) {
                found.push(path);
            }
        }
    }
    assert!(found.len() >= 3, "{mode}: {}", found.len());
    found
}

/// What runs the cases: a session, and a generator whose seed is printed.
struct Runner {
    session: Session,
    random: fastrand::Rng,
    key: Option<(Vec<u8>, CK_ULONG)>,
    /// Valid cases, and others.
    ran: [usize; 2],
}

impl Runner {
    fn new() -> Runner {
        let seed = match std::env::var("SEED") {
            Ok(seed) => seed.parse().expect("SEED: a number"),
            Err(_) => fastrand::u64(..),
        };
        println!("SEED={seed}");
        Runner {
            session: Session::open(),
            random: fastrand::Rng::with_seed(seed),
            key: None,
            ran: [0; 2],
        }
    }

    /// The key of a case. Consecutive cases often share it.
    fn key(&mut self, key_type: CK_KEY_TYPE, value: &[u8]) -> Result<CK_ULONG, CK_RV> {
        if let Some((known, handle)) = &self.key {
            if known == value {
                return Ok(*handle);
            }
        }
        if let Some((_, old)) = self.key.take() {
            result(ck!(C_DestroyObject(self.session.0, old))).unwrap();
        }
        let handle = self.session.key_with(key_type, value, &[])?;
        self.key = Some((value.to_vec(), handle));
        Ok(handle)
    }

    /// A message that must come out right, in every form of the call.
    fn right(&mut self, way: Way, m: &CK_MECHANISM, key: CK_ULONG, data: &[u8], wanted: &[u8]) {
        let session = &self.session;
        assert_eq!(session.crypt(way, m, key, data).as_deref(), Ok(wanted));
        let pieces = session.pieces(way, m, key, data, &mut self.random);
        assert_eq!(pieces.as_deref(), Ok(wanted), "in pieces");
        if !wanted.is_empty() {
            self.too_small(way, m, key, data, wanted);
        }
        self.in_place(way, m, key, data, wanted);
    }

    /// A byte too little: the operation goes on, and a call with enough room succeeds.
    fn too_small(&self, way: Way, m: &CK_MECHANISM, key: CK_ULONG, data: &[u8], wanted: &[u8]) {
        let mut out = vec![0xaa; wanted.len() - 1];
        self.session.init(way, m, key).unwrap();
        let small = self.session.whole(way, data, Some(&mut out));
        assert_eq!(small, Err(CKR_BUFFER_TOO_SMALL));
        let mut out = vec![0xaa; wanted.len() + 32];
        let len = self.session.whole(way, data, Some(&mut out));
        assert_eq!(len, Ok(wanted.len()));
        assert_eq!(&out[..wanted.len()], wanted);
        // What had no meaning stays untouched, or is padding that was cleansed.
        let rest = &out[wanted.len()..];
        assert!(rest.iter().all(|b| matches!(b, 0xaa | 0)), "{rest:?}");
    }

    fn in_place(&self, way: Way, m: &CK_MECHANISM, key: CK_ULONG, data: &[u8], wanted: &[u8]) {
        let mut buffer = data.to_vec();
        buffer.resize(data.len().max(wanted.len()) + 32, 0xaa);
        self.session.init(way, m, key).unwrap();
        let (at, mut len) = (buffer.as_mut_ptr(), buffer.len() as CK_ULONG);
        let n = data.len() as CK_ULONG;
        let rv = match way {
            Way::Encrypt => ck!(C_Encrypt(self.session.0, at, n, at, &mut len)),
            Way::Decrypt => ck!(C_Decrypt(self.session.0, at, n, at, &mut len)),
        };
        assert_eq!((rv, len as usize), (CKR_OK, wanted.len()), "in place");
        assert_eq!(&buffer[..wanted.len()], wanted, "in place");
    }

    /// Decryption of what is not valid: a code of the standard, no plaintext, and the end of the
    /// operation.
    fn wrong(&mut self, m: &CK_MECHANISM, key: CK_ULONG, data: &[u8]) {
        const CODES: [CK_RV; 2] = [CKR_ENCRYPTED_DATA_INVALID, CKR_ENCRYPTED_DATA_LEN_RANGE];
        if let Err(code) = self.session.init(Way::Decrypt, m, key) {
            assert_eq!(code, CKR_MECHANISM_PARAM_INVALID);
            return;
        }
        let mut out = vec![0xaa; data.len() + 32];
        let code = self
            .session
            .whole(Way::Decrypt, data, Some(&mut out))
            .unwrap_err();
        assert!(CODES.contains(&code), "{code:#x}");
        assert!(
            out.iter().all(|b| matches!(b, 0xaa | 0)),
            "plaintext of a bad message"
        );
        let again = self.session.whole(Way::Decrypt, data, Some(&mut out));
        assert_eq!(again, Err(CKR_OPERATION_NOT_INITIALIZED));
        let way = Way::Decrypt;
        let code = self
            .session
            .pieces(way, m, key, data, &mut self.random)
            .unwrap_err();
        assert!(CODES.contains(&code), "in pieces: {code:#x}");
        // The first pieces of CBC are plaintext; an operation that failed has ended all the same.
        let ended = self.session.finish(way, None);
        assert_eq!(ended, Err(CKR_OPERATION_NOT_INITIALIZED));
    }

    fn case(&mut self, case: &Case, key_type: CK_KEY_TYPE, m: &CK_MECHANISM) {
        let shown = Shown(&case.name);
        let sealed = [&case.cipher[..], &case.tag].concat();
        self.ran[usize::from(!case.valid)] += 1;
        match (self.key(key_type, &case.key), case.valid) {
            (Err(code), false) => assert_eq!(code, CKR_ATTRIBUTE_VALUE_INVALID),
            (key, true) => {
                let (key, plain) = (key.unwrap(), case.plain.as_ref().expect("valid"));
                self.right(Way::Encrypt, m, key, plain, &sealed);
                self.right(Way::Decrypt, m, key, &sealed, plain);
            }
            (Ok(key), false) => self.wrong(m, key, &sealed),
        }
        std::mem::forget(shown);
    }

    /// Each set has valid cases; so many others at least.
    fn done(&self, valid: usize, others: usize) {
        println!("{} valid cases, {} others", self.ran[0], self.ran[1]);
        assert!(
            self.ran[0] >= valid && self.ran[1] >= others,
            "{:?}",
            self.ran
        );
    }
}

/// Names the case if a test panics.
struct Shown<'a>(&'a str);

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        println!("in {}", self.0);
    }
}

fn modes(mode: &str, kind: CK_MECHANISM_TYPE, least: usize) {
    let mut runner = Runner::new();
    for file in files_of(mode) {
        for case in records(&file) {
            runner.case(&case, CKK_AES, &mechanism(kind, &case.iv));
        }
    }
    runner.done(least, 0);
}

#[test]
fn ecb() {
    modes("ECB", CKM_AES_ECB, 1500);
}

#[test]
fn cbc() {
    modes("CBC", CKM_AES_CBC, 1500);
}

#[test]
fn ofb() {
    modes("OFB", CKM_AES_OFB, 1500);
}

#[test]
fn cfb128() {
    modes("CFB128", CKM_AES_CFB128, 1500);
}

#[test]
fn cfb8() {
    modes("CFB8", CKM_AES_CFB8, 1500);
}

#[test]
fn ctr() {
    let mut runner = Runner::new();
    for file in files_of("CTR") {
        for case in records(&file) {
            let params = CK_AES_CTR_PARAMS {
                ulCounterBits: 128,
                cb: case.iv[..].try_into().unwrap(),
            };
            runner.case(&case, CKK_AES, &mechanism(CKM_AES_CTR, bytes_of(&params)));
        }
    }
    runner.done(3, 0);
}

#[test]
fn cbc_with_padding() {
    let mut runner = Runner::new();
    for case in lines("wycheproof/aes_cbc_pkcs5.txt") {
        runner.case(&case, CKK_AES, &mechanism(CKM_AES_CBC_PAD, &case.iv));
    }
    runner.done(70, 100);
}

/// CKM_AES_CTS is CS1 here. The file has CS3, where the last two blocks are in the other order.
#[test]
fn ciphertext_stealing() {
    let mut runner = Runner::new();
    for mut case in lines("rfc3962/cts.txt") {
        let start = (case.cipher.len() - 1) / 16 * 16 - 16;
        case.cipher[start..].rotate_left(16);
        runner.case(&case, CKK_AES, &mechanism(CKM_AES_CTS, &case.iv));
    }
    runner.done(6, 0);
}

fn gcm_files(files: &[&str], valid: usize, others: usize) {
    let mut runner = Runner::new();
    for case in files.iter().flat_map(|file| lines(file)) {
        let params = CK_GCM_PARAMS {
            pIv: case.iv.as_ptr().cast_mut(),
            ulIvLen: case.iv.len() as CK_ULONG,
            ulIvBits: 0,
            pAAD: case.aad.as_ptr().cast_mut(),
            ulAADLen: case.aad.len() as CK_ULONG,
            ulTagBits: 8 * case.tag.len() as CK_ULONG,
        };
        runner.case(&case, CKK_AES, &mechanism(CKM_AES_GCM, bytes_of(&params)));
    }
    runner.done(valid, others);
}

#[test]
fn gcm_of_wycheproof() {
    gcm_files(&["wycheproof/aes_gcm.txt"], 200, 80);
}

#[test]
fn gcm_encryption_of_nist() {
    let file = |bits| format!("cavp/gcm/gcmEncryptExtIV{bits}.txt");
    let files = [128, 192, 256].map(file);
    gcm_files(&files.each_ref().map(String::as_str), 3 * 7875, 0);
}

#[test]
fn gcm_decryption_of_nist() {
    let file = |bits| format!("cavp/gcm/gcmDecrypt{bits}.txt");
    let files = [128, 192, 256].map(file);
    gcm_files(&files.each_ref().map(String::as_str), 10_000, 10_000);
}

#[test]
fn ccm() {
    let mut runner = Runner::new();
    let sets = ["DVPT", "VADT", "VNT", "VPT", "VTT"];
    let file = |set: &str| [128, 192, 256].map(|bits| format!("cavp/ccm/{set}{bits}.txt"));
    let mut files: Vec<String> = sets.iter().flat_map(|set| file(set)).collect();
    files.push("wycheproof/aes_ccm.txt".to_owned());
    for case in files.iter().flat_map(|file| lines(file)) {
        let params = CK_CCM_PARAMS {
            ulDataLen: case.cipher.len() as CK_ULONG,
            pNonce: case.iv.as_ptr().cast_mut(),
            ulNonceLen: case.iv.len() as CK_ULONG,
            pAAD: case.aad.as_ptr().cast_mut(),
            ulAADLen: case.aad.len() as CK_ULONG,
            ulMACLen: case.tag.len() as CK_ULONG,
        };
        runner.case(&case, CKK_AES, &mechanism(CKM_AES_CCM, bytes_of(&params)));
    }
    runner.done(2800, 300);
}

#[test]
fn xts() {
    let mut runner = Runner::new();
    let kinds = ["128-number", "128-tweak", "256-number", "256-tweak"];
    let mut files: Vec<String> = kinds
        .map(|kind| format!("cavp/xts/XTSGenAES{kind}.txt"))
        .into();
    files.push("wycheproof/aes_xts.txt".to_owned());
    for case in files.iter().flat_map(|file| lines(file)) {
        runner.case(&case, CKK_AES_XTS, &mechanism(CKM_AES_XTS, &case.iv));
    }
    runner.done(2000, 40);
}

fn wrapping(files: &[&str], kind: CK_MECHANISM_TYPE, valid: usize, others: usize) {
    let mut runner = Runner::new();
    for case in files.iter().flat_map(|file| lines(file)) {
        runner.case(&case, CKK_AES, &mechanism(kind, &[]));
    }
    runner.done(valid, others);
}

#[test]
fn key_wrap() {
    let file = |way| [128, 192, 256].map(|bits| format!("cavp/kw/KW_{way}_{bits}.txt"));
    let files = [file("AE"), file("AD")].concat();
    let mut files: Vec<&str> = files.iter().map(String::as_str).collect();
    files.extend(["rfc3394/kw.txt", "wycheproof/aes_wrap.txt"]);
    wrapping(&files, CKM_AES_KEY_WRAP, 2000, 300);
}

#[test]
fn key_wrap_with_padding() {
    let file = |way| [128, 192, 256].map(|bits| format!("cavp/kw/KWP_{way}_{bits}.txt"));
    let files = [file("AE"), file("AD")].concat();
    let mut files: Vec<&str> = files.iter().map(String::as_str).collect();
    files.push("wycheproof/aes_kwp.txt");
    wrapping(&files, CKM_AES_KEY_WRAP_KWP, 2000, 300);
}

impl Runner {
    /// A MAC: signed and verified, whole and in random pieces.
    fn mac(&mut self, case: &Case, key_type: CK_KEY_TYPE, m: &CK_MECHANISM) {
        let shown = Shown(&case.name);
        self.ran[usize::from(!case.valid)] += 1;
        let message = case.plain.clone().unwrap_or_default();
        let key = match self.key(key_type, &case.key) {
            Ok(key) => key,
            Err(code) => {
                assert_eq!((code, case.valid), (CKR_ATTRIBUTE_VALUE_INVALID, false));
                return std::mem::forget(shown);
            }
        };
        let session = self.session.0;
        let m = (m as *const CK_MECHANISM).cast_mut();
        let (mut cut, mut rest) = (Vec::new(), &message[..]);
        while !rest.is_empty() {
            let (piece, more) = rest.split_at(self.random.usize(0..=rest.len()));
            cut.push(piece);
            rest = more;
        }
        let pointer = |bytes: &[u8]| (bytes.as_ptr().cast_mut(), bytes.len() as CK_ULONG);
        let (data, len) = pointer(&message);
        if case.valid {
            let mut tag = [0xaa; 64];
            let mut n = tag.len() as CK_ULONG;
            result(ck!(C_SignInit(session, m, key))).unwrap();
            result(ck!(C_Sign(session, data, len, tag.as_mut_ptr(), &mut n))).unwrap();
            assert_eq!(tag[..n as usize], case.tag);
            result(ck!(C_SignInit(session, m, key))).unwrap();
            for (piece, len) in cut.iter().map(|piece| pointer(piece)) {
                result(ck!(C_SignUpdate(session, piece, len))).unwrap();
            }
            result(ck!(C_SignFinal(session, null_mut(), &mut n))).unwrap();
            result(ck!(C_SignFinal(session, tag.as_mut_ptr(), &mut n))).unwrap();
            assert_eq!(tag[..n as usize], case.tag, "in pieces");
        }
        let (tag, tag_len) = pointer(&case.tag);
        result(ck!(C_VerifyInit(session, m, key))).unwrap();
        let whole = result(ck!(C_Verify(session, data, len, tag, tag_len)));
        result(ck!(C_VerifyInit(session, m, key))).unwrap();
        for (piece, len) in cut.iter().map(|piece| pointer(piece)) {
            result(ck!(C_VerifyUpdate(session, piece, len))).unwrap();
        }
        let pieces = result(ck!(C_VerifyFinal(session, tag, tag_len)));
        assert_eq!(whole, pieces);
        match case.valid {
            true => {
                assert_eq!(whole, Ok(()));
                let mut wrong = case.tag.clone();
                wrong[self.random.usize(0..case.tag.len())] ^= 1 << self.random.u8(0..8);
                let (tag, tag_len) = pointer(&wrong);
                result(ck!(C_VerifyInit(session, m, key))).unwrap();
                let refused = ck!(C_Verify(session, data, len, tag, tag_len));
                assert_eq!(refused, CKR_SIGNATURE_INVALID);
            }
            false => assert!(matches!(
                whole,
                Err(CKR_SIGNATURE_INVALID | CKR_SIGNATURE_LEN_RANGE)
            )),
        }
        std::mem::forget(shown);
    }
}

#[test]
fn cmac() {
    let mut runner = Runner::new();
    let files = [
        "sp800-38b/cmac-128.txt",
        "sp800-38b/cmac-192.txt",
        "sp800-38b/cmac-256.txt",
        "wycheproof/aes_cmac.txt",
    ];
    for case in files.iter().flat_map(|file| lines(file)) {
        let len = case.tag.len() as CK_ULONG;
        match case.tag.len() {
            16 => runner.mac(&case, CKK_AES, &mechanism(CKM_AES_CMAC, &[])),
            1..=15 => runner.mac(
                &case,
                CKK_AES,
                &mechanism(CKM_AES_CMAC_GENERAL, bytes_of(&len)),
            ),
            _ => assert!(!case.valid, "{}", case.name),
        }
    }
    runner.done(60, 100);
}

/// The mechanism takes IVs of 12 bytes alone.
#[test]
fn gmac() {
    let mut runner = Runner::new();
    let mut others = 0;
    for case in lines("wycheproof/aes_gmac.txt") {
        let m = mechanism(CKM_AES_GMAC, &case.iv);
        if case.iv.len() == 12 && case.tag.len() == 16 {
            runner.mac(&case, CKK_AES, &m);
            continue;
        }
        others += 1;
        if case.iv.len() != 12 {
            let key = runner.key(CKK_AES, &case.key).unwrap();
            let m = (&m as *const CK_MECHANISM).cast_mut();
            let refused = ck!(C_SignInit(runner.session.0, m, key));
            assert_eq!(refused, CKR_MECHANISM_PARAM_INVALID, "{}", case.name);
        }
    }
    println!("{others} cases with other IVs");
    runner.done(45, 100);
}
