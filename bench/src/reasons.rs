// SPDX-License-Identifier: BSD-2-Clause
//! Why goals are missed, by processor family: bench/reasons.toml. A reason was measured on one
//! family and says nothing about another, so a run quotes only those of its own.

use crate::pattern::like;
use crate::published::Cpu;
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Family {
    /// "Zen 4".
    pub title: String,
    /// As CPUID says it.
    vendor: String,
    family: u16,
    /// From, to; both included.
    models: Vec<[u16; 2]>,
    #[serde(default, rename = "reason")]
    reasons: Vec<Reason>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reason {
    /// Ids of goals, in which * stands for any text.
    goals: Vec<String>,
    why: String,
}

/// All families, such as [amd.zen4].
pub struct Families(Vec<Family>);

impl Families {
    pub fn parse(text: &str) -> Result<Families, String> {
        let makers: BTreeMap<String, BTreeMap<String, Family>> =
            toml::from_str(text).map_err(|e| e.to_string())?;
        let families = makers.into_values().flat_map(BTreeMap::into_values);
        Ok(Families(families.collect()))
    }

    pub fn known() -> Families {
        Families::parse(include_str!("../reasons.toml")).expect("a test reads this file")
    }

    /// None for a processor that the file does not have.
    pub fn of(&self, cpu: &Cpu) -> Option<&Family> {
        self.0
            .iter()
            .find(|f| f.has(&cpu.vendor, cpu.family, cpu.model))
    }

    /// "Zen 4", or "family 6 model 42".
    pub fn title(&self, cpu: &Cpu) -> String {
        let unknown = || format!("family {} model {}", cpu.family, cpu.model);
        self.of(cpu).map_or_else(unknown, |f| f.title.clone())
    }
}

impl Family {
    fn has(&self, vendor: &str, family: u16, model: u16) -> bool {
        let mut models = self.models.iter();
        self.vendor == vendor
            && self.family == family
            && models.any(|&[from, to]| (from..=to).contains(&model))
    }

    /// The first reason that fits a goal.
    pub fn why(&self, goal: &str) -> Option<&str> {
        let fits = |r: &&Reason| r.goals.iter().any(|pattern| like(pattern, goal));
        self.reasons.iter().find(fits).map(|r| &*r.why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpu(vendor: &str, family: u16, model: u16) -> Cpu {
        Cpu {
            vendor: vendor.into(),
            brand: String::new(),
            family,
            model,
            stepping: 0,
            threads: 1,
        }
    }

    #[test]
    fn processors_have_their_family() {
        let known = Families::known();
        let title = |vendor, family, model| known.title(&cpu(vendor, family, model));
        assert_eq!(title("AuthenticAMD", 25, 1), "Zen 3");
        assert_eq!(title("AuthenticAMD", 25, 17), "Zen 4");
        assert_eq!(title("AuthenticAMD", 25, 33), "Zen 3");
        assert_eq!(title("AuthenticAMD", 25, 97), "Zen 4");
        assert_eq!(title("GenuineIntel", 6, 143), "Sapphire Rapids");
        assert_eq!(title("GenuineIntel", 6, 207), "Emerald Rapids");
        assert_eq!(title("GenuineIntel", 25, 17), "family 25 model 17");
        assert_eq!(title("AuthenticAMD", 6, 207), "family 6 model 207");
    }

    #[test]
    fn no_processor_has_two_families() {
        let known = Families::known();
        for vendor in ["AuthenticAMD", "GenuineIntel"] {
            for (family, model) in [6, 23, 25, 26]
                .map(|f| (0..=255).map(move |m| (f, m)))
                .into_iter()
                .flatten()
            {
                let have = known.0.iter().filter(|f| f.has(vendor, family, model));
                let titles: Vec<&str> = have.map(|f| &*f.title).collect();
                assert!(titles.len() <= 1, "{vendor} {family} {model}: {titles:?}");
            }
        }
    }

    /// XTS has a reason that was measured on Zen 4. No other family may quote it.
    #[test]
    fn a_family_quotes_only_its_own_reasons() {
        let goal = "xts-encrypt/128/512/core/bound";
        let text = "
            [amd.zen4]
            title = 'Zen 4'
            vendor = 'AuthenticAMD'
            family = 25
            models = [[16, 31]]
            [[amd.zen4.reason]]
            goals = ['xts-*/128/512/core/bound']
            why = 'the tweak'
            [[amd.zen4.reason]]
            goals = ['*']
            why = 'the rest'
            [intel.emerald-rapids]
            title = 'Emerald Rapids'
            vendor = 'GenuineIntel'
            family = 6
            models = [[207, 207]]
        ";
        let families = Families::parse(text).unwrap();
        let why = |cpu: &Cpu| {
            families
                .of(cpu)
                .and_then(|f| f.why(goal).map(str::to_owned))
        };
        assert_eq!(
            why(&cpu("AuthenticAMD", 25, 17)).as_deref(),
            Some("the tweak")
        );
        assert_eq!(why(&cpu("AuthenticAMD", 25, 1)), None);
        assert_eq!(why(&cpu("GenuineIntel", 6, 207)), None);
        let zen4 = families.of(&cpu("AuthenticAMD", 25, 17)).unwrap();
        assert_eq!(zen4.why("ctr/128/16/core/best"), Some("the rest"));
    }

    /// A reason stays while the grid has a goal that it explains, or a published run misses one.
    #[test]
    fn every_reason_explains_a_goal() {
        use crate::grid::{ways, Wanted, SIZES};
        use crate::plan::Environment::{Plain, Software};
        let wanted = |key_bits: &[u16], environment| Wanted {
            ways: ways(&["all".into()]).unwrap(),
            sizes: SIZES.to_vec(),
            key_bits: key_bits.to_vec(),
            named: false,
            quick: false,
            alone: true,
            environment,
        };
        let mut cells = wanted(&[128, 256], Plain).cells();
        cells.extend(wanted(&[128], Software).cells());
        let possible = crate::goals::possible_ids(&cells);
        let known = Families::known();
        let mut published: Vec<(&str, String)> = Vec::new();
        for dir in ["../docs/benchmarks", "../docs/benchmarks/replace"] {
            for (_, run) in crate::report::published(dir) {
                if let Some(family) = known.of(&run.host.cpu) {
                    published.extend(run.missed.iter().map(|g| (&*family.title, g.id())));
                }
            }
        }
        for family in &known.0 {
            for pattern in family.reasons.iter().flat_map(|r| &r.goals) {
                let missed =
                    |(title, id): &(&str, String)| *title == family.title && like(pattern, id);
                let explains = possible.iter().any(|id| like(pattern, id));
                assert!(
                    explains || published.iter().any(missed),
                    "{}: no goal fits {pattern}: remove it from bench/reasons.toml",
                    family.title
                );
            }
        }
    }

    #[test]
    fn a_mistake_in_the_file_is_said() {
        let family = "[a.b]\ntitle = 'B'\nvendor = 'A'\nfamily = 1\nmodels = [[1, 1]]\n";
        assert!(Families::parse(family).is_ok());
        for (more, said) in [
            ("[[a.b.reason]]\nwhy = 'x'", "goals"),
            ("[[a.b.reason]]\ngoals = ['*']", "why"),
            ("[[a.b.reasons]]\ngoals = ['*']\nwhy = 'x'", "reasons"),
        ] {
            let error = Families::parse(&format!("{family}{more}")).err().unwrap();
            assert!(error.contains(said), "{error}");
        }
    }
}
