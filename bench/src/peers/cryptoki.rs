// SPDX-License-Identifier: BSD-2-Clause
//! PKCS#11 modules, which scripts/bench-pkcs11 names in TENROUNDS_BENCH_PKCS11. A call is
//! C_EncryptInit and C_Encrypt, or the same for decryption, with a key that exists: CBC, CTR, GCM.
//! A call is a whole message, so there are only whole blocks in the modes that stream, and the
//! adapter carries the IV on.

use super::single;
use crate::answer::Origin;
use crate::call::{operation, whole};
use crate::peer::{Direction, Inputs, Mode, Operation, Peer, Spec, BLOCK, TAG};
use cryptoki_sys::*;
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use std::ffi::{c_void, CStr};
use std::path::{Path, PathBuf};
use std::ptr::null_mut;
use std::rc::Rc;
use terminal::error::{Error, Result};

/// A list of files, with colons between them.
const FILES: &str = "TENROUNDS_BENCH_PKCS11";

/// The PIN that scripts/bench-pkcs11 gives SoftHSM's token.
const PIN: &[u8] = b"12345678";

/// NSS's softoken takes parameters instead of a file: without databases.
const NSS: &CStr = c"configdir='' flags=readOnly,noCertDB,noModDB,forceOpen";

/// CK_C_INITIALIZE_ARGS. NSS reads its parameters from `pReserved`, and has one field more
/// ("PKCS #11 module specification" of NSS).
#[repr(C)]
struct Arguments {
    standard: CK_C_INITIALIZE_ARGS,
    more: *mut c_void,
}

/// A module that is initialised, with a session.
struct Module {
    path: PathBuf,
    name: String,
    list: &'static CK_FUNCTION_LIST,
    session: CK_SESSION_HANDLE,
}

/// Calls a function of the module, and fails with its name.
macro_rules! call {
    ($module:expr, $name:ident($($argument:expr),* $(,)?)) => {{
        let function = $module.list.$name.expect("Cryptoki has all functions");
        // SAFETY: the arguments are valid for the call, and the module is one of Cryptoki.
        match unsafe { function($($argument),*) } {
            CKR_OK => Ok(()),
            code => Err(Error::failure(format!(
                "{}: {} gives {code:#x}", $module.name, stringify!($name)
            ))),
        }
    }};
}

/// The modules that the environment names, each with its file.
pub fn open() -> impl Iterator<Item = (PathBuf, Result<Peer>)> {
    let files = std::env::var_os(FILES).unwrap_or_default();
    let files: Vec<PathBuf> = std::env::split_paths(&files).collect();
    let files = files
        .into_iter()
        .filter(|file| !file.as_os_str().is_empty());
    files.map(|file| (file.clone(), Module::open(&file).map(Module::peer)))
}

/// "tenrounds-pkcs11", "softhsm2", "softokn3".
fn name(file: &Path) -> String {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    stem.trim_start_matches("lib").to_owned()
}

impl Module {
    fn open(path: &Path) -> Result<Module> {
        let mut module = Module::load(path)?;
        let mut arguments = Arguments {
            standard: CK_C_INITIALIZE_ARGS {
                flags: CKF_OS_LOCKING_OK,
                ..Default::default()
            },
            more: null_mut(),
        };
        if module.name == "softokn3" {
            arguments.standard.pReserved = NSS.as_ptr().cast_mut().cast();
        }
        call!(
            module,
            C_Initialize(std::ptr::from_mut(&mut arguments).cast())
        )?;
        let (mut slots, mut count) = ([0; 16], 16);
        call!(
            module,
            C_GetSlotList(CK_TRUE, slots.as_mut_ptr(), &mut count)
        )?;
        let slot = slots[..count as usize].first().copied();
        let slot = slot.ok_or_else(|| Error::failure("no slot has a token"))?;
        let flags = CKF_SERIAL_SESSION | CKF_RW_SESSION;
        call!(
            module,
            C_OpenSession(slot, flags, null_mut(), None, &mut module.session)
        )?;
        if module.name == "softhsm2" {
            let (pin, len) = (PIN.as_ptr().cast_mut(), PIN.len() as CK_ULONG);
            call!(module, C_Login(module.session, CKU_USER, pin, len))?;
        }
        Ok(module)
    }

    fn load(path: &Path) -> Result<Module> {
        type GetList = unsafe extern "C" fn(*mut *mut CK_FUNCTION_LIST) -> CK_RV;
        let failed = |e: libloading::Error| Error::failure(format!("{}: {e}", path.display()));
        // SAFETY: a PKCS#11 module, whose constructors may run.
        let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) };
        let library = Box::leak(Box::new(library.map_err(failed)?));
        // SAFETY: the standard gives the function this type.
        let get = unsafe { library.get::<GetList>(b"C_GetFunctionList\0") }.map_err(failed)?;
        let mut list = null_mut();
        // SAFETY: the pointer is valid.
        let code = unsafe { get(&mut list) };
        // SAFETY: the list is constant, and the module stays loaded.
        let list = unsafe { list.as_ref() }.filter(|_| code == CKR_OK);
        Ok(Module {
            path: path.to_owned(),
            name: name(path),
            list: list.ok_or_else(|| Error::failure("C_GetFunctionList fails"))?,
            session: 0,
        })
    }

    fn create_key(&self, value: &[u8]) -> Result<CK_OBJECT_HANDLE> {
        fn attribute(kind: CK_ATTRIBUTE_TYPE, value: &[u8]) -> CK_ATTRIBUTE {
            CK_ATTRIBUTE {
                type_: kind,
                pValue: value.as_ptr().cast_mut().cast(),
                ulValueLen: value.len() as CK_ULONG,
            }
        }
        let (class, key_type) = (CKO_SECRET_KEY.to_ne_bytes(), CKK_AES.to_ne_bytes());
        let mut template = [
            attribute(CKA_CLASS, &class),
            attribute(CKA_KEY_TYPE, &key_type),
            attribute(CKA_VALUE, value),
            attribute(CKA_ENCRYPT, &[CK_TRUE]),
            attribute(CKA_DECRYPT, &[CK_TRUE]),
        ];
        let mut key = 0;
        let (list, count) = (template.as_mut_ptr(), template.len() as CK_ULONG);
        call!(self, C_CreateObject(self.session, list, count, &mut key))?;
        Ok(key)
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        let _ = call!(self, C_Finalize(null_mut()));
    }
}

impl Module {
    /// As the module itself says.
    fn version(&self) -> String {
        let mut info = CK_INFO::default();
        let known = call!(self, C_GetInfo(&mut info));
        let (version, path) = (info.libraryVersion, self.path.display());
        match known {
            Ok(()) => format!("{}.{} ({path})", version.major, version.minor),
            Err(_) => path.to_string(),
        }
    }

    fn peer(self) -> Peer {
        let module = Rc::new(self);
        let name = &module.name;
        let (id, title) = (format!("pkcs11-{name}"), format!("{name} (PKCS#11)"));
        let (version, origin) = (module.version(), Origin::default());
        single(&id, &title, version, origin, move |spec, bytes, inputs| {
            let part = spec.mode.streams() && !bytes.is_multiple_of(BLOCK);
            let known = matches!(spec.mode, Mode::Cbc | Mode::Ctr | Mode::Gcm);
            // SoftHSM's C_Decrypt wants room for the tag in the output, too.
            let opens = (spec.mode, spec.direction) == (Mode::Gcm, Direction::Decrypt);
            let has_it = known && !(opens && module.name == "softhsm2");
            if !has_it || part {
                return Ok(None);
            }
            let handle = module.create_key(&inputs.key)?;
            let module = module.clone();
            Ok(Some(messages(Key { module, handle }, spec, inputs)))
        })
    }
}

/// A key object, destroyed at the end.
struct Key {
    module: Rc<Module>,
    handle: CK_OBJECT_HANDLE,
}

impl Key {
    /// C_EncryptInit and C_Encrypt, or the same for decryption.
    fn crypt<T>(
        &self,
        direction: Direction,
        (mechanism, parameter): (CK_MECHANISM_TYPE, &mut T),
        input: &[u8],
        output: &mut [u8],
    ) {
        let mechanism = &mut CK_MECHANISM {
            mechanism,
            pParameter: std::ptr::from_mut(parameter).cast(),
            ulParameterLen: size_of::<T>() as CK_ULONG,
        };
        let (module, session, key) = (&self.module, self.module.session, self.handle);
        let (from, n) = (input.as_ptr().cast_mut(), input.len() as CK_ULONG);
        let (to, mut len) = (output.as_mut_ptr(), output.len() as CK_ULONG);
        let done = match direction {
            Direction::Encrypt => call!(module, C_EncryptInit(session, mechanism, key))
                .and_then(|()| call!(module, C_Encrypt(session, from, n, to, &mut len))),
            Direction::Decrypt => call!(module, C_DecryptInit(session, mechanism, key))
                .and_then(|()| call!(module, C_Decrypt(session, from, n, to, &mut len))),
        };
        done.unwrap_or_else(|why| panic!("{why}"));
        assert_eq!(len as usize, output.len(), "{} writes less", module.name);
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        let _ = call!(
            self.module,
            C_DestroyObject(self.module.session, self.handle)
        );
    }
}

/// Whole messages, of which those of CBC and CTR continue each other.
fn messages(key: Key, spec: Spec, inputs: &Inputs) -> Box<dyn Operation> {
    let (first, aad, direction) = (inputs.iv, inputs.aad(spec), spec.direction);
    match spec.mode {
        Mode::Gcm => whole(move |input, output| {
            let mut parameters = CK_GCM_PARAMS {
                pIv: first.as_ptr().cast_mut(),
                ulIvLen: 12,
                ulIvBits: 96,
                pAAD: aad.pointer().cast_mut(),
                ulAADLen: aad.len() as CK_ULONG,
                ulTagBits: 8 * TAG as CK_ULONG,
            };
            key.crypt(direction, (CKM_AES_GCM, &mut parameters), input, output);
        }),
        Mode::Ctr => operation(
            move || first,
            move |iv, input, output| {
                let mut parameters = CK_AES_CTR_PARAMS {
                    ulCounterBits: 128,
                    cb: *iv,
                };
                key.crypt(direction, (CKM_AES_CTR, &mut parameters), input, output);
                let blocks = (input.len() / BLOCK) as u128;
                *iv = u128::from_be_bytes(*iv).wrapping_add(blocks).to_be_bytes();
            },
        ),
        _ => operation(
            move || first,
            move |iv, input, output| {
                key.crypt(direction, (CKM_AES_CBC, iv), input, output);
                let encrypted = match direction {
                    Direction::Encrypt => &*output,
                    Direction::Decrypt => input,
                };
                iv.copy_from_slice(&encrypted[encrypted.len() - BLOCK..]);
            },
        ),
    }
}
