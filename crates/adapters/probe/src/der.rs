//! When a certificate expires. It is read from the few fields of X.509 (RFC 5280) that come before it.

use waitroom::Timestamp;

const INTEGER: u8 = 0x02;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
/// The version, which a certificate may leave out.
const VERSION: u8 = 0xa0;

/// What is left to read of a DER encoding.
struct DerReader<'a>(&'a [u8]);

/// The last instant at which this certificate is valid; none if it cannot be read.
pub(crate) fn expires(certificate: &[u8]) -> Option<Timestamp> {
    let mut signed = DerReader(DerReader(certificate).field(SEQUENCE)?);
    let mut fields = DerReader(signed.field(SEQUENCE)?);
    if fields.0.first() == Some(&VERSION) {
        fields.field(VERSION)?;
    }
    fields.field(INTEGER)?; // The serial number.
    fields.field(SEQUENCE)?; // How it is signed.
    fields.field(SEQUENCE)?; // Who has signed it.
    let mut validity = DerReader(fields.field(SEQUENCE)?);
    validity.time()?;
    validity.time()
}

impl<'a> DerReader<'a> {
    /// The content of the next field, which must have this tag.
    fn field(&mut self, tag: u8) -> Option<&'a [u8]> {
        let (&found, rest) = self.0.split_first()?;
        let (&first, mut rest) = rest.split_first()?;
        let mut length = usize::from(first);
        if first >= 0x80 {
            // The length itself is a number of so many bytes.
            let (bytes, after) = rest.split_at_checked(usize::from(first & 0x7f))?;
            if bytes.len() > 4 {
                return None;
            }
            length = bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte));
            rest = after;
        }
        let (content, after) = rest.split_at_checked(length)?;
        self.0 = after;
        (found == tag).then_some(content)
    }

    /// `YYMMDDHHMMSSZ` until 2049, and `YYYYMMDDHHMMSSZ` from then on.
    fn time(&mut self) -> Option<Timestamp> {
        let tag = *self.0.first()?;
        let text = std::str::from_utf8(self.field(tag)?).ok()?.strip_suffix('Z')?;
        let (year, rest) = match tag {
            UTC_TIME => {
                let (year, rest) = (number(text.get(..2)?)?, text.get(2..)?);
                (if year < 50 { 2000 + year } else { 1900 + year }, rest)
            }
            GENERALIZED_TIME => (number(text.get(..4)?)?, text.get(4..)?),
            _ => return None,
        };
        let part = |at: usize| number(rest.get(at..at + 2)?);
        let seconds = part(4)? * 3600 + part(6)? * 60 + part(8)?;
        let since_1970 = days(year, part(0)?, part(2)?)?.checked_mul(86_400)?.checked_add(seconds)?;
        Some(Timestamp::from_millis(since_1970.checked_mul(1000)?))
    }
}

fn number(digits: &str) -> Option<u64> {
    if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok() } else { None }
}

/// How many days after 1 January 1970 this day is. Years begin in March here, so that a leap day is the last of its year.
fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let (year, month) = if month > 2 { (year, month - 3) } else { (year.checked_sub(1)?, month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    days.checked_sub(719_468)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that finds something else fails")]
mod tests {
    use super::*;

    fn field(tag: u8, content: &[u8]) -> Vec<u8> {
        let length = u16::try_from(content.len()).unwrap().to_be_bytes();
        [&[tag, 0x82], &length[..], content].concat()
    }

    fn certificate(not_after: &[u8]) -> Vec<u8> {
        let validity = [field(UTC_TIME, b"260101000000Z"), not_after.to_vec()].concat();
        let fields = [
            field(VERSION, &field(INTEGER, &[2])),
            field(INTEGER, &[7; 20]),
            field(SEQUENCE, &[]),
            field(SEQUENCE, &[0; 300]),
            field(SEQUENCE, &validity),
        ];
        field(SEQUENCE, &field(SEQUENCE, &fields.concat()))
    }

    #[test]
    fn the_end_is_read_in_both_forms_of_a_time() {
        let read = |tag, time: &[u8]| expires(&certificate(&field(tag, time))).map(|at| at.to_string());
        let before_2050 = read(UTC_TIME, b"270305110000Z");
        assert_eq!(before_2050.as_deref(), Some("2027-03-05 11:00:00 UTC"));
        let after_2050 = read(GENERALIZED_TIME, b"20520229235959Z");
        assert_eq!(after_2050.as_deref(), Some("2052-02-29 23:59:59 UTC"));
        assert_eq!(read(UTC_TIME, b"991231235959Z").as_deref(), Some("1999-12-31 23:59:59 UTC"));
    }

    #[test]
    fn what_is_no_certificate_is_not_read() {
        let good = certificate(&field(UTC_TIME, b"270305110000Z"));
        for end in 0..good.len() {
            assert_eq!(expires(&good[..end]), None, "{end}");
        }
        for time in [&b"270305110000"[..], b"2703", b"271305110000Z", b"27\xff305110000Z", b"-70305110000Z"] {
            assert_eq!(expires(&certificate(&field(UTC_TIME, time))), None);
        }
        assert_eq!(expires(&[SEQUENCE, 0xff]), None);
    }

    #[test]
    fn no_damaged_byte_makes_it_panic() {
        let times = [field(UTC_TIME, b"270305110000Z"), field(GENERALIZED_TIME, b"20520229235959Z")];
        for good in times.map(|time| certificate(&time)) {
            for at in 0..good.len() {
                let mut damaged = good.clone();
                for byte in 0..=u8::MAX {
                    damaged[at] = byte;
                    // Arithmetic that overflows panics in a test.
                    std::hint::black_box(expires(&damaged));
                }
            }
        }
    }
}
