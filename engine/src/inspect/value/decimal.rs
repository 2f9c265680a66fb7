//! Shortest decimal texts of floating-point formats without a Rust type, after Burger and Dybvig,
//! "Printing Floating-Point Numbers Quickly and Accurately" (1996).

use super::scalar::Float;
use std::cmp::Ordering;

/// A finite number: `mantissa` times two to the power of `exponent`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parts {
    /// Whether it is negative.
    pub negative: bool,
    /// Absolute value of the mantissa.
    pub mantissa: u128,
    /// Exponent of two.
    pub exponent: i32,
    /// Whether the next lower number is half as far away as the next higher one.
    narrow: bool,
}

/// Decomposes a number; `None` for infinities and NaN.
pub fn parts(format: Float, bits: u128) -> Option<Parts> {
    // Number of exponent and fraction bits, and whether the leading bit is stored.
    let (exponent_bits, fraction_bits, explicit) = match format {
        Float::Half => (5, 10, false),
        Float::Brain => (8, 7, false),
        Float::Single => (8, 23, false),
        Float::Double => (11, 52, false),
        Float::Extended => (15, 63, true),
        Float::Quad => (15, 112, false),
    };
    let stored = fraction_bits + u32::from(explicit);
    let top = (1 << exponent_bits) - 1;
    let written = (bits >> stored) as i32 & top;
    if written == top {
        return None;
    }
    let leading = 1 << fraction_bits;
    let mut mantissa = bits & ((1 << stored) - 1);
    if !explicit && written > 0 {
        mantissa |= leading;
    }
    Some(Parts {
        negative: bits >> (stored + exponent_bits) & 1 == 1,
        mantissa,
        exponent: written.max(1) - (top >> 1) - fraction_bits as i32,
        narrow: mantissa == leading && written > 1,
    })
}

impl Parts {
    /// Returns the fewest digits that identify the number within its format, and the power of ten
    /// of the first one. Empty for zero.
    pub fn digits(self) -> (String, i32) {
        if self.mantissa == 0 {
            return (String::new(), 0);
        }
        let even = self.mantissa.is_multiple_of(2);
        let up = self.exponent.max(0) as u32;
        let down = self.exponent.min(0).unsigned_abs();
        let extra = u32::from(self.narrow);
        // The number is `rest / scale`. `above` and `below` are half the distances to the next
        // higher and lower number, in the same scale.
        let mut rest = Natural::new(self.mantissa).shifted(up + 1 + extra);
        let mut scale = Natural::new(1).shifted(down + 1 + extra);
        let mut above = Natural::new(1).shifted(up + extra);
        let mut below = Natural::new(1).shifted(up);
        let length = 128 - self.mantissa.leading_zeros() as i32;
        let log = f64::from(length + self.exponent - 1) * std::f64::consts::LOG10_2;
        let mut power = (log - 1e-10).ceil() as i32;
        for _ in 0..power {
            scale.multiply(10);
        }
        for _ in power..0 {
            rest.multiply(10);
            above.multiply(10);
            below.multiply(10);
        }
        let reaches = |rest: &Natural, above: &Natural, scale: &Natural| match rest
            .plus(above)
            .compare(scale)
        {
            Ordering::Greater => true,
            Ordering::Equal => even,
            Ordering::Less => false,
        };
        if reaches(&rest, &above, &scale) {
            power += 1;
        } else {
            rest.multiply(10);
            above.multiply(10);
            below.multiply(10);
        }
        let mut digits = String::new();
        loop {
            let mut digit = 0;
            while rest.compare(&scale) != Ordering::Less {
                rest.subtract(&scale);
                digit += 1;
            }
            let low = match rest.compare(&below) {
                Ordering::Less => true,
                Ordering::Equal => even,
                Ordering::Greater => false,
            };
            let high = reaches(&rest, &above, &scale);
            if low || high {
                let nearer_above = rest.plus(&rest).compare(&scale) != Ordering::Less;
                let last = digit + u32::from(high && (!low || nearer_above));
                digits.extend(char::from_digit(last, 10));
                return (digits, power - 1);
            }
            digits.extend(char::from_digit(digit, 10));
            rest.multiply(10);
            above.multiply(10);
            below.multiply(10);
        }
    }

    /// Returns the shortest text that parses as the number.
    pub fn text(self) -> String {
        let (digits, power) = self.digits();
        let sign = if self.negative { "-" } else { "" };
        let Some((first, others)) = digits.split_at_checked(1) else {
            return format!("{sign}0");
        };
        let last = digits.len() as i32 - 1;
        match power {
            _ if !(-5..16).contains(&power) && others.is_empty() => {
                format!("{sign}{first}e{power}")
            }
            _ if !(-5..16).contains(&power) => format!("{sign}{first}.{others}e{power}"),
            ..0 => format!("{sign}0.{}{digits}", "0".repeat((-power - 1) as usize)),
            _ if power >= last => format!("{sign}{digits}{}", "0".repeat((power - last) as usize)),
            _ => {
                let (whole, fraction) = digits.split_at(power as usize + 1);
                format!("{sign}{whole}.{fraction}")
            }
        }
    }
}

/// A natural number, least significant word first, without leading zeros.
struct Natural(Vec<u32>);

impl Natural {
    fn new(number: u128) -> Natural {
        let words = (0..4).map(|word| (number >> (32 * word)) as u32);
        Natural(words.collect()).trimmed()
    }

    fn trimmed(mut self) -> Natural {
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
        self
    }

    fn shifted(self, bits: u32) -> Natural {
        let mut words = vec![0; (bits / 32) as usize];
        let mut carry = 0;
        for word in self.0 {
            let wide = u64::from(word) << (bits % 32) | carry;
            words.push(wide as u32);
            carry = wide >> 32;
        }
        words.push(carry as u32);
        Natural(words).trimmed()
    }

    fn multiply(&mut self, factor: u32) {
        let mut carry = 0;
        for word in &mut self.0 {
            let wide = u64::from(*word) * u64::from(factor) + carry;
            *word = wide as u32;
            carry = wide >> 32;
        }
        if carry > 0 {
            self.0.push(carry as u32);
        }
    }

    fn plus(&self, other: &Natural) -> Natural {
        let mut words = Vec::with_capacity(self.0.len().max(other.0.len()) + 1);
        let mut carry = 0;
        for at in 0..self.0.len().max(other.0.len()) {
            let word = |number: &Natural| u64::from(number.0.get(at).copied().unwrap_or(0));
            let wide = word(self) + word(other) + carry;
            words.push(wide as u32);
            carry = wide >> 32;
        }
        words.push(carry as u32);
        Natural(words).trimmed()
    }

    /// Subtracts a number that is not larger.
    fn subtract(&mut self, other: &Natural) {
        let mut borrow = false;
        for (at, word) in self.0.iter_mut().enumerate() {
            let (less, under) = word.overflowing_sub(other.0.get(at).copied().unwrap_or(0));
            let (less, under_too) = less.overflowing_sub(u32::from(borrow));
            *word = less;
            borrow = under || under_too;
        }
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }

    fn compare(&self, other: &Natural) -> Ordering {
        let by_length = self.0.len().cmp(&other.0.len());
        by_length.then_with(|| self.0.iter().rev().cmp(other.0.iter().rev()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(format: Float, bits: u128) -> String {
        parts(format, bits).map_or("none".into(), Parts::text)
    }

    #[test]
    fn as_rust_writes_doubles() {
        let mut bits = 0x1234_5678_9abc_def0_u64;
        for _ in 0..2000 {
            bits = bits
                .wrapping_mul(0x5851_f42d_4c95_7f2d)
                .wrapping_add(0x1405_7b7e_f767_814f);
            let number = f64::from_bits(bits);
            if !number.is_finite() {
                continue;
            }
            let (digits, power) = parts(Float::Double, bits.into()).unwrap().digits();
            let theirs = format!("{:e}", number.abs());
            let (mantissa, exponent) = theirs.split_once('e').unwrap();
            assert_eq!(digits, mantissa.replace('.', ""), "{number:e}");
            assert_eq!(power.to_string(), exponent, "{number:e}");
        }
    }

    #[test]
    fn texts() {
        // 0.1L, 3.0L, the largest, the smallest, pi; 0.1 in half; 0.1Q.
        for (bits, expected) in [
            (0x3ffb_cccc_cccc_cccc_cccd, "0.1"),
            (0x4000_c000_0000_0000_0000, "3"),
            (0x7ffe_ffff_ffff_ffff_ffff, "1.189731495357231765e4932"),
            (1, "4e-4951"),
            (0xc000_c90f_daa2_2168_c235, "-3.1415926535897932385"),
            (0x4018_8000_0000_0000_0000, "33554432"),
            (0x3ff0_8000_0000_0000_0000, "0.000030517578125"),
            (0, "0"),
            (0x7fff_8000_0000_0000_0000, "none"),
        ] {
            assert_eq!(text(Float::Extended, bits), expected);
        }
        assert_eq!(text(Float::Half, 0x2e66), "0.1");
        assert_eq!(text(Float::Half, 0x7bff), "65500");
        assert_eq!(text(Float::Brain, 0x3dcd), "0.1");
        assert_eq!(
            text(Float::Quad, 0x3ffb_9999_9999_9999_9999_9999_9999_999a),
            "0.1"
        );
    }
}
