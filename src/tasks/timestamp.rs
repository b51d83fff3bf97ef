//! The clock of the list: moments as ISO 8601 text in UTC, with milliseconds, as JavaScript writes them.

use std::time::{SystemTime, UNIX_EPOCH};

const MS_A_DAY: u64 = 86_400_000;

/// This moment.
pub(super) fn now() -> String {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    timestamp(u64::try_from(since_epoch.as_millis()).unwrap_or_default())
}

/// The moment so many milliseconds after the epoch.
fn timestamp(ms: u64) -> String {
    let (year, month, day) = date(ms / MS_A_DAY);
    let ms = ms % MS_A_DAY;
    let (hour, minute, second, ms) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1000 % 60, ms % 1000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
}

/// Year, month and day of a day counted from 1970-01-01.
fn date(days: u64) -> (u64, u64, u64) {
    // 400 years have as many days wherever they begin, so no loop below runs over more.
    let mut year = 1970 + days / 146_097 * 400;
    let mut day = days % 146_097;
    while day >= days_of_year(year) {
        day -= days_of_year(year);
        year += 1;
    }
    let february = if is_leap(year) { 29 } else { 28 };
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if day < length {
            break;
        }
        day -= length;
        month += 1;
    }
    (year, month, day + 1)
}

fn days_of_year(year: u64) -> u64 {
    if is_leap(year) { 366 } else { 365 }
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400)
}

#[cfg(test)]
mod tests {
    use super::{now, timestamp};

    #[test]
    fn moments_are_written_as_javascript_does() {
        for (ms, expected) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_827_696_789, "2000-02-29T12:34:56.789Z"),
            (978_307_199_999, "2000-12-31T23:59:59.999Z"),
            (1_709_251_199_999, "2024-02-29T23:59:59.999Z"),
            (1_709_251_200_000, "2024-03-01T00:00:00.000Z"),
            (1_796_095_200_001, "2026-12-01T03:20:00.001Z"),
            (4_107_542_399_000, "2100-02-28T23:59:59.000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (13_574_649_599_000, "2400-02-29T23:59:59.000Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(timestamp(ms), expected);
        }
        assert!(now() > timestamp(1_700_000_000_000));
    }
}
