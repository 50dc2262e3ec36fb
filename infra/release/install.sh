#!/bin/sh
# Installs beekeeper for you alone, without root: docs/install.md explains it.
#   curl -fsSL https://github.com/beekeeper-rs/beekeeper/releases/latest/download/install.sh | sh

repository=https://github.com/beekeeper-rs/beekeeper

usage() {
    cat <<END
Installs beekeeper, or another version of it, and checks its SHA-256 first. It needs no root.

Usage: install.sh [--version VERSION] [--to DIR] [--base-url URL] [--dry-run]
   or: curl -fsSL $repository/releases/latest/download/install.sh | sh -s -- [the same options]

  --version VERSION  such as 0.1.0 [default: the latest]
  --to DIR           where to put it [default: \$BEEKEEPER_INSTALL, or ~/.local/bin]
  --base-url URL     a mirror of the releases, which has latest/download/ and download/v0.1.0/ below it
                     [default: \$BEEKEEPER_BASE_URL, or $repository/releases]
  --dry-run          say what would be done: nothing is downloaded or changed
  --help             this text

To remove it again, delete the file. Your rooms are elsewhere, and stay.
END
}

say() {
    printf '%s\n' "$*"
}

# What failed, then what to do.
fail() {
    printf 'error: %s\n' "$1" >&2
    [ $# -lt 2 ] || printf 'hint: %s\n' "$2" >&2
    exit 1
}

has() {
    command -v "$1" >/dev/null 2>&1
}

# Sets target, the name of the program's build for this machine.
detect() {
    from_source="git clone $repository && cd beekeeper && cargo build --release -p beekeeper"
    cpu=$(uname -m)
    case $(uname -s) in
    Linux) ;;
    Darwin)
        fail "this script installs on Linux only" \
            "on macOS there is a Homebrew formula: $repository/blob/main/docs/install.md#macos"
        ;;
    MINGW* | MSYS* | CYGWIN* | Windows*)
        fail "there is no beekeeper for Windows itself" "it runs in WSL: \`wsl --install\`, and then the same command there"
        ;;
    *) fail "there is no beekeeper for $(uname -s) to download" "with Rust you can try to build it: $from_source" ;;
    esac
    case $cpu in
    x86_64 | amd64) target=x86_64-unknown-linux-musl ;;
    aarch64 | arm64) target=aarch64-unknown-linux-musl ;;
    *) fail "there is no beekeeper for Linux on $cpu to download" "with Rust you can build it: $from_source" ;;
    esac
}

# Says early which tool is missing.
look_for_tools() {
    has curl || has wget || fail "neither curl nor wget is installed" "install one of them"
    has sha256sum || has shasum ||
        fail "neither sha256sum nor shasum is installed, so the download can't be checked" "install coreutils or perl"
    { has tar && has gzip; } || fail "tar and gzip are needed to unpack the download"
}

# download URL FILE
download() {
    if has curl; then
        # Not even a redirect leaves https.
        case $1 in https:*) only='=https' ;; *) only='=http,https' ;; esac
        # The shell opens the file: a curl from snap may not write into hidden folders.
        LC_ALL=C curl --fail --silent --show-error --location --proto "$only" --retry 3 --connect-timeout 30 \
            "$1" >"$2" 2>"$temporary/said" </dev/null && return
    else
        LC_ALL=C wget -t 3 -O "$2" "$1" 2>"$temporary/said" </dev/null && return
    fi
    if grep -Eq 'error: 404|ERROR 404|HTTP/[0-9.]+ 404' "$temporary/said"; then
        [ "$version" = latest ] || fail "there is no version $version: $1" "the versions are at $repository/releases"
        fail "there is no $1" "has anything been published there?"
    fi
    tail -n 3 "$temporary/said" >&2
    fail "could not download $1"
}

sha256() {
    if has sha256sum; then sha256sum; else shasum -a 256; fi <"$1" | cut -d ' ' -f 1
}

# Ends unless the file has the checksum that was published beside it.
check() {
    expected=$(cut -d ' ' -f 1 <"$1.sha256")
    case $expected in
    '' | *[!0-9a-f]*) fail "$archive_url.sha256 is not a checksum" "does a proxy answer instead of the server?" ;;
    esac
    found=$(sha256 "$1")
    [ "$found" = "$expected" ] ||
        fail "$archive_url is damaged or was changed: its SHA-256 is $found, and should be $expected" \
            "nothing was installed; try again, and tell us if it stays: $repository/issues"
}

main() {
    set -eu
    version=latest
    base_url=${BEEKEEPER_BASE_URL:-$repository/releases}
    to=${BEEKEEPER_INSTALL:-}
    dry_run=
    while [ $# -gt 0 ]; do
        case $1 in
        --help | -h)
            usage
            return
            ;;
        --dry-run) dry_run=yes ;;
        --version | --to | --base-url)
            [ -n "${2:-}" ] || fail "$1 needs a value" "see --help"
            case $1 in
            --version) version=${2#v} ;;
            --to) to=$2 ;;
            --base-url) base_url=${2%/} ;;
            esac
            shift
            ;;
        *) fail "there is no option $1" "see --help" ;;
        esac
        shift
    done
    case $version in
    *[!0-9A-Za-z.+-]*) fail "$version is not a version" "write it as in --version 0.1.0" ;;
    latest) folder=latest/download ;;
    *) folder=download/v$version ;;
    esac
    if [ -z "$to" ]; then
        [ -n "${HOME:-}" ] || fail "you have no home directory: HOME is not set" "say where to install: --to DIR"
        to=$HOME/.local/bin
    fi

    detect
    name=beekeeper-$target.tar.gz
    archive_url=$base_url/$folder/$name
    look_for_tools
    program=$to/beekeeper
    [ ! -d "$program" ] || fail "$program is a folder" "install elsewhere: --to DIR"
    old=
    if [ -e "$program" ]; then
        old=$("$program" -V 2>/dev/null </dev/null) || old="a beekeeper that does not start"
    fi
    if [ -n "$dry_run" ]; then
        say "would download   $archive_url"
        say "would check      its SHA-256, with $name.sha256 from the same place"
        say "would install    $program${old:+, in place of $old}"
        say "Nothing was downloaded or changed."
        return
    fi

    mkdir -p "$to" || fail "could not create $to" "install elsewhere: --to DIR"
    to=$(CDPATH='' cd -- "$to" && pwd)
    program=$to/beekeeper
    # Beside the program, so that the last step is a rename: whenever this ends, the old program is there or the new one.
    temporary=$(mktemp -d "$to/.beekeeper-install.XXXXXX") ||
        fail "could not write into $to" "install elsewhere: --to DIR"
    trap 'rm -rf "$temporary"' EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM

    say "downloading $archive_url"
    download "$archive_url" "$temporary/$name"
    download "$archive_url.sha256" "$temporary/$name.sha256"
    check "$temporary/$name"
    # As root, too, the files belong to whoever runs this.
    tar -xzof "$temporary/$name" -C "$temporary" ||
        fail "could not unpack $name into $temporary" "is the disk full? Or install elsewhere: --to DIR"
    new=
    for unpacked in "$temporary"/beekeeper-*/beekeeper; do
        chmod 755 "$unpacked" || fail "there is no beekeeper in $name"
        new=$("$unpacked" -V </dev/null) ||
            fail "the beekeeper of $name does not start on this machine" "may programs run in $to? Or install elsewhere: --to DIR"
        mv -f "$unpacked" "$program" || fail "could not write $program" "install elsewhere: --to DIR"
    done

    if [ -n "$old" ]; then
        say "$program: $old -> $new"
        say "A room that runs goes on with the old one until you start it again."
    else
        say "installed $new: $program"
    fi
    case :$PATH: in
    *":$to:"*)
        first=$(command -v beekeeper) || first=$program
        [ "$first" = "$program" ] || say "Your shell finds another one first: $first"
        ;;
    *)
        say "$to is not on your PATH. Add it, and put this line into ~/.profile:"
        say "  export PATH=\"$to:\$PATH\""
        ;;
    esac
    say
    say "  start a room    beekeeper local"
    say "  remove it       rm $program"
    say "  the rest        man pages, completions, units for systemd: in $archive_url"
}

# In braces: of a script that arrived in part, a shell runs nothing.
{ main "$@"; exit; }
