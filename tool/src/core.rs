// SPDX-License-Identifier: BSD-2-Clause
//! The AES core (C), safely: features, selection, backends, keys and modes.

use crate::algorithm::{Direction, Mode};
use crate::error::{Error, Result};
use std::ffi::{c_char, c_int, c_uint, c_void, CStr, CString};

/// A set of features: the bits of TR_FEATURE_* in tenrounds.h.
pub type Features = u32;

/// Bytes of a block.
pub const BLOCK: usize = 16;

/// The features by name, in the order of their bits.
pub mod feature {
    use super::Features;
    pub const AES: Features = 1 << 0;
    pub const CLMUL: Features = 1 << 1;
    pub const SSSE3: Features = 1 << 2;
    pub const AVX: Features = 1 << 3;
    pub const AVX2: Features = 1 << 4;
    pub const AVX512: Features = 1 << 5;
    pub const VAES: Features = 1 << 6;
    pub const VCLMUL: Features = 1 << 7;
    pub const SHA: Features = 1 << 8;
    // 9 and 10 are Arm's: neon, sha3.
    pub const AVX512VBMI: Features = 1 << 11;
}

#[repr(C)]
struct RawBackend {
    _opaque: [u8; 0],
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct RawCpu {
    present: u32,
    usable: u32,
    xcr0: u64,
}

#[repr(C)]
struct RawSelection {
    backend: *const RawBackend,
    cpu: RawCpu,
    masked: u32,
    avoided: u32,
    failed: u32,
    bad_mask: *const c_char,
}

/// Memory for a struct tr_aes_key, whose layout is the core's own.
#[repr(C, align(16))]
struct RawKey([u8; 496]);

extern "C" {
    fn tr_strerror(status: c_int) -> *const c_char;
    fn tr_version() -> *const c_char;
    fn tr_cleanse(memory: *mut c_void, len: usize);
    fn tr_cpu_detect(cpu: *mut RawCpu);
    fn tr_feature_name(index: c_uint) -> *const c_char;
    fn tr_mask_read(
        text: *const c_char,
        masked: *mut u32,
        wanted: *mut u32,
        bad: *mut *const c_char,
    ) -> c_int;
    fn tr_backend_at(index: c_uint) -> *const RawBackend;
    fn tr_backend_name(backend: *const RawBackend) -> *const c_char;
    fn tr_backend_features(backend: *const RawBackend) -> u32;
    fn tr_backend_index(backend: *const RawBackend) -> c_uint;
    fn tr_select(mask: *const c_char, also_masked: u32, selection: *mut RawSelection) -> c_int;
    fn tr_select_sabotaged(
        mask: *const c_char,
        also_masked: u32,
        sabotage: *const c_char,
        selection: *mut RawSelection,
    ) -> c_int;
    fn tr_env_sabotage() -> *const c_char;
    fn tr_aes_set_key(
        key: *mut RawKey,
        backend: *const RawBackend,
        raw: *const u8,
        key_len: usize,
    ) -> c_int;
    fn tr_ecb_encrypt(key: *const RawKey, out: *mut u8, input: *const u8, len: usize) -> c_int;
    fn tr_ecb_decrypt(key: *const RawKey, out: *mut u8, input: *const u8, len: usize) -> c_int;
    fn tr_cbc_encrypt(
        key: *const RawKey,
        iv: *mut u8,
        out: *mut u8,
        input: *const u8,
        len: usize,
    ) -> c_int;
    fn tr_cbc_decrypt(
        key: *const RawKey,
        iv: *mut u8,
        out: *mut u8,
        input: *const u8,
        len: usize,
    ) -> c_int;
    fn tr_cfb128_encrypt(
        key: *const RawKey,
        iv: *mut u8,
        used: *mut c_uint,
        out: *mut u8,
        input: *const u8,
        len: usize,
    ) -> c_int;
    fn tr_cfb128_decrypt(
        key: *const RawKey,
        iv: *mut u8,
        used: *mut c_uint,
        out: *mut u8,
        input: *const u8,
        len: usize,
    ) -> c_int;
    fn tr_ofb(
        key: *const RawKey,
        iv: *mut u8,
        used: *mut c_uint,
        out: *mut u8,
        input: *const u8,
        len: usize,
    ) -> c_int;
    fn tr_ctr(
        key: *const RawKey,
        counter: *mut u8,
        keystream: *mut u8,
        used: *mut c_uint,
        out: *mut u8,
        input: *const u8,
        len: usize,
    ) -> c_int;

    fn trossl_ia32cap_masked(value: *const c_char) -> u32;
    fn tr_op_name(op: c_int) -> *const c_char;
    fn shim_backend_doing(backend: *const RawBackend, op: c_uint) -> *const RawBackend;
    fn shim_counted_new(below: *const RawBackend) -> *mut c_void;
    fn shim_counted_free(counted: *mut c_void);
    fn shim_counted_backend(counted: *const c_void) -> *const RawBackend;
    fn shim_counted_read(
        counted: *const c_void,
        backend: c_uint,
        op: c_uint,
        calls: *mut u64,
        bytes: *mut u64,
    );
    fn shim_ops() -> c_uint;
    fn shim_messages_new(mode: *const c_char) -> *mut c_void;
    fn shim_messages_key(
        messages: *mut c_void,
        backend: *const RawBackend,
        raw: *const u8,
        key_len: usize,
    ) -> c_int;
    fn shim_messages_seal(messages: *mut c_void, message: *const Message) -> c_int;
    fn shim_messages_open(messages: *mut c_void, message: *const Message) -> c_int;
    fn shim_messages_free(messages: *mut c_void);
    fn shim_clock_drops(is_intel: c_int, family: c_uint, model: c_uint) -> c_int;
    #[cfg(test)]
    fn shim_key_size() -> usize;
    #[cfg(test)]
    fn shim_selection_size() -> usize;
}

/// A string of the core, which lives as long as the program.
fn text(pointer: *const c_char) -> Option<&'static str> {
    if pointer.is_null() {
        return None;
    }
    unsafe { CStr::from_ptr(pointer) }.to_str().ok()
}

fn check(status: c_int, what: &str) -> Result<()> {
    match status {
        0 => Ok(()),
        _ => Err(Error::failure(format!(
            "{what}: {}",
            text(unsafe { tr_strerror(status) }).unwrap_or("unknown error")
        ))),
    }
}

/// The version of the core.
pub fn version() -> &'static str {
    text(unsafe { tr_version() }).unwrap_or("?")
}

/// The names of all features, by bit.
pub fn feature_names() -> Vec<&'static str> {
    (0..)
        .map_while(|i| text(unsafe { tr_feature_name(i) }))
        .collect()
}

/// The names of the features in a set.
pub fn names_of(features: Features) -> Vec<&'static str> {
    let names = feature_names().into_iter().enumerate();
    names
        .filter(|(bit, _)| features >> bit & 1 != 0)
        .map(|(_, name)| name)
        .collect()
}

/// What the processor has, and what of it the operating system lets programs use.
#[derive(Debug, Clone, Copy)]
pub struct Cpu {
    pub present: Features,
    pub usable: Features,
    /// XGETBV(0): the register state that the operating system saves.
    pub xcr0: u64,
}

impl Cpu {
    pub fn detect() -> Cpu {
        let mut raw = RawCpu::default();
        unsafe { tr_cpu_detect(&mut raw) };
        Cpu::from(raw)
    }
}

impl From<RawCpu> for Cpu {
    fn from(raw: RawCpu) -> Cpu {
        Cpu {
            present: raw.present,
            usable: raw.usable,
            xcr0: raw.xcr0,
        }
    }
}

/// What a mask takes away, and what it has selection use that it would do without.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Mask {
    pub masked: Features,
    pub wanted: Features,
}

/// Reads a mask such as "noavx512,novaes"; the error is the text from the wrong word on.
pub fn parse_mask(mask: &str) -> std::result::Result<Mask, String> {
    let c_mask = CString::new(mask).map_err(|_| mask.to_owned())?;
    let (mut masked, mut wanted) = (0, 0);
    let mut bad = std::ptr::null();
    match unsafe { tr_mask_read(c_mask.as_ptr(), &mut masked, &mut wanted, &mut bad) } {
        0 => Ok(Mask { masked, wanted }),
        _ if bad.is_null() => Err(mask.to_owned()),
        _ => Err(unsafe { CStr::from_ptr(bad) }
            .to_string_lossy()
            .into_owned()),
    }
}

/// What selection does without on such a processor, whether it has it or not: 512 bits where they lower the clock.
pub fn avoided_on(vendor: &str, family: u16, model: u16) -> Features {
    let is_intel = c_int::from(vendor == "GenuineIntel");
    match unsafe { shim_clock_drops(is_intel, family.into(), model.into()) } {
        0 => 0,
        _ => feature::AVX512,
    }
}

/// The features that libcrypto would not see with this OPENSSL_ia32cap.
pub fn ia32cap_masked(value: &str) -> Features {
    let value = CString::new(value).unwrap_or_default();
    unsafe { trossl_ia32cap_masked(value.as_ptr()) }
}

/// One implementation of AES.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Backend(*const RawBackend);

// The core's tables are constant.
unsafe impl Send for Backend {}
unsafe impl Sync for Backend {}

impl std::fmt::Debug for Backend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl Backend {
    /// All backends of this build, strongest first.
    pub fn all() -> Vec<Backend> {
        (0..)
            .map(|i| unsafe { tr_backend_at(i) })
            .take_while(|b| !b.is_null())
            .map(Backend)
            .collect()
    }

    pub fn by_name(name: &str) -> Option<Backend> {
        Backend::all().into_iter().find(|b| b.name() == name)
    }

    pub fn name(self) -> &'static str {
        text(unsafe { tr_backend_name(self.0) }).unwrap_or("?")
    }

    /// What must be usable for it to run.
    pub fn features(self) -> Features {
        unsafe { tr_backend_features(self.0) }
    }

    pub fn index(self) -> usize {
        unsafe { tr_backend_index(self.0) as usize }
    }

    /// The backend whose code does an operation for this one; None if none has it.
    pub fn doing_any(self, op: Op) -> Option<Backend> {
        let doing = unsafe { shim_backend_doing(self.0, op.0) };
        (!doing.is_null()).then_some(Backend(doing))
    }

    /// The same for an operation that every backend has at its end.
    pub fn doing(self, op: Op) -> Backend {
        self.doing_any(op).expect("an operation of every backend")
    }
}

/// The strongest backend for a set of usable features: its place in the list, and its name.
pub fn strongest(usable: Features) -> (usize, &'static str) {
    let all = Backend::all();
    let place = all
        .iter()
        .position(|b| b.features() & !usable == 0)
        .unwrap_or(all.len() - 1);
    (place, all[place].name())
}

/// A bulk operation of the core (enum tr_op).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Op(c_uint);

impl Op {
    pub fn all() -> impl Iterator<Item = Op> {
        (0..unsafe { shim_ops() }).map(Op)
    }

    pub fn name(self) -> &'static str {
        text(unsafe { tr_op_name(self.0 as c_int) }).unwrap_or("?")
    }

    pub fn by_name(name: &str) -> Option<Op> {
        Op::all().find(|op| op.name() == name)
    }

    /// The operation that does a mode in a direction.
    pub fn of(mode: Mode, direction: Direction) -> Op {
        let name = match (mode, direction) {
            (Mode::Ofb | Mode::Ctr, _) => mode.name().to_owned(),
            _ => format!("{}_{}", mode.name(), direction.name()),
        };
        Op::by_name(&name).expect("every mode has its operation")
    }
}

/// How a backend came to be selected.
#[derive(Debug, Clone)]
pub struct Selection {
    /// None if not even the weakest passed its known answers.
    pub backend: Option<Backend>,
    pub cpu: Cpu,
    pub masked: Features,
    /// What it does without, because it would lower the clock.
    pub avoided: Features,
    /// The backends that failed their known answers and were passed over.
    pub failed: Vec<Backend>,
    /// The part of the mask, from the first wrong word on.
    pub bad_mask: Option<String>,
}

/// Selects as the provider does: tr_select() of tenrounds.h.
pub fn select(mask: Option<&str>, also_masked: Features) -> Selection {
    let mask = mask.map(c_string);
    let mask = mask.as_ref().map_or(std::ptr::null(), |m| m.as_ptr());
    // The status repeats what *selection says: no backend, or a wrong word.
    Selection::by(|raw| unsafe { tr_select(mask, also_masked, raw) })
}

/// Whether selection takes a backend when it is the only candidate, so that its known-answer tests decide.
///
/// Selection masks the features that the backend does not need. Other backends that need the same
/// features (bitslice128 and vperm) are made to fail.
pub fn passes_known_answers(backend: Backend) -> bool {
    let switch = text(unsafe { tr_env_sabotage() }).unwrap_or_default();
    let alike = |b: &Backend| *b != backend && b.features() == backend.features();
    let mut failing = switch.to_owned();
    for other in Backend::all().into_iter().filter(alike) {
        failing = format!("{failing},{}", other.name());
    }
    let failing = c_string(&failing);
    let selection = Selection::by(|raw| unsafe {
        tr_select_sabotaged(std::ptr::null(), !backend.features(), failing.as_ptr(), raw)
    });
    !selection.failed.contains(&backend) && selection.backend == Some(backend)
}

fn c_string(text: &str) -> CString {
    CString::new(text.replace('\0', " ")).unwrap_or_default()
}

impl Selection {
    fn by(select: impl FnOnce(*mut RawSelection) -> c_int) -> Selection {
        let mut raw = RawSelection {
            backend: std::ptr::null(),
            cpu: RawCpu::default(),
            masked: 0,
            avoided: 0,
            failed: 0,
            bad_mask: std::ptr::null(),
        };
        select(&mut raw);
        let failed = |b: &Backend| raw.failed >> b.index() & 1 != 0;
        Selection {
            backend: (!raw.backend.is_null()).then_some(Backend(raw.backend)),
            cpu: raw.cpu.into(),
            masked: raw.masked,
            avoided: raw.avoided,
            failed: Backend::all().into_iter().filter(failed).collect(),
            bad_mask: (!raw.bad_mask.is_null()).then(|| {
                unsafe { CStr::from_ptr(raw.bad_mask) }
                    .to_string_lossy()
                    .into_owned()
            }),
        }
    }
}

/// A backend behind the core's counting table.
pub struct Counted(*mut c_void);

impl Counted {
    pub fn new(below: Backend) -> Counted {
        let counted = unsafe { shim_counted_new(below.0) };
        assert!(!counted.is_null(), "out of memory");
        Counted(counted)
    }

    /// A key whose use is counted here; it borrows the table.
    pub fn key(&self, raw: &[u8]) -> Result<Key<'_>> {
        Key::expand(unsafe { shim_counted_backend(self.0) }, raw)
    }

    /// Calls and bytes that a backend's code did for an operation.
    pub fn read(&self, backend: Backend, op: Op) -> (u64, u64) {
        let (mut calls, mut bytes) = (0, 0);
        unsafe {
            shim_counted_read(
                self.0,
                backend.index() as c_uint,
                op.0,
                &mut calls,
                &mut bytes,
            )
        };
        (calls, bytes)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        unsafe { shim_counted_free(self.0) };
    }
}

/// An expanded key, cleansed when dropped.
pub struct Key<'a> {
    raw: Box<RawKey>,
    _table: std::marker::PhantomData<&'a ()>,
}

// A key only points to constant tables, or to a counting table that counts atomically.
unsafe impl Send for Key<'_> {}
unsafe impl Sync for Key<'_> {}

impl Key<'static> {
    /// Expands a key of 16, 24 or 32 bytes for a backend.
    pub fn new(backend: Backend, raw: &[u8]) -> Result<Key<'static>> {
        Key::expand(backend.0, raw)
    }
}

impl<'a> Key<'a> {
    fn expand(backend: *const RawBackend, raw: &[u8]) -> Result<Key<'a>> {
        let mut key = Box::new(RawKey([0; std::mem::size_of::<RawKey>()]));
        let status = unsafe { tr_aes_set_key(&mut *key, backend, raw.as_ptr(), raw.len()) };
        check(status, &format!("a key of {} bytes", raw.len()))?;
        Ok(Key {
            raw: key,
            _table: std::marker::PhantomData,
        })
    }
}

impl Drop for Key<'_> {
    fn drop(&mut self) {
        unsafe {
            tr_cleanse(
                (&mut *self.raw as *mut RawKey).cast(),
                std::mem::size_of::<RawKey>(),
            )
        };
    }
}

/// A position in a message: the IV, shift register or counter, and the block in use.
#[derive(Clone)]
pub struct Stream {
    pub iv: [u8; BLOCK],
    keystream: [u8; BLOCK],
    used: c_uint,
}

impl Stream {
    pub fn new(iv: [u8; BLOCK]) -> Stream {
        Stream {
            iv,
            keystream: [0; BLOCK],
            used: 0,
        }
    }

    /// Processes data in place. ECB and CBC take whole blocks; ECB ignores the IV.
    pub fn process(
        &mut self,
        key: &Key<'_>,
        mode: Mode,
        direction: Direction,
        data: &mut [u8],
    ) -> Result<()> {
        // In place: the core's modes allow it.
        let (out, len) = (data.as_mut_ptr(), data.len());
        let input = out.cast_const();
        let key = &*key.raw;
        let iv = self.iv.as_mut_ptr();
        let used = &mut self.used;
        let status = unsafe {
            match (mode, direction) {
                (Mode::Ecb, Direction::Encrypt) => tr_ecb_encrypt(key, out, input, len),
                (Mode::Ecb, Direction::Decrypt) => tr_ecb_decrypt(key, out, input, len),
                (Mode::Cbc, Direction::Encrypt) => tr_cbc_encrypt(key, iv, out, input, len),
                (Mode::Cbc, Direction::Decrypt) => tr_cbc_decrypt(key, iv, out, input, len),
                (Mode::Cfb, Direction::Encrypt) => {
                    tr_cfb128_encrypt(key, iv, used, out, input, len)
                }
                (Mode::Cfb, Direction::Decrypt) => {
                    tr_cfb128_decrypt(key, iv, used, out, input, len)
                }
                (Mode::Ofb, _) => tr_ofb(key, iv, used, out, input, len),
                (Mode::Ctr, _) => {
                    tr_ctr(key, iv, self.keystream.as_mut_ptr(), used, out, input, len)
                }
            }
        };
        check(status, mode.name())
    }
}

/// A whole message, as messages.c takes it.
#[repr(C)]
pub struct Message {
    pub nonce: *const u8,
    pub aad: *const u8,
    pub aad_len: usize,
    pub out: *mut u8,
    pub input: *const u8,
    pub len: usize,
    pub tag: *mut u8,
}

/// The core's one-shot calls of a mode that has whole messages, with a key.
pub struct Messages {
    raw: *mut c_void,
    mode: &'static str,
}

// Owned by one at a time.
unsafe impl Send for Messages {}

impl Messages {
    pub fn new(mode: &'static str, backend: Backend, key: &[u8]) -> Result<Messages> {
        let name = CString::new(mode).expect("a name without zero bytes");
        let raw = unsafe { shim_messages_new(name.as_ptr()) };
        if raw.is_null() {
            return Err(Error::failure(format!(
                "the core has no messages of {mode}"
            )));
        }
        let messages = Messages { raw, mode };
        let status = unsafe { shim_messages_key(raw, backend.0, key.as_ptr(), key.len()) };
        check(status, &format!("{mode}, a key of {} bytes", key.len()))?;
        Ok(messages)
    }

    /// Encrypts a message and writes its tag.
    ///
    /// # Safety
    /// The pointers are good for the lengths that the mode has: 16 bytes of nonce and of tag.
    pub unsafe fn seal(&mut self, message: &Message) -> Result<()> {
        check(shim_messages_seal(self.raw, message), self.mode)
    }

    /// Decrypts a message and verifies its tag.
    ///
    /// # Safety
    /// As for seal().
    pub unsafe fn open(&mut self, message: &Message) -> Result<()> {
        check(shim_messages_open(self.raw, message), self.mode)
    }
}

impl Drop for Messages {
    fn drop(&mut self) {
        unsafe { shim_messages_free(self.raw) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_structs_have_the_sizes_of_those_in_c() {
        assert_eq!(std::mem::size_of::<RawKey>(), unsafe { shim_key_size() });
        let selection = std::mem::size_of::<RawSelection>();
        assert_eq!(selection, unsafe { shim_selection_size() });
    }

    #[test]
    fn every_mode_has_an_operation() {
        for mode in Mode::ALL {
            for direction in Direction::BOTH {
                assert!(Op::of(mode, direction).name().starts_with(mode.name()));
            }
        }
    }

    #[test]
    fn masks() {
        let mask = |masked, wanted| Ok(Mask { masked, wanted });
        assert_eq!(
            parse_mask("noaes,noclmul"),
            mask(feature::AES | feature::CLMUL, 0)
        );
        assert_eq!(
            parse_mask("novaes avx512"),
            mask(feature::VAES, feature::AVX512)
        );
        assert_eq!(parse_mask(""), mask(0, 0));
        assert_eq!(
            parse_mask("noaes,nonsense,novaes"),
            Err("nonsense,novaes".into())
        );
    }

    // FIPS-197 appendix C.1.
    #[test]
    fn the_example_of_the_standard() {
        let key: Vec<u8> = (0..16).collect();
        let mut data: Vec<u8> = (0..16).map(|i| i * 0x11).collect();
        let expected = 0x69c4_e0d8_6a7b_0430_d8cd_b780_70b4_c55a_u128.to_be_bytes();
        let cpu = Cpu::detect();
        for backend in Backend::all()
            .into_iter()
            .filter(|b| b.features() & !cpu.usable == 0)
        {
            let key = Key::new(backend, &key).unwrap();
            let plain = data.clone();
            let mut stream = Stream::new([0; BLOCK]);
            stream
                .process(&key, Mode::Ecb, Direction::Encrypt, &mut data)
                .unwrap();
            assert_eq!(data, expected, "{backend:?}");
            stream
                .process(&key, Mode::Ecb, Direction::Decrypt, &mut data)
                .unwrap();
            assert_eq!(data, plain, "{backend:?}");
        }
    }
}
