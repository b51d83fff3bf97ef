//! Numbers of JSON text as they are written, and the integer that one stands for. Exact: nothing goes through a float.

/// A number as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Number(pub(super) Box<str>);

/// More digits than any integer of 64 bits has.
const MAX_DIGITS: usize = 18;

impl Number {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The integer of this value: `1.0` and `1e3` are integers. None for a fraction, and for more than 18 digits.
    pub fn as_integer(&self) -> Option<i64> {
        let (sign, unsigned) = match self.0.strip_prefix('-') {
            Some(rest) => (-1, rest),
            None => (1, &*self.0),
        };
        let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{whole}{fraction}");
        let significant = digits.trim_end_matches('0');
        let leading = significant.trim_start_matches('0');
        if leading.is_empty() {
            return Some(0);
        }
        let dropped_zeros = digits.len() - significant.len();
        // An exponent that is no number of 64 bits is far from any integer that is wanted.
        let exponent: i64 = exponent.parse().ok()?;
        let scale = exponent
            .checked_add(i64::try_from(dropped_zeros).ok()?)?
            .checked_sub(i64::try_from(fraction.len()).ok()?)?;
        let scale = usize::try_from(scale).ok()?;
        if leading.len().checked_add(scale)? > MAX_DIGITS {
            return None;
        }
        let integer: i64 = leading.parse().ok()?;
        Some(sign * integer * 10_i64.pow(u32::try_from(scale).ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::Number;

    #[test]
    fn integers_are_told_by_value() {
        for (text, value) in [
            ("0", Some(0)),
            ("-0", Some(0)),
            ("0.0e9", Some(0)),
            ("0e99999999999999999999", Some(0)),
            ("1", Some(1)),
            ("-12", Some(-12)),
            ("1.0", Some(1)),
            ("1.50e1", Some(15)),
            ("1e3", Some(1000)),
            ("1E+3", Some(1000)),
            ("1000e-3", Some(1)),
            ("120000.000", Some(120_000)),
            ("999999999999999999", Some(999_999_999_999_999_999)),
            ("0.000000000000000000000001e24", Some(1)),
            ("1.5", None),
            ("1e-1", None),
            ("1.00000000000000000000000000001", None),
            ("1e99", None),
            ("1e99999999999999999999", None),
            ("1e-99999999999999999999", None),
            ("1000000000000000000", None),
            ("9223372036854775808", None),
        ] {
            assert_eq!(Number(text.into()).as_integer(), value, "{text}");
        }
    }
}
