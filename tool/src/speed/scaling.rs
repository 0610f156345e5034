// SPDX-License-Identifier: BSD-2-Clause
//! Several threads against one. A round has a window with each number of threads, so that what they
//! reach together is compared with one thread at the same clock and among the same neighbours; and
//! the limit with as many threads each, which tells what the processors have to give: two threads
//! of one core share its AES units.

use crate::bench::case::Case;
use crate::bench::figure::Figure;
use crate::bench::implementation::Implementation;
use crate::bench::measure::{take, Effort, Rounds, TEAMS};
use crate::bench::team::WorkerProcess;
use crate::error::Result;
use ::measure::limit::Limit;
use std::collections::BTreeMap;

/// Teams in which each implementation has a member for each number of threads, the first of which
/// is 1.
pub struct Scaling {
    pub counts: Vec<usize>,
    pub widest: Option<Limit>,
    pub teams: Vec<Vec<WorkerProcess>>,
}

impl Scaling {
    pub fn new(who: &[Implementation], counts: &[usize], widest: Option<Limit>) -> Result<Scaling> {
        let counts: Vec<usize> = match counts.first() {
            Some(1) => counts.to_vec(),
            _ => [&[1], counts].concat(),
        };
        let limit = widest.map(|_| Implementation::Limit);
        let who: Vec<Implementation> = who.iter().copied().chain(limit).collect();
        let members = || who.iter().flat_map(|who| counts.iter().map(|_| *who));
        let team = |_| members().map(WorkerProcess::start).collect();
        Ok(Scaling {
            teams: (0..TEAMS).map(team).collect::<Result<Vec<_>>>()?,
            counts,
            widest,
        })
    }

    /// A figure for each of the numbers of threads, from their rounds.
    pub fn figures(&self, case: Case, mut all: Vec<Rounds>) -> Vec<Figure> {
        let one = all[0].rates.clone();
        for rounds in &mut all {
            let of = |who: &_| Some((*who, rounds.rates.ratio_to(who, &one, who)?));
            rounds.scaling = rounds.rates.keys().filter_map(of).collect();
        }
        let counted = self.counts.iter().zip(all);
        let figure = |(&threads, rounds)| Figure {
            case: Case { threads, ..case },
            rounds,
        };
        counted.map(figure).collect()
    }
}

/// A team's share: rounds for each number of threads.
pub fn share(
    team: &mut [WorkerProcess],
    case: &Case,
    counts: &[usize],
    widest: Option<Limit>,
    effort: Effort,
) -> Result<Vec<Rounds>> {
    let mut digests = Vec::new();
    let mut chosen = Vec::new();
    let mut absent = BTreeMap::new();
    for (place, worker) in team.iter_mut().enumerate() {
        let threads = counts[place % counts.len()];
        let who = worker.implementation;
        match (Case { threads, ..*case }).set_up(worker, widest)? {
            Ok(digest) => {
                chosen.push(place);
                digests.extend(digest.map(|digest| (who, digest)));
            }
            Err(why) => _ = absent.insert(who, why),
        }
    }
    case.verify(&digests)?;
    let taken = take(team, &chosen, effort)?;
    let of = |nth| Rounds {
        absent: absent.clone(),
        ..taken.of(team, |place| place % counts.len() == nth)
    };
    Ok((0..counts.len()).map(of).collect())
}
