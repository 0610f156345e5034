// SPDX-License-Identifier: BSD-2-Clause
//! Many messages of GCM in one call.

use crate::{check, modes, raw, Aead, Result};
use core::marker::PhantomData;

/// A message of [`seal_many`] or [`open_many`], from [`Gcm::job`](Aead::job).
#[repr(transparent)]
pub struct GcmJob<'a>(raw::tr_gcm_job, PhantomData<&'a mut [u8]>);

// SAFETY: a job has references to a key that threads may share, to bytes, and alone to its output.
unsafe impl Send for GcmJob<'_> {}
// SAFETY: a shared job can only be asked for its status.
unsafe impl Sync for GcmJob<'_> {}

impl<const KEY: usize, const TAG: usize> Aead<modes::Gcm, KEY, TAG> {
    /// A message under this key, for a call that seals or opens it in place. Sealing writes the
    /// tag, and opening reads it.
    pub fn job<'a>(
        &'a self,
        nonce: &'a [u8],
        aad: &'a [u8],
        data: &'a mut [u8],
        tag: &'a mut [u8; TAG],
    ) -> GcmJob<'a> {
        let out = data.as_mut_ptr();
        let job = raw::tr_gcm_job {
            key: self.as_ptr(),
            iv: nonce.as_ptr(),
            iv_len: nonce.len(),
            aad: aad.as_ptr(),
            aad_len: aad.len(),
            out,
            input: out,
            len: data.len(),
            tag: tag.as_mut_ptr(),
            tag_len: TAG,
            status: raw::TR_ERR_TAG, // until a call says better
        };
        GcmJob(job, PhantomData)
    }
}

impl GcmJob<'_> {
    /// Whether a call has sealed or opened this message.
    ///
    /// # Errors
    /// The tag does not match, and the data are zeros; or no call has processed the message.
    pub fn result(&self) -> Result<()> {
        check(self.0.status)
    }
}

/// Seals messages. The core interleaves short messages that follow each other if they have one key,
/// one length of data and one of AAD. Any others may be among them.
///
/// ```
/// use tenrounds::{seal_many, Aes128Gcm};
///
/// let key = Aes128Gcm::with_key(&[7; 16]);
/// let (mut texts, mut tags) = ([[5; 64]; 3], [[0; 16]; 3]);
/// let nonces = [[1; 12], [2; 12], [3; 12]];
/// let messages = texts.iter_mut().zip(&mut tags).zip(&nonces);
/// let mut jobs: Vec<_> =
///     messages.map(|((text, tag), nonce)| key.job(nonce, b"", text, tag)).collect();
/// seal_many(&mut jobs)?;
/// # Ok::<(), tenrounds::Error>(())
/// ```
///
/// # Errors
/// A nonce is empty, or a message too long; no message is sealed.
pub fn seal_many(jobs: &mut [GcmJob]) -> Result<()> {
    // SAFETY: the jobs hold what their pointers point to, and their outputs are theirs alone.
    check(unsafe { raw::tr_gcm_seal_many(jobs.as_mut_ptr().cast(), jobs.len()) })
}

/// Opens messages, as [`seal_many`] seals them.
///
/// # Errors
/// A tag does not match; [`GcmJob::result`] says of which messages. Or as of [`seal_many`]: no
/// message is opened.
pub fn open_many(jobs: &mut [GcmJob]) -> Result<()> {
    // SAFETY: as above.
    check(unsafe { raw::tr_gcm_open_many(jobs.as_mut_ptr().cast(), jobs.len()) })
}
