#!/usr/bin/env bash
# Builds what is deployed: the functions with cargo-lambda (arm64), and the sandbox runtime as a
# static binary for both architectures. Prints the sizes.
set -euo pipefail
cd "$(dirname "$0")/.."
tools=target/tools
functions="a2a-ingress run-orchestrator sandbox-controller artifact-publisher push-notifier sweeper"

for arch in aarch64 x86_64; do
  target=$arch-unknown-linux-musl
  rustup target list --installed | grep -qx "$target" || rustup target add "$target"
  linker=CARGO_TARGET_$(echo "$target" | tr 'a-z-' 'A-Z_')_LINKER
  # rust-lld comes with the toolchain, so that no C cross-compiler is needed.
  env "$linker=rust-lld" cargo build --release --target "$target" -p sandbox-runtime
done

if [ "${1:-}" != "--runtime-only" ]; then
  if ! command -v cargo-lambda >/dev/null && [ ! -x "$tools/venv/bin/cargo-lambda" ]; then
    echo "package: installing cargo-lambda into $tools/venv" >&2
    [ -x "$tools/venv/bin/pip" ] || python3 -m venv "$tools/venv"
    "$tools/venv/bin/pip" install --quiet --disable-pip-version-check cargo-lambda==1.9.2
  fi
  PATH="$PWD/$tools/venv/bin:$PATH" cargo lambda build --release --arm64 $(printf -- '-p %s ' $functions)
fi

echo
for file in target/{aarch64,x86_64}-unknown-linux-musl/release/cog-sandboxd target/lambda/*/bootstrap; do
  if [ -f "$file" ]; then printf '%10d bytes  %s\n' "$(stat -c %s "$file")" "$file"; fi
done
