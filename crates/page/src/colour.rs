use std::str::FromStr;

/// The operator's accent colour, and the nearest shades of it that are legible on the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Colour([u8; 3]);

impl Colour {
    const WHITE: Self = Self([255; 3]);
    /// The background of the page's card in dark mode.
    const DARK: Self = Self([0x21, 0x1b, 0x12]);
    /// The contrast that WCAG requires of text. The accent is used as text on the card and as background of text.
    const LEGIBLE: f64 = 4.5;

    /// The nearest shade of this colour that is legible on the light page.
    pub(crate) fn on_light(self) -> Self {
        self.legible_on(Self::WHITE, Self([0; 3]))
    }

    pub(crate) fn on_dark(self) -> Self {
        self.legible_on(Self::DARK, Self::WHITE)
    }

    fn legible_on(self, background: Self, extreme: Self) -> Self {
        let shades = (0..=20).map(|step| self.mixed_with(extreme, f64::from(step) / 20.0));
        let mut legible = shades.filter(|shade| shade.contrast(background) >= Self::LEGIBLE);
        legible.next().unwrap_or(extreme)
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a mix of bytes is a byte")]
    fn mixed_with(self, other: Self, share: f64) -> Self {
        let mix = |index: usize| {
            let (own, others) = (f64::from(self.0[index]), f64::from(other.0[index]));
            (own + (others - own) * share).round() as u8
        };
        Self([mix(0), mix(1), mix(2)])
    }

    /// WCAG's contrast ratio, from 1 to 21.
    fn contrast(self, other: Self) -> f64 {
        let (a, b) = (self.luminance(), other.luminance());
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    fn luminance(self) -> f64 {
        let linear = |byte: u8| {
            let share = f64::from(byte) / 255.0;
            if share <= 0.04045 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
        };
        let [red, green, blue] = self.0.map(linear);
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }
}

impl std::fmt::Display for Colour {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [red, green, blue] = self.0;
        write!(f, "#{red:02x}{green:02x}{blue:02x}")
    }
}

impl FromStr for Colour {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        const EXPECTED: &str = "must be a colour such as #b26a00";
        let digits = text.strip_prefix('#').filter(|digits| digits.len() == 6).ok_or(EXPECTED)?;
        let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = u32::from_str_radix(digits, 16).ok().filter(|_| is_hex).ok_or(EXPECTED)?;
        let [_, red, green, blue] = number.to_be_bytes();
        Ok(Self([red, green, blue]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn legible_colours_stay_and_others_become_legible() {
        let shades = |text: &str| {
            let colour: Colour = text.parse().unwrap();
            (colour.on_light().to_string(), colour.on_dark().to_string())
        };
        assert_eq!(shades("#8f5600").0, "#8f5600");
        assert_eq!(shades("#ffffff").1, "#ffffff");
        for extreme in ["#ffff00", "#000000", "#ffffff", "#0000ff", "#21aa6e"] {
            let colour: Colour = extreme.parse().unwrap();
            assert!(colour.on_light().contrast(Colour::WHITE) >= 4.5, "{extreme}");
            assert!(colour.on_dark().contrast(Colour::DARK) >= 4.5, "{extreme}");
        }
    }

    #[test]
    fn contrast_matches_wcag_examples() {
        let black = Colour([0; 3]);
        assert!((black.contrast(Colour::WHITE) - 21.0).abs() < 0.001);
        let grey: Colour = "#767676".parse().unwrap();
        assert!((grey.contrast(Colour::WHITE) - 4.54).abs() < 0.01);
    }

    #[test]
    fn invalid_colours_are_refused() {
        for text in ["", "#", "red", "#fff", "b26a00", "#b26a0", "#b26a0000", "#+26a00", "#é6a00"] {
            assert_eq!(text.parse::<Colour>(), Err("must be a colour such as #b26a00"), "{text}");
        }
    }
}
