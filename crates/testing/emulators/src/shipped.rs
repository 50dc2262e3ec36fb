use anyhow::{Result, ensure};

/// Replaces a text of a configuration that we ship. Fails if the configuration does not have it.
pub(crate) fn replace(configuration: &mut String, shipped: &str, here: &str) -> Result<()> {
    ensure!(configuration.contains(shipped), "there is no {shipped:?} in the shipped configuration");
    *configuration = configuration.replacen(shipped, here, 1);
    Ok(())
}
