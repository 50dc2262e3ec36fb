#!/bin/sh
# What `cargo xtask` has Cargo run in place of rustc. Of each of AWS's crates we call a few of a hundred operations, so they ask for
# what they have to be compiled only where it's used: `hints.mostly-unused` in their manifests. Stable Cargo reads that and doesn't
# do it yet. docs/decisions/0025-downloads.md says what it saves.
case " $* " in
*" --crate-name aws_sdk_"*" --emit=dep-info,metadata,link "*) RUSTC_BOOTSTRAP=1 exec "$@" -Zhint-mostly-unused ;;
esac
exec "$@"
