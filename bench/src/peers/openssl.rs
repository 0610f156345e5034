// SPDX-License-Identifier: BSD-2-Clause
//! OpenSSL 3.0 and later through EVP, each from a libcrypto of its own, opened by its path: the
//! system's, those that `scripts/versions build` made, and the one that scripts/peers fetched. Also
//! this project's provider, in the system's libcrypto. What is called is the same for all
//! (libcrypto::evp). No configuration is read.

use super::fetched;
use crate::answer::Origin;
use crate::call::{operation, whole, with_tag};
use crate::peer::{Direction, Form, Inputs, Mode, Operation, Peer, Prepared, Spec, EXPLICIT, TAG};
use libcrypto::evp::{self, Context, Setup, Source};
use libcrypto::functions::{Functions, Ptr};
use libcrypto::{functions, LibCrypto};
use std::ffi::{c_int, c_void, CStr, CString};
use std::path::{Path, PathBuf};
use std::ptr::{null, null_mut};
use std::rc::Rc;
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

/// One that lies somewhere else.
fn elsewhere(path: &Path) -> Result<&'static LibCrypto> {
    let _before = system();
    open(&path.to_string_lossy())
}

/// One of a version that `build` of scripts/versions knows.
fn built(version: &str, soname: &str) -> Result<&'static LibCrypto> {
    let cache = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache")))
        .unwrap_or_default();
    elsewhere(&cache.join(format!("tenrounds/openssl-{version}-r1/lib/{soname}")))
        .map_err(|why| Error::failure(format!("{why}; run scripts/versions build")))
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
pub fn stock() -> Result<Peer> {
    stock_in(system()?).map(Evp::peer)
}

/// The other libcryptos, with their own implementations, by version.
pub fn others() -> Vec<(String, Result<Peer>)> {
    let peer = |library: Result<_>| library.and_then(stock_in).map(Evp::peer);
    let libraries = libraries().into_iter();
    libraries
        .filter(|(version, _)| version != OLD)
        .map(|(version, library)| (version, peer(library)))
        .collect()
}

/// The libcryptos beside the system's, by version, each version once.
fn libraries() -> Vec<(String, Result<&'static LibCrypto>)> {
    let fetched = fetched::known("openssl");
    let path = fetched::path("openssl/libcrypto.so.3");
    let fetched = match fetched {
        Ok((version, _)) => (version, path.and_then(|path| elsewhere(&path))),
        Err(why) => ("3.6".to_owned(), Err(why)),
    };
    let built = BUILT.map(|(version, soname)| (version.to_owned(), built(version, soname)));
    let own = system().map(LibCrypto::number).unwrap_or_default();
    let all = built.into_iter().chain([fetched]);
    all.filter(|(version, _)| *version != own).collect()
}

fn stock_in(library: &'static LibCrypto) -> Result<Evp> {
    Evp::stock(&format!("openssl-{}", library.number()), library)
}

/// The versions that scripts/versions builds, with their sonames.
const BUILT: [(&str, &str); 3] = [
    ("3.5.5", "libcrypto.so.3"),
    ("4.0.3", "libcrypto.so.4"),
    (OLD, "libcrypto.so.3"),
];

/// The one of RHEL 10.0. It is too old for a peer.
const OLD: &str = "3.2.1";

const PIPELINES: &str = "evp-pipelines";

/// This project's provider, the module at `path`, in the system's libcrypto.
pub fn with_provider(path: &Path) -> Result<Peer> {
    ours("evp", system()?, path, "").map(Evp::peer)
}

/// The same in OpenSSL 3.5.5, and nothing but many streams, as its pipelines.
pub fn with_pipelines(path: &Path) -> Result<Peer> {
    let (version, soname) = BUILT[0];
    ours(PIPELINES, built(version, soname)?, path, ", pipelines").map(Evp::peer)
}

/// The libcryptos in which this project's provider may replace the default one: all.
pub fn replaceable() -> impl Iterator<Item = Result<&'static LibCrypto>> {
    let others = libraries().into_iter().map(|(_, library)| library);
    std::iter::once(system()).chain(others)
}

/// The default provider of a libcrypto, and this project's in the same: "openssl-3.5.5" and
/// "evp-3.5.5".
pub fn pair(library: &'static LibCrypto, path: &Path) -> Result<[Peer; 2]> {
    let id = format!("evp-{}", library.number());
    Ok([
        stock_in(library)?.peer(),
        ours(&id, library, path, "")?.peer(),
    ])
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

impl Evp {
    pub fn peer(self) -> Peer {
        let (number, path) = (self.library.number(), self.library.path.display());
        let (id, title) = (self.id.clone(), self.title.clone());
        let version = format!("{number} ({path})");
        let origin = Origin {
            released: released(&self.library.version()),
            licence: Some("Apache-2.0".into()),
        };
        let peer = Peer::new(id, title, version, move |spec, bytes, inputs| {
            self.prepare(spec, bytes, inputs)
        });
        peer.from(origin)
    }

    fn prepare(&self, spec: Spec, bytes: usize, inputs: &Inputs) -> Prepared {
        // 3.2.1 gives wrong results from the second message of a context on.
        let wrong = spec.mode == Mode::GcmSiv && self.id.ends_with(OLD);
        let none = wrong || spec.form == Form::NullAad;
        if (spec.streams > 1) != (self.id == PIPELINES) || !spec.has_length(bytes) || none {
            return Ok(None);
        }
        if spec.streams > 1 {
            return pipes(self, spec, bytes, inputs);
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
            _ if spec.form == Form::Record => record(context, spec, bytes, inputs),
            _ if spec.wraps() => wrap(context, spec, bytes),
            Mode::Xts | Mode::CbcCts => sector(evp::Stream::new(context), inputs.iv, bytes),
            mode if mode.is_aead() => {
                let message = evp::Message::new(context, &setup, inputs.aad(spec).slice());
                sealed(message.expect("an AEAD has messages"), spec, bytes)
            }
            _ => stream(evp::Stream::new(context), inputs.iv, bytes),
        }))
    }
}

const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";

/// "2026-01-27" of "OpenSSL 3.5.5 27 Jan 2026".
fn released(version: &str) -> Option<String> {
    let mut words = version.split(' ').skip(2);
    let day: u8 = words.next()?.parse().ok()?;
    let month = MONTHS.find(words.next()?)? / 3 + 1;
    let year = words.next()?;
    Some(format!("{year}-{month:02}-{day:02}"))
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
fn stream(stream: evp::Stream, iv: [u8; 16], bytes: usize) -> Box<dyn Operation> {
    let stream = Rc::new(stream);
    let first = stream.clone();
    operation(
        move || first.context.restart(&iv),
        move |(), input, output| {
            let (input, output) = (&input[..bytes], &mut output[..bytes]);
            // SAFETY: both have so many bytes.
            let done = unsafe { stream.call(output.as_mut_ptr(), input.as_ptr(), bytes) };
            assert!(done, "EVP update failed");
        },
    )
}

/// The tweak, and all of the sector.
fn sector(stream: evp::Stream, iv: [u8; 16], bytes: usize) -> Box<dyn Operation> {
    whole(move |input, output| {
        let (input, output) = (&input[..bytes], &mut output[..bytes]);
        // SAFETY: both have so many bytes.
        let done = unsafe { stream.sector(&iv, output.as_mut_ptr(), input.as_ptr(), bytes) };
        assert!(done, "EVP's XTS or CTS failed");
    })
}

/// A message with its tag behind it.
fn sealed(message: evp::Message, spec: Spec, bytes: usize) -> Box<dyn Operation> {
    let seals = spec.direction == Direction::Encrypt;
    whole(move |input, output| {
        let (out, data, tag) = with_tag(seals, bytes, input, output);
        // SAFETY: the data have so many bytes, and the tag its place.
        let done = unsafe { message.call(out, data, bytes, tag) };
        assert!(done, "EVP neither seals nor opens");
    })
}

fn signing(mac: evp::Mac, bytes: usize) -> Box<dyn Operation> {
    whole(move |input, output| {
        let tag = output.first_chunk_mut().expect("there is room for it");
        assert!(mac.call(&input[..bytes], tag), "EVP does not sign");
    })
}

/// A key to be wrapped or unwrapped. OpenSSL 4.0 takes one key after each init.
fn wrap(context: Context, spec: Spec, bytes: usize) -> Box<dyn Operation> {
    let ((init, update, _), read) = (context.calls(), spec.input_bytes(bytes));
    let written = match spec.direction {
        Direction::Encrypt => spec.output_bytes(bytes),
        Direction::Decrypt => bytes,
    };
    whole(move |input, output| {
        let (input, output) = (&input[..read], &mut output[..written]);
        let context = &context; // all of it, not its pointer alone, belongs to the closure
        let (ctx, to, from) = (context.ctx, output.as_mut_ptr(), input.as_ptr());
        let mut len = 0;
        // SAFETY: the lengths are those of the mode.
        let done = unsafe {
            init(ctx, null(), null(), null(), null()) == 1
                && update(ctx, to, &mut len, from, read as c_int) == 1
        };
        let done = done && len as usize == written;
        assert!(done, "EVP neither wraps nor unwraps");
    })
}

// include/openssl/evp.h
const EVP_CTRL_AEAD_SET_IV_FIXED: c_int = 0x12;
const EVP_CTRL_AEAD_TLS1_AAD: c_int = 0x16;

/// A record of TLS 1.2 in GCM, as libssl has it: the AAD by a control, then one update in place. So
/// each call first copies the record to the output.
fn record(context: Context, spec: Spec, bytes: usize, inputs: &Inputs) -> Box<dyn Operation> {
    let framed = EXPLICIT + bytes;
    let aad = inputs.record_aad(match spec.direction {
        Direction::Encrypt => framed,
        Direction::Decrypt => framed + TAG,
    });
    let (iv, bytes, (_, update, _)) = (inputs.iv, framed + TAG, context.calls());
    let context = Rc::new(context);
    let first = context.clone();
    operation(
        // The length -1 sets the whole IV, where another would draw the explicit part.
        move || {
            let (control, iv) = (first.f.EVP_CIPHER_CTX_ctrl, iv.as_ptr().cast_mut().cast());
            // SAFETY: the IV of GCM has 12 bytes, which are read.
            let done = unsafe { control(first.ctx, EVP_CTRL_AEAD_SET_IV_FIXED, -1, iv) };
            assert_eq!(done, 1, "EVP takes no fixed IV");
        },
        move |(), input, output| {
            let output = &mut output[..bytes];
            output.copy_from_slice(&input[..bytes]);
            let (ctx, record) = (context.ctx, output.as_mut_ptr());
            let (control, mut written) = (context.f.EVP_CIPHER_CTX_ctrl, 0);
            // SAFETY: the update reads and writes the record alone, and the control reads the AAD.
            let done = unsafe {
                let (len, aad) = (aad.len() as c_int, aad.pointer().cast_mut().cast());
                control(ctx, EVP_CTRL_AEAD_TLS1_AAD, len, aad) == TAG as c_int
                    && update(ctx, record, &mut written, record, bytes as c_int) == 1
            };
            assert!(done && written > 0, "EVP neither seals nor opens a record");
        },
    )
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

/// Many messages in CBC by pipelines: the IVs set anew, and all of the data.
fn pipes(evp: &Evp, spec: Spec, bytes: usize, inputs: &Inputs) -> Prepared {
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
    let (key, len, first) = (inputs.key.as_ptr(), inputs.key.len(), iv.as_ptr());
    // SAFETY: there are as many IVs as pipes, and the key has the length that is given.
    let (context, done) = unsafe {
        let context = Context::empty(f, spec.direction);
        let cipher = evp.fetch(&name);
        let done = !cipher.is_null()
            && init(context.ctx, cipher, key, len, n, first, 16) == 1
            && (f.EVP_CIPHER_CTX_set_padding)(context.ctx, 0) == 1;
        (f.EVP_CIPHER_free)(cipher);
        (context, done)
    };
    if !done {
        return Err(Error::failure(format!("{}: no pipelines", evp.id)));
    }
    let (total, update) = (spec.input_bytes(bytes), calls.EVP_CipherPipelineUpdate);
    let state = move || (vec![0; n], vec![null(); n], vec![null_mut(); n]);
    let call = move |(written, inputs, outputs): &mut (Vec<usize>, Vec<_>, Vec<_>),
                     input: &[u8],
                     output: &mut [u8]| {
        let (context, _) = (&context, &ivs); // `iv` points to the IVs
        let (mut from, mut to) = (&input[..total], &mut output[..total]);
        for (i, &n) in lengths.iter().enumerate() {
            (inputs[i], outputs[i]) = (from.as_ptr(), to.as_mut_ptr());
            (from, to) = (&from[n + spec.gap..], &mut to[n + spec.gap..]);
        }
        let (ctx, lens, written_at) = (context.ctx, lengths.as_ptr(), written.as_mut_ptr());
        let (from, to) = (inputs.as_ptr(), outputs.as_ptr());
        // SAFETY: there is no padding, so each pipe writes as much as it reads.
        let done = unsafe {
            init(ctx, null(), null(), 0, n, iv.as_ptr(), 16) == 1
                && update(ctx, to, written_at, lens, from, lens) == 1
        };
        assert!(done && *written == lengths, "EVP's pipelines failed");
    };
    Ok(Some(operation(state, call)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// Each adapter calls into a file of its own, and each such file is mapped.
    #[test]
    fn every_libcrypto_is_its_own_copy() {
        let opened: Vec<Evp> = replaceable()
            .map(|library| stock_in(library?))
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

    #[test]
    fn a_version_says_its_day() {
        let day = released("OpenSSL 3.5.5 27 Jan 2026 (Library: OpenSSL 3.5.5 27 Jan 2026)");
        assert_eq!(day.as_deref(), Some("2026-01-27"));
        assert_eq!(released("OpenSSL 4.1.0-dev"), None);
    }
}
