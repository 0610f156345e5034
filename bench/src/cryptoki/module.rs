// SPDX-License-Identifier: BSD-2-Clause
//! A PKCS#11 module, loaded and logged in, with one session.

use cryptoki_sys::*;
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use std::ffi::{c_char, c_void, CString};
use std::path::{Path, PathBuf};
use std::ptr::null_mut;
use terminal::error::{Error, Result};

/// How a module is brought to a session in which keys can be made.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Its first slot needs nothing.
    Plain,
    /// A token of its own in a temporary folder, and a login.
    SoftHsm,
    /// NSS's softoken without databases: its parameters are a string.
    Nss,
}

/// CK_C_INITIALIZE_ARGS as softoken reads it ("PKCS #11 module specification" of NSS).
#[repr(C)]
struct NssArguments {
    mutexes: [usize; 4],
    flags: CK_FLAGS,
    parameters: *const c_char,
    reserved: *mut c_void,
}

const PIN: &[u8] = b"12345678";

/// A module with a session. It stays loaded to the end of the process.
pub struct Module {
    pub name: String,
    list: &'static CK_FUNCTION_LIST,
    slot: CK_SLOT_ID,
    session: CK_SESSION_HANDLE,
    folder: Option<PathBuf>,
}

/// Calls a function of the list, and fails with its name.
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

fn attribute(kind: CK_ATTRIBUTE_TYPE, value: &[u8]) -> CK_ATTRIBUTE {
    CK_ATTRIBUTE {
        type_: kind,
        pValue: value.as_ptr().cast_mut().cast(),
        ulValueLen: value.len() as CK_ULONG,
    }
}

impl Module {
    pub fn open(name: &str, path: &Path, kind: Kind) -> Result<Module> {
        let failed = |why: String| Error::failure(format!("{name} ({}): {why}", path.display()));
        // SAFETY: a PKCS#11 module, whose constructors may run.
        let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) };
        let library = Box::leak(Box::new(library.map_err(|e| failed(e.to_string()))?));
        // SAFETY: the standard gives the function this type.
        let get = unsafe {
            library.get::<unsafe extern "C" fn(*mut *mut CK_FUNCTION_LIST) -> CK_RV>(
                b"C_GetFunctionList\0",
            )
        };
        let get = get.map_err(|e| failed(e.to_string()))?;
        let mut list = null_mut();
        // SAFETY: the pointer is valid.
        let list = match unsafe { get(&mut list) } {
            // SAFETY: the list is constant, and the module stays loaded.
            CKR_OK if !list.is_null() => unsafe { &*list },
            code => return Err(failed(format!("C_GetFunctionList gives {code:#x}"))),
        };
        let mut module = Module {
            name: name.to_owned(),
            list,
            slot: 0,
            session: 0,
            folder: None,
        };
        match kind {
            Kind::Plain => module.begin()?,
            Kind::SoftHsm => module.begin_softhsm()?,
            Kind::Nss => module.begin_nss()?,
        }
        module.slot = module.slot_of_token()?;
        module.session = module.another_session()?;
        if kind == Kind::SoftHsm {
            module.login(CKU_USER)?;
        }
        Ok(module)
    }

    /// The slot of the first token.
    fn slot_of_token(&self) -> Result<CK_SLOT_ID> {
        let (mut slots, mut count) = ([0; 16], 16);
        call!(self, C_GetSlotList(CK_TRUE, slots.as_mut_ptr(), &mut count))?;
        let slot = slots[..count as usize].first().copied();
        slot.ok_or_else(|| Error::failure(format!("{}: no slot has a token", self.name)))
    }

    pub fn another_session(&self) -> Result<CK_SESSION_HANDLE> {
        let mut session = 0;
        let flags = CKF_SERIAL_SESSION | CKF_RW_SESSION;
        call!(
            self,
            C_OpenSession(self.slot, flags, null_mut(), None, &mut session)
        )?;
        Ok(session)
    }

    fn login(&self, user: CK_USER_TYPE) -> Result<()> {
        let (pin, len) = (PIN.as_ptr().cast_mut(), PIN.len() as CK_ULONG);
        call!(self, C_Login(self.session, user, pin, len))
    }

    /// For several threads: SoftHSM crashes in two of them without this flag.
    fn begin(&self) -> Result<()> {
        let mut arguments = CK_C_INITIALIZE_ARGS {
            flags: CKF_OS_LOCKING_OK,
            ..Default::default()
        };
        let arguments = std::ptr::from_mut(&mut arguments);
        call!(self, C_Initialize(arguments.cast()))
    }

    fn begin_softhsm(&mut self) -> Result<()> {
        let folder = std::env::temp_dir().join(format!("tenrounds-softhsm-{}", std::process::id()));
        let written = std::fs::create_dir_all(&folder).and_then(|()| {
            let text = format!(
                "directories.tokendir = {}\nobjectstore.backend = file\nlog.level = ERROR\n",
                folder.display()
            );
            std::fs::write(folder.join("conf"), text)
        });
        written.map_err(|e| Error::failure(format!("{}: {e}", folder.display())))?;
        std::env::set_var("SOFTHSM2_CONF", folder.join("conf"));
        self.folder = Some(folder);
        self.begin()?;
        self.slot = self.slot_of_token()?;
        let (pin, len) = (PIN.as_ptr().cast_mut(), PIN.len() as CK_ULONG);
        let mut label = [b' '; 32];
        call!(self, C_InitToken(self.slot, pin, len, label.as_mut_ptr()))?;
        // The token gets a slot with another number.
        self.slot = self.slot_of_token()?;
        self.session = self.another_session()?;
        self.login(CKU_SO)?;
        call!(self, C_InitPIN(self.session, pin, len))?;
        call!(self, C_Logout(self.session))?;
        call!(self, C_CloseSession(self.session))
    }

    fn begin_nss(&mut self) -> Result<()> {
        let parameters = CString::new("configdir='' flags=readOnly,noCertDB,noModDB,forceOpen");
        let arguments = NssArguments {
            mutexes: [0; 4],
            flags: CKF_OS_LOCKING_OK,
            parameters: parameters.expect("no zero bytes").into_raw(),
            reserved: null_mut(),
        };
        let arguments = Box::into_raw(Box::new(arguments));
        call!(self, C_Initialize(arguments.cast()))
    }

    pub fn session(&self) -> CK_SESSION_HANDLE {
        self.session
    }

    pub fn create_key(&self, session: CK_SESSION_HANDLE, value: &[u8]) -> Result<CK_OBJECT_HANDLE> {
        let (class, key_type) = (CKO_SECRET_KEY.to_ne_bytes(), CKK_AES.to_ne_bytes());
        let yes = [CK_TRUE];
        let mut template = [
            attribute(CKA_CLASS, &class),
            attribute(CKA_KEY_TYPE, &key_type),
            attribute(CKA_VALUE, value),
            attribute(CKA_ENCRYPT, &yes),
            attribute(CKA_DECRYPT, &yes),
        ];
        let mut key = 0;
        let (list, count) = (template.as_mut_ptr(), template.len() as CK_ULONG);
        call!(self, C_CreateObject(session, list, count, &mut key))?;
        Ok(key)
    }

    pub fn destroy_key(&self, session: CK_SESSION_HANDLE, key: CK_OBJECT_HANDLE) -> Result<()> {
        call!(self, C_DestroyObject(session, key))
    }

    /// C_EncryptInit and C_Encrypt. The output has room for the data and 16 bytes more.
    pub fn encrypt(
        &self,
        session: CK_SESSION_HANDLE,
        key: CK_OBJECT_HANDLE,
        mechanism: &mut CK_MECHANISM,
        data: &[u8],
        out: &mut [u8],
    ) -> Result<usize> {
        call!(self, C_EncryptInit(session, mechanism, key))?;
        let (from, n) = (data.as_ptr().cast_mut(), data.len() as CK_ULONG);
        let mut len = out.len() as CK_ULONG;
        call!(
            self,
            C_Encrypt(session, from, n, out.as_mut_ptr(), &mut len)
        )?;
        Ok(len as usize)
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        let _ = call!(self, C_Finalize(null_mut()));
        if let Some(folder) = &self.folder {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}
