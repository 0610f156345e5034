// SPDX-License-Identifier: BSD-2-Clause
//! What the doctor and `status` say of a machine: a finding, what it rests on, and what to do.

use serde::Serialize;
use std::fmt::Display;
use terminal::style::clean;

/// The worst of all findings is the verdict, and the exit status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; nothing is wrong.
    Note,
    /// It works, but not as somebody probably wants.
    Warning,
    /// Something is broken, or will break programs.
    Problem,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Group {
    Configuration,
    Environment,
    Processor,
    Processes,
    Kernel,
    Pkcs11,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// The file, the line of it, the variable or the command that was read.
    pub from: String,
    pub value: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cure {
    /// Where to do it: a file and line, "shell", "QEMU", ...
    pub at: String,
    /// What to do or set, literally.
    pub set: String,
}

#[derive(Debug, Clone, Serialize)]
pub struct Finding {
    /// The same for the same kind of finding, for scripts.
    pub id: &'static str,
    pub group: Group,
    pub severity: Severity,
    pub says: String,
    pub evidence: Vec<Evidence>,
    pub cures: Vec<Cure>,
}

impl Finding {
    pub fn new(severity: Severity, group: Group, id: &'static str, says: impl Display) -> Finding {
        Finding {
            id,
            group,
            severity,
            says: clean(says),
            evidence: Vec::new(),
            cures: Vec::new(),
        }
    }

    pub fn problem(group: Group, id: &'static str, says: impl Display) -> Finding {
        Finding::new(Severity::Problem, group, id, says)
    }

    pub fn warning(group: Group, id: &'static str, says: impl Display) -> Finding {
        Finding::new(Severity::Warning, group, id, says)
    }

    pub fn note(group: Group, id: &'static str, says: impl Display) -> Finding {
        Finding::new(Severity::Note, group, id, says)
    }

    /// What was read, and where.
    pub fn seen(mut self, from: impl Display, value: impl Display) -> Finding {
        self.evidence.push(Evidence {
            from: clean(from),
            value: clean(value),
        });
        self
    }

    pub fn cure(mut self, at: impl Display, set: impl Display) -> Finding {
        self.cures.push(Cure {
            at: clean(at),
            set: clean(set),
        });
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_counts() {
        assert!(Severity::Problem > Severity::Warning && Severity::Warning > Severity::Note);
    }
}
