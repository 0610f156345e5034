// SPDX-License-Identifier: BSD-2-Clause
//! The backends, their operations, and the selection of one.

use crate::cpu::{Cpu, Features};
use crate::raw::{self, tr_backend};
use crate::status::text;
use catalogue::{Direction, Mode};
use std::ffi::{c_char, c_int, c_uint, CStr, CString};

extern "C" {
    fn tr_backend_index(backend: *const tr_backend) -> c_uint;
    fn tr_select_sabotaged(
        mask: *const c_char,
        also_masked: u32,
        sabotage: *const c_char,
        selection: *mut raw::tr_selection,
    ) -> c_int;
    fn tr_env_sabotage() -> *const c_char;
    fn tr_op_name(op: c_int) -> *const c_char;
    fn shim_backend_doing(backend: *const tr_backend, op: c_uint) -> *const tr_backend;
    fn shim_ops() -> c_uint;
    fn shim_counted_in_file(below: *const tr_backend, path: *const c_char) -> *const tr_backend;
}

/// One implementation of AES.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Backend(*const tr_backend);

// SAFETY: the core's tables are constant, and counting tables count atomically.
unsafe impl Send for Backend {}
// SAFETY: as above.
unsafe impl Sync for Backend {}

impl std::fmt::Debug for Backend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl Backend {
    /// All backends of this build, strongest first.
    pub fn all() -> Vec<Backend> {
        // SAFETY: any index is allowed.
        (0..)
            .map(|i| unsafe { raw::tr_backend_at(i) })
            .take_while(|b| !b.is_null())
            .map(Backend)
            .collect()
    }

    pub fn by_name(name: &str) -> Option<Backend> {
        Backend::all().into_iter().find(|b| b.name() == name)
    }

    /// # Safety
    /// The table lives as long as the program.
    #[cfg(test)]
    pub(crate) unsafe fn of(table: *const tr_backend) -> Backend {
        Backend(table)
    }

    /// The table, for the core's functions.
    pub fn as_ptr(self) -> *const tr_backend {
        self.0
    }

    pub fn name(self) -> &'static str {
        // SAFETY: the table is the core's.
        text(unsafe { raw::tr_backend_name(self.0) }).unwrap_or("?")
    }

    /// The features that must be usable for it to run.
    pub fn features(self) -> Features {
        // SAFETY: the table is the core's.
        unsafe { raw::tr_backend_features(self.0) }
    }

    /// Whether a processor with these features can run it.
    pub fn runs_with(self, features: Features) -> bool {
        self.features() & !features == 0
    }

    pub fn index(self) -> usize {
        // SAFETY: the table is the core's.
        unsafe { tr_backend_index(self.0) as usize }
    }

    /// The backend whose code does an operation for this one; None if none has it.
    pub fn doing_any(self, op: Op) -> Option<Backend> {
        // SAFETY: the table is the core's.
        let doing = unsafe { shim_backend_doing(self.0, op.0) };
        (!doing.is_null()).then_some(Backend(doing))
    }

    /// The same for an operation that the weakest backend has.
    pub fn doing(self, op: Op) -> Backend {
        self.doing_any(op).expect("an operation of every backend")
    }

    /// This backend behind a counting table, which counts for the host `pkcs11` in the counters
    /// file at a path (openssl/common/counters_file.h). None if there is no such file, or no
    /// memory. The table lives as long as the process, and so do its counters.
    pub fn counted_in_file(self, path: &CStr) -> Option<Backend> {
        // SAFETY: the table is the core's, and the path ends in a zero byte.
        let table = unsafe { shim_counted_in_file(self.as_ptr(), path.as_ptr()) };
        (!table.is_null()).then_some(Backend(table))
    }

    /// The backend whose code does most of the work of a mode.
    pub fn doing_mode(self, mode: Mode, direction: Direction) -> Option<Backend> {
        let row = mode.row();
        let ops = [row.ops[direction as usize], row.plain_op];
        ops.into_iter()
            .filter_map(Op::by_name)
            .find_map(|op| self.doing_any(op))
    }
}

/// The strongest backend for a set of usable features: its index and its name.
pub fn strongest(usable: Features) -> (usize, &'static str) {
    let all = Backend::all();
    let index = all
        .iter()
        .position(|b| b.runs_with(usable))
        .unwrap_or(all.len() - 1);
    (index, all[index].name())
}

/// A bulk operation of the core (enum tr_op).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Op(pub(crate) c_uint);

impl Op {
    pub fn all() -> impl Iterator<Item = Op> {
        // SAFETY: the function returns a constant.
        (0..unsafe { shim_ops() }).map(Op)
    }

    pub fn name(self) -> &'static str {
        // SAFETY: any number is allowed.
        text(unsafe { tr_op_name(self.0 as c_int) }).unwrap_or("?")
    }

    pub fn by_name(name: &str) -> Option<Op> {
        Op::all().find(|op| op.name() == name)
    }
}

/// Why a backend was selected.
#[derive(Debug, Clone)]
pub struct Selection {
    /// None if even the weakest backend failed its known-answer tests.
    pub backend: Option<Backend>,
    pub cpu: Cpu,
    pub masked: Features,
    /// The features that were not used because they would lower the clock.
    pub avoided: Features,
    /// The backends that failed their known-answer tests.
    pub failed: Vec<Backend>,
    /// The mask from its first wrong word on.
    pub bad_mask: Option<String>,
}

/// Selects as the provider does: tr_select() of tenrounds.h.
pub fn select(mask: Option<&str>, also_masked: Features) -> Selection {
    let mask = mask.map(c_string);
    let mask = mask.as_ref().map_or(std::ptr::null(), |m| m.as_ptr());
    // SAFETY: the pointers are valid. The status says nothing that the selection does not.
    Selection::by(|raw| unsafe { raw::tr_select(mask, also_masked, raw) })
}

/// Whether selection takes a backend when it is the only candidate, so that its known-answer tests
/// decide.
///
/// Selection masks the features that the backend does not need. No two backends need the same.
pub fn passes_known_answers(backend: Backend) -> bool {
    // SAFETY: the function returns NULL or a string that lives as long as the environment.
    let switch = text(unsafe { tr_env_sabotage() }).unwrap_or_default();
    let failing = c_string(switch);
    // SAFETY: the pointers are valid.
    let selection = Selection::by(|raw| unsafe {
        tr_select_sabotaged(std::ptr::null(), !backend.features(), failing.as_ptr(), raw)
    });
    !selection.failed.contains(&backend) && selection.backend == Some(backend)
}

fn c_string(text: &str) -> CString {
    CString::new(text.replace('\0', " ")).unwrap_or_default()
}

impl Selection {
    fn by(select: impl FnOnce(*mut raw::tr_selection) -> c_int) -> Selection {
        // SAFETY: numbers and pointers may be 0.
        let mut raw: raw::tr_selection = unsafe { std::mem::zeroed() };
        select(&mut raw);
        let failed = |b: &Backend| raw.failed >> b.index() & 1 != 0;
        // SAFETY: bad_mask points into the mask, which the caller still holds.
        let bad_mask = |p| unsafe { CStr::from_ptr(p) }.to_string_lossy().into_owned();
        Selection {
            backend: (!raw.backend.is_null()).then_some(Backend(raw.backend)),
            cpu: raw.cpu,
            masked: raw.masked,
            avoided: raw.avoided,
            failed: Backend::all().into_iter().filter(failed).collect(),
            bad_mask: (!raw.bad_mask.is_null()).then(|| bad_mask(raw.bad_mask)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row that names an operation which the core does not have would show the wrong backend.
    #[test]
    fn the_catalogues_operations_exist() {
        for mode in Mode::aes() {
            for op in mode.row().ops.iter().chain([&mode.row().plain_op]) {
                assert!(op.is_empty() || Op::by_name(op).is_some(), "{op}");
            }
        }
    }

    #[test]
    fn backends_need_features() {
        let all = Backend::all();
        let weakest = *all.last().unwrap();
        assert!(all.len() > 1 && weakest.features() == 0);
        for (index, backend) in all.iter().enumerate() {
            assert_eq!(backend.index(), index);
            assert_eq!(Backend::by_name(backend.name()), Some(*backend));
            let needs = backend.features();
            assert!(backend.runs_with(needs) && backend.runs_with(Features::MAX));
            assert_eq!(backend.runs_with(0), needs == 0, "{backend:?}");
            // With what it needs, it is the strongest.
            assert_eq!(strongest(needs), (index, backend.name()));
            assert_eq!(format!("{backend:?}"), backend.name());
        }
        assert_eq!(strongest(Features::MAX), (0, all[0].name()));
        assert_eq!(strongest(0), (all.len() - 1, weakest.name()));
        assert_eq!(Backend::by_name("none"), None);
        assert_eq!(Op::by_name("none"), None);
        for op in Op::all() {
            assert_eq!(Op::by_name(op.name()), Some(op));
        }
        // The weakest has what no other does for it.
        let ctr = Op::by_name("ctr").unwrap();
        assert_eq!(weakest.doing(ctr), weakest);
        let modes = Mode::aes().filter(|mode| !mode.wraps());
        for mode in modes {
            let doing = weakest.doing_mode(mode, Direction::Encrypt);
            assert_eq!(doing, Some(weakest), "{mode:?}");
        }
    }

    #[test]
    fn selection_tells_what_it_left_out() {
        let usable = Cpu::detect().usable;
        let plain = select(None, 0);
        assert!(plain.failed.is_empty() && plain.bad_mask.is_none() && plain.masked == 0);
        let (_, name) = strongest(usable & !plain.avoided);
        assert_eq!(plain.backend.unwrap().name(), name);
        let masked = select(Some("noaes,novaes"), crate::feature::NEON);
        assert_eq!(
            masked.masked,
            crate::feature::AES | crate::feature::VAES | crate::feature::NEON
        );
        let bad = select(Some("noaes,nonsense,novaes"), 0);
        assert_eq!(bad.bad_mask.as_deref(), Some("nonsense,novaes"));
        let weakest = *Backend::all().last().unwrap();
        assert_eq!(select(None, Features::MAX).backend, Some(weakest));
        for backend in Backend::all() {
            let passes = passes_known_answers(backend);
            assert_eq!(passes, backend.runs_with(usable), "{backend:?}");
        }
    }
}
