// SPDX-License-Identifier: BSD-2-Clause
//! OpenSSL 3.0 and later through EVP, each from a libcrypto of its own, opened by its path: the
//! system's, and those that `scripts/versions build` made. Also this project's provider, in the
//! system's libcrypto. What is called is the same for all (libcrypto::evp). No configuration is
//! read.

use super::call::{operation, with_tag};
use super::fits;
use crate::peer::{Direction, Form, Inputs, Mode, Operation, Peer, Spec, AAD, EXPLICIT, TAG};
use libcrypto::evp::{self, Context, Setup, Source};
use libcrypto::functions::{Functions, Init, Ptr, Update};
use libcrypto::{functions, LibCrypto};
use std::ffi::{c_int, c_void, CStr, CString};
use std::path::{Path, PathBuf};
use std::ptr::{null, null_mut};
use std::sync::OnceLock;
use terminal::error::{Error, Result};

functions! {
    /// include/openssl/evp.h, since 3.5
    Pipelines {
        fn EVP_CipherPipelineEncryptInit(Ptr, *const c_void, *const u8, usize, usize, *const *const u8, usize) -> c_int;
        fn EVP_CipherPipelineDecryptInit(Ptr, *const c_void, *const u8, usize, usize, *const *const u8, usize) -> c_int;
        fn EVP_CipherPipelineUpdate(Ptr, *const *mut u8, *mut usize, *const usize, *const *const u8, *const usize) -> c_int;
    }
}

/// EVP_MAX_PIPES of include/openssl/evp.h
const MAX_PIPES: usize = 32;

/// Opens a libcrypto for the whole process.
pub fn open(name: &str) -> Result<&'static LibCrypto> {
    kept(LibCrypto::open_as(name)?)
}

fn kept(mut opened: LibCrypto) -> Result<&'static LibCrypto> {
    opened.init_without_config()?;
    opened.path = opened.path.canonicalize().unwrap_or(opened.path);
    Ok(Box::leak(Box::new(opened)))
}

/// The system's. It has to be the first of all that are opened: the others have the same soname,
/// which would be found among those that are there, before any is looked for.
fn system() -> Result<&'static LibCrypto> {
    static SYSTEM: OnceLock<Result<&'static LibCrypto>> = OnceLock::new();
    SYSTEM.get_or_init(|| kept(LibCrypto::open()?)).clone()
}

/// One that lies somewhere else, of a version that `build` of scripts/versions knows.
fn built(version: &str, soname: &str) -> Result<&'static LibCrypto> {
    let _before = system();
    let cache = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache")))
        .unwrap_or_default();
    let path = cache.join(format!("tenrounds/openssl-{version}-r1/lib/{soname}"));
    if !path.is_file() {
        return Err(Error::failure(format!(
            "{} is missing; run scripts/versions build",
            path.display()
        )));
    }
    let opened = open(&path.to_string_lossy())?;
    if opened.number() != version {
        return Err(Error::failure(format!(
            "{} calls itself {}",
            path.display(),
            opened.number()
        )));
    }
    Ok(opened)
}

/// Through EVP of one libcrypto, from one provider.
pub struct Evp {
    id: String,
    title: String,
    library: &'static LibCrypto,
    /// Its library context stays to the end of the process.
    source: Source,
}

impl Evp {
    fn new(
        id: &str,
        title: String,
        library: &'static LibCrypto,
        provider: &CStr,
        property: &'static CStr,
    ) -> Result<Evp> {
        let f = &library.functions;
        // SAFETY: it may be called at any time.
        let context = unsafe { (f.OSSL_LIB_CTX_new)() };
        // SAFETY: the context is new; the name is a C string.
        let loads = || unsafe { (f.OSSL_PROVIDER_load)(context, provider.as_ptr()) };
        if context.is_null() || loads().is_null() {
            return Err(Error::failure(format!(
                "{} cannot load the provider {}",
                library.path.display(),
                provider.to_string_lossy()
            )));
        }
        Ok(Evp {
            id: id.to_owned(),
            title,
            library,
            source: Source {
                f: *f,
                context,
                properties: property.to_owned(),
            },
        })
    }

    pub fn functions(&self) -> Functions {
        self.library.functions
    }

    /// NULL if the provider has no such cipher.
    pub fn fetch(&self, name: &CStr) -> Ptr {
        self.source.fetch(name)
    }

    pub fn stock(id: &str, library: &'static LibCrypto) -> Result<Evp> {
        let title = format!("OpenSSL {}", library.number());
        Evp::new(id, title, library, c"default", c"provider=default")
    }
}

/// The system's libcrypto with its own implementations.
pub fn stock() -> Result<Evp> {
    let system = system()?;
    Evp::stock(&format!("openssl-{}", system.number()), system)
}

/// The versions that scripts/versions builds, with their sonames.
pub const BUILT: [(&str, &str); 2] = [("3.5.5", "libcrypto.so.3"), ("4.0.3", "libcrypto.so.4")];

/// One of those, with its own implementations.
pub fn stock_of((version, soname): (&str, &str)) -> Result<Evp> {
    Evp::stock(&format!("openssl-{version}"), built(version, soname)?)
}

const PIPELINES: &str = "evp-pipelines";

/// This project's provider, the module at `path`, in the system's libcrypto.
pub fn with_provider(path: &Path) -> Result<Evp> {
    ours("evp", system()?, path, "")
}

/// The same in OpenSSL 3.5.5, and nothing but many streams, as its pipelines.
pub fn with_pipelines(path: &Path) -> Result<Evp> {
    let (version, soname) = BUILT[0];
    ours(PIPELINES, built(version, soname)?, path, ", pipelines")
}

/// The libcryptos in which this project's provider may replace the default one: the system's, and
/// those that were built.
pub fn replaceable() -> impl Iterator<Item = Result<&'static LibCrypto>> {
    let system = system();
    // One version has one id.
    let own = system
        .as_ref()
        .map(|library| library.number())
        .unwrap_or_default();
    let others = BUILT
        .into_iter()
        .filter(move |(version, _)| *version != own);
    std::iter::once(system).chain(others.map(|(version, soname)| built(version, soname)))
}

/// The default provider of a libcrypto, and this project's in the same: "openssl-3.5.5" and
/// "evp-3.5.5".
pub fn pair(library: &'static LibCrypto, path: &Path) -> Result<[Evp; 2]> {
    let version = library.number();
    let stock = Evp::stock(&format!("openssl-{version}"), library)?;
    Ok([stock, ours(&format!("evp-{version}"), library, path, "")?])
}

/// The default provider in whose place a subject of [`pair`] is: "openssl-3.5.5" for "evp-3.5.5".
pub fn replaced(subject: &str) -> Option<String> {
    let version = subject.strip_prefix("evp-")?;
    let is_version = version.starts_with(|c: char| c.is_ascii_digit());
    is_version.then(|| format!("openssl-{version}"))
}

pub fn ours(id: &str, library: &'static LibCrypto, path: &Path, how: &str) -> Result<Evp> {
    let module = path
        .canonicalize()
        .ok()
        .and_then(|path| CString::new(path.to_string_lossy().into_owned()).ok())
        .ok_or_else(|| Error::failure(format!("{} is missing; run make", path.display())))?;
    let title = format!("tenrounds in OpenSSL {}{how}", library.number());
    Evp::new(id, title, library, &module, c"provider=tenrounds")
}

impl Peer for Evp {
    fn id(&self) -> String {
        self.id.clone()
    }

    fn title(&self) -> String {
        self.title.clone()
    }

    fn version(&self) -> String {
        format!(
            "{} ({})",
            self.library.number(),
            self.library.path.display()
        )
    }

    fn prepare(
        &self,
        spec: Spec,
        bytes: usize,
        inputs: &Inputs,
    ) -> Result<Option<Box<dyn Operation>>> {
        if (spec.streams > 1) != (self.id == PIPELINES) || !fits(spec, bytes) {
            return Ok(None);
        }
        if spec.streams > 1 {
            return Pipes::prepare(self, spec, bytes, inputs);
        }
        let name = cipher_name(spec);
        let setup = Setup {
            name: &name,
            mode: spec.mode,
            direction: spec.direction,
            key: &inputs.key,
            iv: inputs.iv,
        };
        if spec.mode == Mode::Cmac {
            let mac = evp::Mac::new(&self.source, &setup)?;
            return Ok(mac.map(|mac| signing(mac, bytes)));
        }
        let Some(context) = Context::new(&self.source, &setup)? else {
            return Ok(None);
        };
        Ok(Some(match spec.mode {
            _ if spec.form == Form::Record => Box::new(Record::new(context, spec, bytes, inputs)),
            _ if spec.wraps() => Box::new(Wrap {
                init: context.init(),
                update: context.update(),
                read: spec.input_bytes(bytes),
                written: match spec.direction {
                    Direction::Encrypt => spec.output_bytes(bytes),
                    Direction::Decrypt => bytes,
                },
                context,
            }),
            Mode::Xts | Mode::CbcCts => sector(evp::Sector::new(context, inputs.iv), bytes),
            mode if mode.is_aead() => {
                let message = evp::Message::new(context, &setup, &inputs.aad[..spec.aad]);
                whole(message.expect("an AEAD has messages"), spec, bytes)
            }
            _ => Box::new(Stream {
                stream: evp::Stream::new(context),
                iv: inputs.iv,
                bytes,
            }),
        }))
    }
}

/// The name that EVP fetches; for CMAC that of the cipher that it uses.
fn cipher_name(spec: Spec) -> CString {
    let name = match spec.mode {
        Mode::Cmac => format!("AES-{}-CBC", spec.key_bits),
        _ if spec.form == Form::Inverse => spec.cipher().title() + "-INV",
        _ => spec.cipher().title(),
    };
    CString::new(name).expect("no zero in it")
}

/// Modes whose calls continue one message.
struct Stream {
    stream: evp::Stream,
    iv: [u8; 16],
    bytes: usize,
}

impl Operation for Stream {
    #[inline]
    fn call(&mut self, input: &[u8], output: &mut [u8]) {
        let (input, output) = (&input[..self.bytes], &mut output[..self.bytes]);
        let (out, data) = (output.as_mut_ptr(), input.as_ptr());
        // SAFETY: both have so many bytes.
        let done = unsafe { self.stream.call(out, data, self.bytes) };
        assert!(done, "EVP update failed");
    }

    fn restart(&mut self) {
        self.stream.context.restart(&self.iv);
    }
}

/// The tweak, and all of the sector.
fn sector(sector: evp::Sector, bytes: usize) -> Box<dyn Operation> {
    operation(
        || (),
        move |(), input, output| {
            let (input, output) = (&input[..bytes], &mut output[..bytes]);
            // SAFETY: both have so many bytes.
            let done = unsafe { sector.call(output.as_mut_ptr(), input.as_ptr(), bytes) };
            assert!(done, "EVP's XTS or CTS failed");
        },
    )
}

/// A message with its tag behind it.
fn whole(message: evp::Message, spec: Spec, bytes: usize) -> Box<dyn Operation> {
    let seals = spec.direction == Direction::Encrypt;
    operation(
        || (),
        move |(), input, output| {
            let (out, data, tag) = with_tag(seals, bytes, input, output);
            // SAFETY: the data have so many bytes, and the tag its place.
            let done = unsafe { message.call(out, data, bytes, tag) };
            assert!(done, "EVP neither seals nor opens");
        },
    )
}

fn signing(mac: evp::Mac, bytes: usize) -> Box<dyn Operation> {
    operation(
        || (),
        move |(), input, output| {
            let tag = output.first_chunk_mut().expect("there is room for it");
            assert!(mac.call(&input[..bytes], tag), "EVP does not sign");
        },
    )
}

/// A key to be wrapped or unwrapped. OpenSSL 4.0 takes one key after each init.
struct Wrap {
    context: Context,
    init: Init,
    update: Update,
    read: usize,
    written: usize,
}

impl Operation for Wrap {
    #[inline]
    fn call(&mut self, input: &[u8], output: &mut [u8]) {
        let (input, output) = (&input[..self.read], &mut output[..self.written]);
        let ctx = self.context.ctx;
        let mut len = 0;
        // SAFETY: the lengths are those of the mode.
        let done = unsafe {
            (self.init)(ctx, null(), null(), null(), null()) == 1
                && (self.update)(
                    ctx,
                    output.as_mut_ptr(),
                    &mut len,
                    input.as_ptr(),
                    self.read as c_int,
                ) == 1
        };
        assert!(
            done && len as usize == self.written,
            "EVP neither wraps nor unwraps"
        );
    }
}

/// A record of TLS 1.2 in GCM, as libssl has it: the AAD by a control, then one update in place. So
/// each call first copies the record to the output.
struct Record {
    context: Context,
    update: Update,
    aad: [u8; AAD],
    iv: [u8; 16],
    bytes: usize,
}

// include/openssl/evp.h
const EVP_CTRL_AEAD_SET_IV_FIXED: c_int = 0x12;
const EVP_CTRL_AEAD_TLS1_AAD: c_int = 0x16;

impl Record {
    fn new(context: Context, spec: Spec, bytes: usize, inputs: &Inputs) -> Record {
        let framed = EXPLICIT + bytes;
        let mut record = Record {
            update: context.update(),
            aad: inputs.record_aad(match spec.direction {
                Direction::Encrypt => framed,
                Direction::Decrypt => framed + TAG,
            }),
            iv: inputs.iv,
            bytes: framed + TAG,
            context,
        };
        record.restart();
        record
    }
}

impl Operation for Record {
    #[inline]
    fn call(&mut self, input: &[u8], output: &mut [u8]) {
        let output = &mut output[..self.bytes];
        output.copy_from_slice(&input[..self.bytes]);
        let (ctx, record) = (self.context.ctx, output.as_mut_ptr());
        let mut len = 0;
        // SAFETY: the update reads and writes the record alone, and the control reads the AAD.
        let done = unsafe {
            let aad = self.aad.as_mut_ptr().cast();
            let control = self.context.f.EVP_CIPHER_CTX_ctrl;
            control(ctx, EVP_CTRL_AEAD_TLS1_AAD, AAD as c_int, aad) == TAG as c_int
                && (self.update)(ctx, record, &mut len, record, self.bytes as c_int) == 1
        };
        assert!(done && len > 0, "EVP neither seals nor opens a record");
    }

    /// The length -1 sets the whole IV, where another would draw the explicit part.
    fn restart(&mut self) {
        let iv = self.iv.as_mut_ptr().cast();
        let control = self.context.f.EVP_CIPHER_CTX_ctrl;
        // SAFETY: the IV of GCM has 12 bytes, which are read.
        let done = unsafe { control(self.context.ctx, EVP_CTRL_AEAD_SET_IV_FIXED, -1, iv) };
        assert_eq!(done, 1, "EVP takes no fixed IV");
    }
}

/// Many messages in CBC by pipelines: the IVs set anew, and all of the data.
struct Pipes {
    context: Context,
    init: PipesInit,
    update: PipesUpdate,
    _ivs: Vec<[u8; 16]>,
    iv: Vec<*const u8>,
    lengths: Vec<usize>,
    written: Vec<usize>,
    input: Vec<*const u8>,
    output: Vec<*mut u8>,
    total: usize,
    gap: usize,
}

type PipesInit = unsafe extern "C" fn(
    Ptr,
    *const c_void,
    *const u8,
    usize,
    usize,
    *const *const u8,
    usize,
) -> c_int;
type PipesUpdate = unsafe extern "C" fn(
    Ptr,
    *const *mut u8,
    *mut usize,
    *const usize,
    *const *const u8,
    *const usize,
) -> c_int;

impl Pipes {
    fn prepare(
        evp: &Evp,
        spec: Spec,
        bytes: usize,
        inputs: &Inputs,
    ) -> Result<Option<Box<dyn Operation>>> {
        let Ok(calls) = Pipelines::load(evp.library.library) else {
            return Ok(None);
        };
        if spec.mode != Mode::Cbc || spec.streams > MAX_PIPES {
            return Ok(None);
        }
        let (f, name) = (evp.library.functions, cipher_name(spec));
        let init: PipesInit = match spec.direction {
            Direction::Encrypt => calls.EVP_CipherPipelineEncryptInit,
            Direction::Decrypt => calls.EVP_CipherPipelineDecryptInit,
        };
        let lengths = spec.lengths(bytes);
        let n = lengths.len();
        let ivs: Vec<[u8; 16]> = (0..n).map(|i| inputs.iv_of(i)).collect();
        let iv: Vec<*const u8> = ivs.iter().map(|iv| iv.as_ptr()).collect();
        let key = &inputs.key;
        // SAFETY: there are as many IVs as pipes, and the key has the length that is given.
        let (context, done) = unsafe {
            let context = Context::empty(f, spec.direction);
            let cipher = evp.fetch(&name);
            let done = !cipher.is_null()
                && init(
                    context.ctx,
                    cipher,
                    key.as_ptr(),
                    key.len(),
                    n,
                    iv.as_ptr(),
                    16,
                ) == 1
                && (f.EVP_CIPHER_CTX_set_padding)(context.ctx, 0) == 1;
            (f.EVP_CIPHER_free)(cipher);
            (context, done)
        };
        if !done {
            return Err(Error::failure(format!("{}: no pipelines", evp.id)));
        }
        Ok(Some(Box::new(Pipes {
            context,
            init,
            update: calls.EVP_CipherPipelineUpdate,
            _ivs: ivs,
            iv,
            written: vec![0; n],
            input: vec![null(); n],
            output: vec![null_mut(); n],
            total: spec.input_bytes(bytes),
            gap: spec.gap,
            lengths,
        })))
    }
}

impl Operation for Pipes {
    #[inline]
    fn call(&mut self, input: &[u8], output: &mut [u8]) {
        let (mut from, mut to) = (&input[..self.total], &mut output[..self.total]);
        for (i, &n) in self.lengths.iter().enumerate() {
            self.input[i] = from.as_ptr();
            self.output[i] = to.as_mut_ptr();
            (from, to) = (&from[n + self.gap..], &mut to[n + self.gap..]);
        }
        let (ctx, pipes) = (self.context.ctx, self.lengths.len());
        // SAFETY: there is no padding, so each pipe writes as much as it reads.
        let done = unsafe {
            (self.init)(ctx, null(), null(), 0, pipes, self.iv.as_ptr(), 16) == 1
                && (self.update)(
                    ctx,
                    self.output.as_ptr(),
                    self.written.as_mut_ptr(),
                    self.lengths.as_ptr(),
                    self.input.as_ptr(),
                    self.lengths.as_ptr(),
                ) == 1
        };
        assert!(
            done && self.written == self.lengths,
            "EVP's pipelines failed"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// Each adapter calls into a file of its own, and each such file is mapped.
    #[test]
    fn every_libcrypto_is_its_own_copy() {
        let opened: Vec<Evp> = [stock(), stock_of(BUILT[0]), stock_of(BUILT[1])]
            .into_iter()
            .filter_map(|evp| evp.map_err(|e| println!("absent: {e}")).ok())
            .collect();
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let mut files = HashSet::new();
        let mut code = HashSet::new();
        for evp in &opened {
            let update = evp.library.functions.EVP_EncryptUpdate as usize;
            let file = libcrypto::library::file_of(update).unwrap();
            let file = file.canonicalize().unwrap();
            assert_eq!(file, evp.library.path);
            assert!(maps.contains(&*file.to_string_lossy()), "{maps}");
            assert!(evp.id.ends_with(&evp.library.number()), "{}", evp.id);
            assert!(files.insert(file) && code.insert(update));
        }
        assert!(!opened.is_empty());
    }
}
