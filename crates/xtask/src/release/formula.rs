//! The formula by which Homebrew installs the archives.

use std::fmt::Write;
use std::path::Path;

use anyhow::Result;

use super::checksums;
use super::commit::REPOSITORY;
use crate::platform::Platform;

/// With a part for each archive that is in the folder.
pub(super) fn of_homebrew(version: &str, folder: &Path) -> Result<String> {
    let mut parts = String::new();
    for (system, processor, platform) in [
        ("macos", "arm", Platform::MacArm),
        ("macos", "intel", Platform::MacX86),
        ("linux", "arm", Platform::LinuxArm),
        ("linux", "intel", Platform::LinuxX86),
    ] {
        let archive = folder.join(platform.archive());
        if archive.exists() {
            let url = format!("{REPOSITORY}/releases/download/v{version}/{}", platform.archive());
            let sum = checksums::of(&archive)?;
            // Writing to a string cannot fail.
            let _ = write!(
                parts,
                "\n  on_{system} do\n    on_{processor} do\n      url \"{url}\"\n      sha256 \"{sum}\"\n    end\n  end\n"
            );
        }
    }
    Ok(format!(
        "class Beekeeper < Formula
  desc \"Virtual waiting room that you run yourself\"
  homepage \"{REPOSITORY}\"
  version \"{version}\"
  license any_of: [\"MIT\", \"Apache-2.0\"]
{parts}
  def install
    bin.install \"beekeeper\"
    man1.install Dir[\"man/man1/*\"]
    bash_completion.install \"completions/beekeeper.bash\" => \"beekeeper\"
    zsh_completion.install \"completions/_beekeeper\"
    fish_completion.install \"completions/beekeeper.fish\"
    doc.install Dir[\"docs/*\"]
  end

  test do
    assert_match version.to_s, shell_output(\"#{{bin}}/beekeeper --version\")
  end
end
"
    ))
}
