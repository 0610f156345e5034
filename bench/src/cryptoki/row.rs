// SPDX-License-Identifier: BSD-2-Clause
//! What is measured: a message, by the core's own call and by modules; a key made and destroyed.
//! And by whom: a subject.

use super::module::Module;
use cryptoki_sys::*;
use std::mem::size_of;
use tenrounds_sys::{Backend, Key};
use terminal::error::{Error, Result};

pub const KEY: [u8; 16] = [
    0x2b, 0x7e, 0x15, 0x16, 0x28, 0xae, 0xd2, 0xa6, 0xab, 0xf7, 0x15, 0x88, 0x09, 0xcf, 0x4f, 0x3c,
];
const TAG: usize = 16;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    Gcm,
    Ctr,
    Cbc,
    /// C_CreateObject and C_DestroyObject.
    Key,
}

#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub what: What,
    pub bytes: usize,
}

const SIZES: [usize; 5] = [16, 256, 1 << 10, 16 << 10, 1 << 20];

pub fn all() -> Vec<Row> {
    let ciphers = [What::Gcm, What::Ctr, What::Cbc];
    let row = |what| {
        move |bytes: &usize| Row {
            what,
            bytes: *bytes,
        }
    };
    let sized = ciphers.iter().flat_map(|what| SIZES.iter().map(row(*what)));
    let key = Row {
        what: What::Key,
        bytes: KEY.len(),
    };
    sized.chain([key]).collect()
}

impl Row {
    pub fn name(&self) -> String {
        let size = terminal::size_name(self.bytes);
        match self.what {
            What::Gcm => format!("AES-128-GCM, {size}"),
            What::Ctr => format!("AES-128-CTR, {size}"),
            What::Cbc => format!("AES-128-CBC, {size}"),
            What::Key => "create and destroy a key".to_owned(),
        }
    }
}

/// The message, with its parameters in the forms of Cryptoki. It does not move, because the
/// parameters refer to each other.
pub struct Message {
    iv: [u8; 16],
    gcm: CK_GCM_PARAMS,
    ctr: CK_AES_CTR_PARAMS,
    pub data: Vec<u8>,
    pub out: Vec<u8>,
}

impl Message {
    pub fn new(bytes: usize) -> Box<Message> {
        let mut message = Box::new(Message {
            iv: [7; 16],
            gcm: CK_GCM_PARAMS {
                pIv: std::ptr::null_mut(),
                ulIvLen: 12,
                ulIvBits: 96,
                pAAD: std::ptr::null_mut(),
                ulAADLen: 0,
                ulTagBits: 8 * TAG as CK_ULONG,
            },
            ctr: CK_AES_CTR_PARAMS {
                ulCounterBits: 128,
                cb: [7; 16],
            },
            data: (0..bytes).map(|i| (i * 167 % 251) as u8).collect(),
            out: vec![0; bytes + TAG],
        });
        message.gcm.pIv = message.iv.as_mut_ptr();
        message
    }

    fn mechanism(&mut self, what: What) -> CK_MECHANISM {
        let (mechanism, parameter, len): (_, *mut std::ffi::c_void, _) = match what {
            What::Gcm => {
                let params = std::ptr::from_mut(&mut self.gcm).cast();
                (CKM_AES_GCM, params, size_of::<CK_GCM_PARAMS>())
            }
            What::Ctr => {
                let params = std::ptr::from_mut(&mut self.ctr).cast();
                (CKM_AES_CTR, params, size_of::<CK_AES_CTR_PARAMS>())
            }
            What::Cbc | What::Key => (CKM_AES_CBC, self.iv.as_mut_ptr().cast(), 16),
        };
        CK_MECHANISM {
            mechanism,
            pParameter: parameter,
            ulParameterLen: len as CK_ULONG,
        }
    }

    /// The bytes of the output that the mode has.
    pub fn output(&self, what: What) -> &[u8] {
        match what {
            What::Gcm => &self.out,
            _ => &self.out[..self.data.len()],
        }
    }
}

/// The core's keys.
pub struct Core {
    gcm: Key<'static>,
    aes: Key<'static>,
}

impl Core {
    pub fn new(backend: Backend) -> Result<Core> {
        use catalogue::Mode;
        let key = |mode| Key::new(mode, backend, &KEY).map_err(Error::from_reason);
        Ok(Core {
            gcm: key(Mode::Gcm)?,
            aes: key(Mode::Ctr)?,
        })
    }

    /// What the module does for a message. A module holds keys already, so there is no call of the
    /// core that corresponds to making one.
    #[inline]
    pub fn run(&self, what: What, message: &mut Message) -> Result<()> {
        use catalogue::Direction::Encrypt;
        use tenrounds_sys::raw;
        let len = message.data.len();
        let (out, tag) = message.out.split_at_mut(len);
        let (to, from) = (out.as_mut_ptr(), message.data.as_ptr());
        let status = match what {
            What::Gcm => {
                let call = tenrounds_sys::Message {
                    iv: message.iv.as_ptr(),
                    iv_len: 12,
                    aad: std::ptr::null(),
                    aad_len: 0,
                    out: to,
                    input: from,
                    len,
                    tag: tag.as_mut_ptr(),
                    tag_len: TAG,
                };
                // SAFETY: the lengths are those of the buffers.
                return unsafe { self.gcm.message(Encrypt, &call) }.map_err(Error::from_reason);
            }
            What::Ctr => {
                let (mut counter, mut keystream, mut used) = (message.ctr.cb, [0; 16], 0);
                let (counter, keystream) = (counter.as_mut_ptr(), keystream.as_mut_ptr());
                let key = self.aes.as_ptr();
                // SAFETY: as above.
                unsafe { raw::tr_ctr(key, counter, keystream, &mut used, to, from, len) }
            }
            What::Cbc => {
                let mut iv = message.iv;
                // SAFETY: as above.
                unsafe { raw::tr_cbc_encrypt()(self.aes.as_ptr(), iv.as_mut_ptr(), to, from, len) }
            }
            What::Key => return Ok(()),
        };
        match status {
            raw::TR_OK => Ok(()),
            status => Err(Error::failure(format!("the core returns {status}"))),
        }
    }
}

/// Who does the calls: the core, or a module in a session.
pub enum Subject<'a> {
    Core(&'a Core),
    Module {
        module: &'a Module,
        session: CK_SESSION_HANDLE,
        key: CK_OBJECT_HANDLE,
    },
}

impl<'a> Subject<'a> {
    /// A module with a key of its own in a session.
    pub fn of(module: &'a Module, session: CK_SESSION_HANDLE) -> Result<Subject<'a>> {
        Ok(Subject::Module {
            module,
            session,
            key: module.create_key(session, &KEY)?,
        })
    }

    pub fn name(&self) -> &str {
        match self {
            Subject::Core(_) => super::CORE,
            Subject::Module { module, .. } => &module.name,
        }
    }

    /// One call.
    #[inline]
    pub fn run(&self, what: What, message: &mut Message) -> Result<()> {
        let (module, session, key) = match *self {
            Subject::Core(core) => return core.run(what, message),
            Subject::Module {
                module,
                session,
                key,
            } => (module, session, key),
        };
        if what == What::Key {
            let made = module.create_key(session, &KEY)?;
            return module.destroy_key(session, made);
        }
        let mut mechanism = message.mechanism(what);
        let (data, out) = (&message.data, &mut message.out);
        module.encrypt(session, key, &mut mechanism, data, out)?;
        Ok(())
    }
}
