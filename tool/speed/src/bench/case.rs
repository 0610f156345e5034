// SPDX-License-Identifier: BSD-2-Clause
//! What is measured at once: an algorithm, a direction, a size, a number of threads.

use super::implementation::Implementation;
use super::worker::Task;
use ::measure::limit::{ceiling, limit, Limit, Work};
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
    /// What an implementation has to do; None for a bound that this processor lacks.
    pub fn task(&self, who: Implementation, widest: Option<Limit>) -> Option<Task> {
        match who {
            Implementation::Crossing => Some(Task::Crossing(self.bytes)),
            who if who.is_bound() => self.bound(who, widest?).map(Task::Limit),
            _ => Some(Task::Cipher {
                name: self.cipher.name(),
                direction: self.direction.name().into(),
                bytes: self.bytes,
            }),
        }
    }

    pub fn describe(&self) -> String {
        let plural = if self.threads == 1 { "" } else { "s" };
        format!(
            "{} {}, {} bytes, {} thread{plural}",
            self.cipher.title(),
            self.direction.name(),
            self.bytes,
            self.threads
        )
    }

    /// Whether an implementation takes part.
    pub fn concerns(&self, who: Implementation) -> bool {
        match who {
            Implementation::OpenSsl => true,
            Implementation::AfAlg | Implementation::AfAlgSplice => {
                self.cipher.mode().kernel_stream().is_some()
            }
            // Of two widths it does not matter which.
            Implementation::Ceiling => ceiling(self.cipher, self.direction, Limit::Xmm).is_some(),
            _ => self.cipher.is_aes(),
        }
    }

    /// What bounds this case, given the fastest width: nothing where the processor lacks an
    /// instruction.
    pub fn bound(&self, who: Implementation, widest: Limit) -> Option<Work> {
        let work = match who {
            Implementation::Limit => limit(self.cipher, self.direction, false, widest),
            Implementation::Ceiling => ceiling(self.cipher, self.direction, widest),
            _ => None,
        };
        work.filter(|work| work.runs(&Cpu::detect()))
    }

    pub fn verify(&self, digests: &[(Implementation, String)]) -> Result<()> {
        let Some((first, expected)) = digests.first() else {
            return Ok(());
        };
        match digests.iter().find(|(_, digest)| digest != expected) {
            None => Ok(()),
            Some((other, _)) => Err(Error::failure(format!(
                "the outputs of {} and {} differ for {}: one of them computes wrongly, so nothing \
                 was timed; run tenrounds selftest",
                first.name(),
                other.name(),
                self.describe()
            ))),
        }
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
        let digest = |who, d: &str| (who, d.to_string());
        use Implementation::*;
        assert!(case
            .verify(&[digest(OpenSsl, "1"), digest(Tenrounds, "1")])
            .is_ok());
        let error = case
            .verify(&[digest(OpenSsl, "1"), digest(Tenrounds, "2")])
            .unwrap_err();
        assert!(
            error.to_string().contains("openssl and tenrounds differ"),
            "{error}"
        );
    }
}
