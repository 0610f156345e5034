// SPDX-License-Identifier: BSD-2-Clause
//! What is measured at once: an algorithm, a direction, a size, a number of threads.

use super::figure::title;
use super::implementation::Implementation;
use super::worker::Task;
use ::measure::limit::{limit, Limit, Work};
use base::ciphers::Cipher;
use catalogue::Direction;
use tenrounds_sys::Cpu;
use terminal::error::{Error, Result};

/// One column of one table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    pub cipher: Cipher,
    pub direction: Direction,
    pub bytes: usize,
    pub threads: usize,
}

impl Case {
    /// What an implementation has to do with so many threads; None for a bound that this processor
    /// lacks.
    pub fn task(&self, who: Implementation, threads: usize, widest: Option<Limit>) -> Option<Task> {
        let bound = match who {
            Implementation::Limit => Some(self.bound(widest?)?),
            _ => None,
        };
        Some(Task {
            threads,
            bound,
            cipher: self.cipher.name(),
            direction: self.direction.name().into(),
            bytes: self.bytes,
        })
    }

    /// Whether an implementation takes part.
    pub fn concerns(&self, who: Implementation) -> bool {
        match who {
            Implementation::OpenSsl => true,
            Implementation::AfAlg => self.cipher.mode().kernel_stream().is_some(),
            _ => self.cipher.is_aes(),
        }
    }

    /// What bounds this case, given the fastest width: nothing where the processor lacks an
    /// instruction.
    pub fn bound(&self, widest: Limit) -> Option<Work> {
        let work = limit(self.cipher, self.direction, false, widest)?;
        work.runs(&Cpu::detect()).then_some(work)
    }

    /// An error if outputs differ.
    pub fn verify(&self, digests: &[(Implementation, u64)]) -> Result<()> {
        let Some((one, expected)) = digests.first() else {
            return Ok(());
        };
        let Some((other, _)) = digests.iter().find(|(_, digest)| digest != expected) else {
            return Ok(());
        };
        Err(Error::failure(format!(
            "the outputs of {} and {} differ for {}, {} bytes: one of them computes wrongly, so \
             nothing was timed; run tenrounds selftest",
            one.name(),
            other.name(),
            title(self),
            self.bytes
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_outputs_are_an_error() {
        let case = Case {
            cipher: Cipher::by_name("aes-128-cbc").unwrap(),
            direction: Direction::Encrypt,
            bytes: 16,
            threads: 1,
        };

        use Implementation::*;
        assert!(case.verify(&[(OpenSsl, 1), (Tenrounds, 1)]).is_ok());
        let error = case.verify(&[(OpenSsl, 1), (Tenrounds, 2)]).unwrap_err();
        assert!(
            error.to_string().contains("openssl and tenrounds differ"),
            "{error}"
        );
    }
}
