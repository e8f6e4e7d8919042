#!/usr/bin/env bash
# Fuzzes one target for some seconds: tests/fuzz/fuzz.sh <target> [seconds] [more of libFuzzer's arguments]
# By make: make fuzz T=<target> SECONDS=<seconds>
# What it learns is kept in target/fuzz/<target>; a finding is written to target/fuzz/<target>-findings,
# shown, and belongs into tests/fuzz/corpus/<target>, where every `make test` runs it.
#
# The coverage that libFuzzer steers by comes from flags of the stable compiler; no nightly is needed.
set -euo pipefail
cd "$(dirname "$0")"
usage() {
  echo "usage: make fuzz T=<target> [SECONDS=60], with one of these targets:"
  echo "  $(cd corpus && echo *)"
  exit 2
} >&2
target=${1:-}
seconds=${2:-60}
[[ -n $target && -d corpus/$target ]] || usage
# libFuzzer takes what is no number for zero, which is without end.
[[ $seconds =~ ^[1-9][0-9]{0,6}$ ]] || { echo "SECONDS is a whole number from 1 on" >&2; usage; }
shift $(($# < 2 ? $# : 2))

out=${CARGO_TARGET_DIR:-$PWD/../../target}/fuzz
host=$(rustc -vV | sed -n 's/^host: //p')
# With --target, the flags are for what runs in the fuzzer and not for what builds it.
RUSTFLAGS="--cfg fuzzing --cfg fuzzing_libfuzzer -Cpasses=sancov-module \
  -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
  -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares" \
  cargo build --quiet --locked --manifest-path engine/Cargo.toml --profile fuzz \
  --target "$host" --target-dir "$out/build"

learned=$out/$target findings=$out/$target-findings
mkdir -p "$learned" "$findings"
arguments=("$learned" "corpus/$target" "-artifact_prefix=$findings/" -dict=tokens.dict
  -max_len=4096 -timeout=10 -rss_limit_mb=2048 "-max_total_time=$seconds" -print_final_stats=1 "$@")
BOLERO_LIBFUZZER_ARGS="${arguments[*]}" exec "$out/build/$host/fuzz/fuzz-engine" "$target"
