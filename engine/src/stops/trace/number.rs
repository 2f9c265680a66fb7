//! Numbers of tracepoints, and how often they are in which range.

use crate::expr::query::Scale;
use std::collections::BTreeMap;
use std::fmt;

/// A number.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Number {
    /// An integer.
    Int(i128),
    /// A float.
    Float(f64),
}

impl Number {
    /// Returns it as a float, rounded.
    pub fn to_f64(self) -> f64 {
        match self {
            Number::Int(int) => int as f64,
            Number::Float(float) => float,
        }
    }

    pub(super) fn is_nan(self) -> bool {
        matches!(self, Number::Float(float) if float.is_nan())
    }

    pub(super) fn plus(self, other: Number) -> Number {
        match (self, other) {
            (Number::Int(a), Number::Int(b)) => Number::Int(a.wrapping_add(b)),
            _ => Number::Float(self.to_f64() + other.to_f64()),
        }
    }

    pub(super) fn least(self, other: Number) -> Number {
        match other.is_less(self) {
            true => other,
            false => self,
        }
    }

    pub(super) fn greatest(self, other: Number) -> Number {
        match self.is_less(other) {
            true => other,
            false => self,
        }
    }

    fn is_less(self, other: Number) -> bool {
        match (self, other) {
            (Number::Int(a), Number::Int(b)) => a < b,
            // -0.0 is less than 0.0, as in the program.
            _ => self.to_f64().total_cmp(&other.to_f64()).is_lt(),
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Number::Int(int) => int.fmt(f),
            Number::Float(float) => float.fmt(f),
        }
    }
}

/// How often values are in each bucket of a scale.
#[derive(Clone, PartialEq, Debug)]
pub struct Histogram {
    scale: Scale,
    /// Whether values are floats.
    is_float: bool,
    /// By the order of buckets; those of a logarithmic scale below 0 are negative.
    counts: BTreeMap<i32, u64>,
    /// Floats that are not a number.
    not_numbers: u64,
}

impl Histogram {
    pub(super) fn new(scale: Scale) -> Histogram {
        Histogram {
            scale,
            is_float: false,
            counts: BTreeMap::new(),
            not_numbers: 0,
        }
    }

    /// Adds a value.
    pub(super) fn add(&mut self, number: Number) {
        self.is_float |= matches!(number, Number::Float(_));
        if number.is_nan() {
            return self.add_not_numbers(1);
        }
        let bucket = match self.scale {
            Scale::Log2 => match number {
                Number::Int(int) => {
                    let bits = 128 - int.unsigned_abs().leading_zeros() as i32;
                    if int < 0 { -bits } else { bits }
                }
                Number::Float(float) => float_bucket(float),
            },
            Scale::Linear { from, to, step } => {
                let number = number.to_f64();
                if number < from as f64 {
                    0
                } else if number >= to as f64 {
                    Scale::buckets(from, to, step) as i32 + 1
                } else {
                    ((number - from as f64) / step as f64) as i32 + 1
                }
            }
        };
        self.add_bucket(bucket, 1, self.is_float);
    }

    /// Adds values of a bucket: of a linear scale from 0 on, the first one below all others.
    pub(super) fn add_bucket(&mut self, bucket: i32, count: u64, is_float: bool) {
        self.is_float = is_float;
        let counted = self.counts.entry(bucket).or_default();
        *counted = counted.saturating_add(count);
    }

    /// Adds floats that are not a number.
    pub(super) fn add_not_numbers(&mut self, count: u64) {
        self.is_float = true;
        self.not_numbers = self.not_numbers.saturating_add(count);
    }

    pub(super) fn merge(&mut self, other: &Histogram) {
        self.not_numbers = self.not_numbers.saturating_add(other.not_numbers);
        self.is_float |= other.is_float;
        for (bucket, count) in &other.counts {
            self.add_bucket(*bucket, *count, other.is_float);
        }
    }

    /// Returns the buckets from the first to the last that has values: the lower bound, which is in
    /// it (`None`: there is none), the upper bound, which is not, and the number of values. Bounds
    /// of integers are whole numbers. Of a logarithmic scale, a bucket of values below 0 has them
    /// the other way round. The last one, without bounds, has the floats that are not a number.
    pub fn buckets(&self) -> Vec<(Option<f64>, Option<f64>, u64)> {
        let mut buckets = Vec::new();
        if let (Some(first), Some(last)) =
            (self.counts.keys().next(), self.counts.keys().next_back())
        {
            buckets.extend((*first..=*last).map(|bucket| {
                let (from, to) = self.bounds(bucket);
                (from, to, self.counts.get(&bucket).copied().unwrap_or(0))
            }));
        }
        if self.not_numbers > 0 {
            buckets.push((None, None, self.not_numbers));
        }
        buckets
    }

    fn bounds(&self, bucket: i32) -> (Option<f64>, Option<f64>) {
        match self.scale {
            Scale::Log2 => {
                let power = |bucket: i32| match (bucket, self.is_float) {
                    (0, _) => 0.0,
                    (bucket, false) => 2f64.powi(bucket - 1),
                    (bucket, true) => 2f64.powi(bucket - 1 - super::decode::EXPONENTS),
                };
                let last = 2 * super::decode::EXPONENTS;
                match bucket {
                    0 if self.is_float => (Some(0.0), Some(0.0)),
                    // The first and the last hold all that is nearer to 0, or farther from it.
                    1 if self.is_float => (Some(0.0), Some(power(2))),
                    -1 if self.is_float => (Some(-0.0), Some(-power(2))),
                    _ if self.is_float && bucket == last => (Some(power(bucket)), None),
                    _ if self.is_float && bucket == -last => (Some(-power(last)), None),
                    0 => (Some(0.0), Some(1.0)),
                    1.. => (Some(power(bucket)), Some(power(bucket + 1))),
                    _ => (Some(-power(-bucket)), Some(-power(1 - bucket))),
                }
            }
            Scale::Linear { from, to, step } => {
                let last = Scale::buckets(from, to, step) as i32;
                let at = |bucket: i32| {
                    let bound = i128::from(from) + i128::from(bucket) * i128::from(step);
                    bound.min(i128::from(to)) as f64
                };
                match bucket {
                    0 => (None, Some(from as f64)),
                    bucket if bucket > last => (Some(to as f64), None),
                    bucket => (Some(at(bucket - 1)), Some(at(bucket))),
                }
            }
        }
    }
}

/// Returns the bucket of a float: by its exponent, as far as that has a bucket.
fn float_bucket(float: f64) -> i32 {
    if float == 0.0 {
        return 0;
    }
    let exponent = (float.to_bits() >> 52 & 0x7ff) as i32 - 1023;
    let most = super::decode::EXPONENTS;
    let bucket = exponent.clamp(-most, most - 1) + most + 1;
    if float < 0.0 { -bucket } else { bucket }
}
