// SPDX-License-Identifier: BSD-2-Clause
//! Where this kernel keeps what is counted: offsets of fields, in bytes.

use super::btf::Types;
use crate::root::Root;

/// The kernel's description of its types.
pub const FILE: &str = "/sys/kernel/btf/vmlinux";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    pub skcipher: Request,
    pub aead: Request,
    /// None: this kernel keeps them in another way.
    pub hashes: Option<Hashes>,
    /// In struct crypto_tfm.
    pub algorithm: i16,
    /// In struct crypto_alg.
    pub driver: i16,
    /// In struct task_struct.
    pub stack: i16,
    pub flags: i16,
    /// In struct socket.
    pub operations: i16,
    /// In struct proto_ops.
    pub family: i16,
    /// In struct msghdr.
    pub message_flags: i16,
}

/// A request to encrypt, decrypt or hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    pub length: i16,
    /// The pointer to struct crypto_tfm.
    pub transform: i16,
    /// Of the request, without what a driver keeps after it.
    pub size: i16,
    /// From struct crypto_tfm to the number of bytes that the driver keeps after a request.
    pub more: i16,
}

/// Requests to hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hashes {
    pub ahash: Request,
    /// In struct shash_desc, the pointer to struct crypto_shash.
    pub handle: i16,
    /// From struct crypto_shash to struct crypto_tfm.
    pub base: i16,
}

impl Layout {
    pub fn read() -> Result<Layout, String> {
        let bytes = Root::machine()
            .bytes(FILE)
            .map_err(|error| format!("{FILE}: {error} (CONFIG_DEBUG_INFO_BTF)"))?;
        Types::parse(&bytes)
            .and_then(|types| Layout::of(&types))
            .map_err(|why| format!("{FILE}: {why}"))
    }

    fn of(types: &Types) -> Result<Layout, String> {
        let request = |request: &str, handle: &str, length: &str| {
            let base = types.offset(request, "base")?;
            let transform = types.offset("crypto_async_request", "tfm")?;
            let more = types.offset(handle, "reqsize")?;
            Ok::<Request, String>(Request {
                length: types.offset(request, length)?,
                transform: base.saturating_add(transform),
                size: types.size(request)?,
                more: more.saturating_sub(types.offset(handle, "base")?),
            })
        };
        let hashes = || {
            Ok::<Hashes, String>(Hashes {
                ahash: request("ahash_request", "crypto_ahash", "nbytes")?,
                handle: types.offset("shash_desc", "tfm")?,
                base: types.offset("crypto_shash", "base")?,
            })
        };
        Ok(Layout {
            skcipher: request("skcipher_request", "crypto_skcipher", "cryptlen")?,
            aead: request("aead_request", "crypto_aead", "cryptlen")?,
            hashes: hashes().ok(),
            algorithm: types.offset("crypto_tfm", "__crt_alg")?,
            driver: types.offset("crypto_alg", "cra_driver_name")?,
            stack: types.offset("task_struct", "stack")?,
            flags: types.offset("task_struct", "flags")?,
            operations: types.offset("socket", "ops")?,
            family: types.offset("proto_ops", "family")?,
            message_flags: types.offset("msghdr", "msg_flags")?,
        })
    }
}
