// SPDX-License-Identifier: BSD-2-Clause
//! Medians and quartiles.

/// The middle of some measurements and how far they lie apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    pub median: f64,
    /// First and third quartile: half of all measurements lie between them.
    pub q1: f64,
    pub q3: f64,
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
        })
    }

    /// Half the distance between the quartiles, as a fraction of the median.
    pub fn spread(&self) -> f64 {
        (self.q3 - self.q1) / 2.0 / self.median
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
}
