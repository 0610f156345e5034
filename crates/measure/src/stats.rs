// SPDX-License-Identifier: BSD-2-Clause
//! Medians and quartiles, without a crate for statistics: quantile() has ten lines, and the spread
//! over parts is our own definition.

/// The middle of some measurements and how far they lie apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    pub median: f64,
    /// First and third quartile: half of all measurements lie between them.
    pub q1: f64,
    pub q3: f64,
    /// How far the median of a part of the measurements lies from that of all, at most.
    pub farthest: f64,
}

impl Summary {
    /// None for no measurements.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Summary> {
        let mut sorted: Vec<f64> = values.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let at = |part| quantile(&sorted, part);
        (!sorted.is_empty()).then(|| Summary {
            median: at(0.5),
            q1: at(0.25),
            q3: at(0.75),
            farthest: 0.0,
        })
    }

    /// Of measurements in parts of these lengths, such as those of each process.
    pub fn of_parts(values: &[f64], lengths: &[usize]) -> Option<Summary> {
        let all = Summary::of(values.iter().copied())?;
        let (mut rest, mut farthest) = (values, 0f64);
        for length in lengths {
            let (part, others) = rest.split_at((*length).min(rest.len()));
            let part = Summary::of(part.iter().copied()).map_or(all.median, |part| part.median);
            farthest = farthest.max((part - all.median).abs());
            rest = others;
        }
        Some(Summary { farthest, ..all })
    }

    /// Half the distance between the quartiles, but not less than the distance to the median of any
    /// part; as a fraction of the median. Parts tell more than quartiles about how another run
    /// would differ.
    pub fn spread(&self) -> f64 {
        self.farthest.max((self.q3 - self.q1) / 2.0) / self.median
    }
}

/// By linear interpolation between the two nearest.
fn quantile(sorted: &[f64], part: f64) -> f64 {
    let place = part * (sorted.len().saturating_sub(1)) as f64;
    let below = place.floor() as usize;
    let above = place.ceil() as usize;
    match (sorted.get(below), sorted.get(above)) {
        (Some(&a), Some(&b)) => a + (b - a) * (place - below as f64),
        _ => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles() {
        let s = Summary::of([5.0, 1.0, 3.0, 2.0, 4.0]).unwrap();
        assert_eq!((s.q1, s.median, s.q3), (2.0, 3.0, 4.0));
        assert_eq!(Summary::of([1.0, 2.0]).unwrap().median, 1.5);
        assert_eq!(Summary::of([]), None);
        assert!((s.spread() - 1.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn the_spread_reaches_the_median_of_every_part() {
        let values = [10.0, 10.0, 10.0, 10.0, 10.0, 10.0, 8.0, 8.5, 9.0];
        let spread = |lengths: &[usize]| Summary::of_parts(&values, lengths).unwrap().spread();
        assert!((spread(&[6, 3]) - 0.15).abs() < 1e-12);
        assert_eq!(spread(&[9]), Summary::of(values).unwrap().spread());
        assert!(spread(&[]) < 0.06);
    }
}
