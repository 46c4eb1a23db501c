#!/usr/bin/env bash
# Checks shell scripts with ShellCheck: words that split, values that are run, names that are never set.
#   scripts/check_shell.sh [FOLDER]   all shell scripts and batch templates below FOLDER; by default the repository's own
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "$0")/.."
check=$PWD/.deps/venv/bin/shellcheck
if [[ ! -x $check ]]; then
    echo "check_shell: ${check#"$PWD"/} is missing; scripts/setup.sh installs it" >&2
    exit 77
fi
folders=(.ci scripts slurm tests)
[[ $# -eq 0 ]] || folders=("$1")
mapfile -t files < <(grep -rlE --exclude-dir=build '^#!.*\b(ba)?sh$|^# shellcheck shell=' "${folders[@]}")
[[ ${#files[@]} -gt 0 ]] || { echo "check_shell: no shell script in ${folders[*]}" >&2; exit 1; }
exec "$check" --external-sources --source-path=SCRIPTDIR "${files[@]}"
