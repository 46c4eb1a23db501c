#!/usr/bin/env bash
# Measures the figures of docs/results.md, one after another, and writes the page again. A figure whose results are of this
# machine and commit is not measured again. A second start after an interruption continues.
#   scripts/evidence.sh [NAME...]    --list, --help and other options: experiments/evidence.py
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "$0")/.."
for word in "$@"; do
    case "$word" in
        -h | --help | --list | --draw | --check) exec python3 -B experiments/evidence.py "$@" ;;
    esac
done
source scripts/prepare.sh >&2
cmake --build build --target evidence_simulate search_ask search_driver > /dev/null
exec python3 -B experiments/evidence.py "$@"
