// SPDX-License-Identifier: BSD-2-Clause
//! Medians and their confidence intervals: percentile bootstrap (Efron and Tibshirani, An
//! Introduction to the Bootstrap, 1993, chapters 13 and 8 for data in clusters).

use fastrand::Rng;

/// What the interval of a figure is, for those who read it.
pub const INTERVAL: &str =
    "half of the 95 % confidence interval of the median, by a bootstrap over processes and rounds.";

/// A median, and its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    pub median: f64,
    pub low: f64,
    pub high: f64,
}

/// Resamples. The ends of the interval are the fifth from either end.
const RESAMPLES: usize = 200;
const TAIL: f64 = 0.025;

impl Summary {
    /// Of independent measurements. None of nothing.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Summary> {
        let values: Vec<f64> = values.into_iter().collect();
        Summary::of_parts(&values, &[])
    }

    /// Of measurements in parts of these lengths, such as those of each process. A resample draws
    /// as many parts, and in each as many of its measurements: those of one part have more in
    /// common than those of two.
    pub fn of_parts(values: &[f64], lengths: &[usize]) -> Option<Summary> {
        let median = median(values.iter().copied())?;
        let (mut rest, mut parts) = (values, Vec::new());
        for length in lengths {
            let (part, others) = rest.split_at((*length).min(rest.len()));
            parts.push(part);
            rest = others;
        }
        parts.push(rest);
        parts.retain(|part| !part.is_empty());
        // A fixed seed, so that the same measurements have the same interval.
        let mut random = Rng::with_seed(1);
        let mut resample = Vec::with_capacity(values.len());
        let mut medians = Vec::with_capacity(RESAMPLES);
        for _ in 0..RESAMPLES {
            resample.clear();
            for _ in 0..parts.len() {
                let part = parts[random.usize(..parts.len())];
                resample.extend(part.iter().map(|_| part[random.usize(..part.len())]));
            }
            medians.extend(quantile(&mut resample, 0.5));
        }
        Some(Summary {
            median,
            low: quantile(&mut medians, TAIL)?,
            high: quantile(&mut medians, 1.0 - TAIL)?,
        })
    }

    /// Half the width of the interval, as a fraction of the median.
    pub fn spread(&self) -> f64 {
        (self.high - self.low) / 2.0 / self.median
    }
}

/// None of nothing.
pub fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    quantile(&mut values.into_iter().collect::<Vec<_>>(), 0.5)
}

/// The first and the third; None of nothing.
pub fn quartiles(values: impl IntoIterator<Item = f64>) -> Option<[f64; 2]> {
    let mut values: Vec<f64> = values.into_iter().collect();
    Some([quantile(&mut values, 0.25)?, quantile(&mut values, 0.75)?])
}

/// By linear interpolation between the two nearest; None of nothing.
fn quantile(values: &mut [f64], part: f64) -> Option<f64> {
    let place = part * values.len().checked_sub(1)? as f64;
    let below = place.floor() as usize;
    let (_, &mut a, above) = values.select_nth_unstable_by(below, f64::total_cmp);
    let b = above.iter().copied().min_by(f64::total_cmp).unwrap_or(a);
    Some(a + (b - a) * (place - below as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles() {
        let values = [5.0, 1.0, 3.0, 2.0, 4.0];
        assert_eq!(
            (median(values), quartiles(values)),
            (Some(3.0), Some([2.0, 4.0]))
        );
        assert_eq!((median([1.0, 2.0]), median([])), (Some(1.5), None));
        assert_eq!(Summary::of([]), None);
        let one = Summary::of([7.0]).unwrap();
        assert_eq!((one.median, one.spread()), (7.0, 0.0));
    }

    #[test]
    fn the_interval_is_the_same_for_the_same_measurements() {
        let values = [10.0, 11.0, 9.0, 12.0, 8.0, 10.5];
        assert_eq!(Summary::of(values), Summary::of(values));
        let s = Summary::of(values).unwrap();
        assert!(8.0 <= s.low && s.low < s.median && s.median < s.high && s.high <= 12.0);
    }

    /// Measurements of one process have more in common than those of two.
    #[test]
    fn parts_that_differ_widen_the_interval() {
        let values = [10.0, 10.0, 10.0, 10.0, 10.0, 10.0, 8.0, 8.5, 9.0];
        let spread = |lengths: &[usize]| Summary::of_parts(&values, lengths).unwrap().spread();
        assert!(spread(&[6, 3]) > spread(&[9]), "{}", spread(&[6, 3]));
    }

    #[test]
    fn quantiles_between_two_values() {
        assert_eq!(quartiles([1.0, 2.0]), Some([1.25, 1.75]));
        assert_eq!(quartiles([4.0, 3.0, 2.0, 1.0]), Some([1.75, 3.25]));
        assert_eq!((quartiles([]), quartiles([7.0])), (None, Some([7.0, 7.0])));
        assert_eq!(median([4.0, 1.0, 3.0, 2.0]), Some(2.5));
    }

    #[test]
    fn a_spread_is_half_of_the_interval() {
        let uneven = Summary {
            median: 4.0,
            low: 3.0,
            high: 7.0,
        };
        assert_eq!(uneven.spread(), 0.5);
    }

    /// Of 200 medians, the fifth from either end and what is between it and the next.
    #[test]
    fn the_interval_has_95_percent() {
        let values: Vec<f64> = (0..1000).map(f64::from).collect();
        let s = Summary::of(values.iter().copied()).unwrap();
        // The standard deviation of the median of n even values is half their range / sqrt(n): 16
        // here, and 1.96 of them are 31.
        assert!((455.0..480.0).contains(&s.low), "{s:?}");
        assert!((519.0..544.0).contains(&s.high), "{s:?}");
        // Parts of no length, and more lengths than there are values.
        let parts = |lengths: &[usize]| Summary::of_parts(&values, lengths).unwrap();
        assert_eq!(parts(&[]), s);
        assert_eq!(
            (parts(&[0, 0]), parts(&[1000]), parts(&[5000, 9])),
            (s, s, s)
        );
        assert_ne!(parts(&[500]), s);
    }
}
