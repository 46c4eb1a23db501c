#!/usr/bin/env bash
# The syntax of the recipes in packaging/, and that they name this version: packaging.sh SOURCE
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$1"
version=$(sed -nE 's/^project\(hopscotch VERSION ([0-9.]+).*/\1/p' CMakeLists.txt)
found=0
complain() { echo "$1"; found=1; }

awk '/^RUN / { sub(/^RUN /, ""); on = 1 } on { print; on = /\\$/ }' packaging/Dockerfile | bash -n ||
    complain "Dockerfile: RUN"
for file in packaging/modulefile/hopscotch.lua docs/install.md; do
    grep -qF "$version" "$file" || complain "$file: does not name version $version"
done
exit "$found"
