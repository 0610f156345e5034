// SPDX-License-Identifier: BSD-2-Clause
//! What was measured for one case, and the same as rows of the JSON document.

use super::case::Case;
use super::implementation::Implementation;
use super::measure::Limits;
use ::measure::limit::Limit;
use ::measure::rounds::{Rates, Spent};
use ::measure::stats::Summary;
use catalogue::Direction;
use machine::schema::{Measurement, Scaling};
use std::collections::BTreeMap;
use tenrounds_sys::Backend;
pub use terminal::size_name;

/// The rounds of a case with one number of threads.
#[derive(Clone, Debug, Default)]
pub struct Rounds {
    pub rates: Rates<Implementation>,
    /// How many times the rate of one thread in the same round, where others were measured.
    pub scaling: Rates<Implementation>,
    /// Where the CPU time of all these windows went.
    pub spent: BTreeMap<Implementation, Spent>,
}

#[derive(Clone)]
pub struct Figure {
    pub case: Case,
    pub rounds: Rounds,
}

/// The backend whose code does a case, where another is selected: the selected one may leave an
/// operation to a weaker one.
fn doing(selected: Backend, case: &Case) -> &'static str {
    let doing = selected.doing_mode(case.cipher.mode(), case.direction);
    doing.unwrap_or(selected).name()
}

/// What the "backend" column of an implementation says.
fn backend(
    who: Implementation,
    case: &Case,
    selected: Option<Backend>,
    widest: Option<Limit>,
) -> Option<String> {
    match who {
        Implementation::Tenrounds => Some(doing(selected?, case).to_owned()),
        Implementation::Limit => Some(case.bound(widest?)?.describe()),
        _ => None,
    }
}

impl Figure {
    /// Bytes per second.
    pub fn rate(&self, who: Implementation) -> Option<f64> {
        Some(self.rounds.rates.rate(&who)?.median)
    }

    pub fn ratio(&self, a: Implementation, b: Implementation) -> Option<f64> {
        Some(self.rounds.rates.ratio(&a, &b)?.median)
    }

    /// How many times the rate of one thread, where others than one were measured.
    pub fn scaling(&self, who: Implementation) -> Option<Summary> {
        self.rounds.scaling.rate(&who)
    }

    fn implementations(&self) -> impl Iterator<Item = Implementation> + '_ {
        self.rounds.rates.by_subject.keys().copied()
    }

    /// User and system nanoseconds of a call.
    pub fn cpu_time(&self, who: Implementation) -> Option<(f64, f64)> {
        let spent = self.rounds.spent.get(&who)?;
        let calls = spent.bytes as f64 / self.case.bytes as f64;
        Some((spent.user_ns as f64 / calls, spent.system_ns as f64 / calls))
    }

    /// One row per implementation.
    pub fn rows(&self, selected: Option<Backend>, widest: Option<Limit>) -> Vec<Measurement> {
        let row = |who| self.row(who, selected, widest);
        self.implementations().filter_map(row).collect()
    }

    fn row(
        &self,
        who: Implementation,
        selected: Option<Backend>,
        widest: Option<Limit>,
    ) -> Option<Measurement> {
        let rate = self.rounds.rates.rate(&who)?;
        let others = self.implementations();
        let others = others.filter(|other| *other != who && !other.is_bound());
        let ratio =
            |other: Implementation| Some((other.name().to_owned(), self.ratio(who, other)?));
        let (user_ns, system_ns) = self.cpu_time(who).unzip();
        Some(Measurement {
            algorithm: self.case.cipher.name(),
            direction: self.case.direction.name(),
            implementation: who.name().into(),
            backend: backend(who, &self.case, selected, widest),
            threads: self.case.threads,
            bytes: self.case.bytes,
            bytes_per_second: rate.median,
            spread: rate.spread(),
            user_ns,
            system_ns,
            limit_fraction: self.ratio(who, Implementation::Limit),
            ratio_to: others.filter_map(ratio).collect(),
            scaling: self.scaling(who).map(|scaling| Scaling {
                times_one: scaling.median,
                spread: scaling.spread(),
                efficiency: scaling.median / self.case.threads as f64,
            }),
        })
    }
}

/// The limits themselves: bytes of state per second and round at each width, and along the chain.
pub fn limit_rows(limits: &Limits) -> Vec<Measurement> {
    let best = limits.iter().map(|(_, s)| s.median).fold(0.0, f64::max);
    let row = |(limit, rate): &(Limit, Summary)| Measurement {
        algorithm: "aes-round".into(),
        direction: Direction::Encrypt.name(),
        implementation: Implementation::Limit.name().into(),
        backend: Some(limit.name().into()),
        threads: 1,
        bytes: limit.register_bytes(),
        bytes_per_second: rate.median,
        spread: rate.spread(),
        user_ns: None,
        system_ns: None,
        limit_fraction: Some(rate.median / best),
        ratio_to: Default::default(),
        scaling: None,
    };
    limits.iter().map(row).collect()
}

/// "AES-128-CBC encrypt", without the direction where both are the same work.
pub fn title(case: &Case) -> String {
    let name = case.cipher.title();
    match case.cipher.directions().len() {
        1 => name,
        _ => format!("{name} {}", case.direction.name()),
    }
}

/// Figures of one algorithm, direction and number of threads.
pub fn blocks(figures: &[Figure]) -> Vec<&[Figure]> {
    let key = |f: &Figure| (f.case.cipher, f.case.direction, f.case.threads);
    figures.chunk_by(|a, b| key(a) == key(b)).collect()
}

/// "2.43×", "28×".
pub fn times(ratio: f64) -> String {
    match ratio {
        r if r >= 9.95 => format!("{r:.0}×"),
        r => format!("{r:.2}×"),
    }
}

/// The title, with the number of threads if there are several.
pub fn title_with_threads(case: &Case) -> String {
    match case.threads {
        1 => title(case),
        n => format!("{}, {n} threads", title(case)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::ciphers::Cipher;
    use tenrounds_sys::Cpu;

    #[test]
    fn sizes_have_names() {
        assert_eq!(
            [16, 1024, 1000, 16384, 3 << 20].map(size_name),
            ["16 B", "1 KiB", "1000 B", "16 KiB", "3 MiB"]
        );
    }

    #[test]
    fn rows_carry_fractions_and_ratios() {
        let case = Case {
            cipher: Cipher::by_name("aes-128-ctr").unwrap(),
            direction: Direction::Encrypt,
            bytes: 16,
            threads: 1,
        };
        let mut rounds = Rounds::default();
        for (who, rate) in [
            (Implementation::OpenSsl, 1.0),
            (Implementation::Tenrounds, 3.0),
            (Implementation::Limit, 4.0),
        ] {
            rounds.rates.add([(who, vec![rate * 1e9; 3])]);
        }
        // The widest that this processor runs: a limit it lacks has no row's name.
        let widest = Limit::usable(&Cpu::detect())
            .into_iter()
            .rfind(|limit| *limit != Limit::Chain);
        let rows = Figure { case, rounds }.rows(Backend::by_name("bitslice"), widest);
        assert_eq!(rows.len(), 3);
        let ours = rows
            .iter()
            .find(|r| r.implementation == "tenrounds")
            .unwrap();
        assert_eq!(ours.limit_fraction, Some(0.75));
        assert_eq!(ours.ratio_to["openssl"], 3.0);
        assert_eq!(ours.ratio_to.len(), 1);
        assert_eq!(ours.backend.as_deref(), Some("bitslice"));
        assert_eq!(
            rows.last().unwrap().backend.as_deref(),
            widest.map(Limit::name)
        );
    }
}
