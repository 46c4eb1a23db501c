#!/usr/bin/env bash
# The syntax of the recipes in packaging/, and that they name this version: packaging.sh SOURCE
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$1"
version=$(sed -nE 's/^project\(hopscotch VERSION ([0-9.]+).*/\1/p' CMakeLists.txt)
found=0
complain() { echo "$1"; found=1; }

for file in packaging/spack/package.py packaging/easybuild/*.eb; do
    python3 -B -c 'import sys; compile(open(sys.argv[1]).read(), sys.argv[1], "exec")' "$file" ||
        complain "$file: bad Python"
done
awk '/^RUN / { sub(/^RUN /, ""); on = 1 } on { print; on = /\\$/ }' packaging/Dockerfile | bash -n ||
    complain "Dockerfile: RUN"
awk '/^%/ { on = /^%(post|environment|runscript|test)/; next } on' packaging/hopscotch.def | bash -n ||
    complain "hopscotch.def: shell"
[[ -f packaging/easybuild/Hopscotch-$version-foss-2023b.eb ]] || complain "easybuild: no recipe of version $version"
for file in packaging/spack/package.py packaging/easybuild/*.eb packaging/modulefile/hopscotch.lua docs/install.md; do
    grep -qF "$version" "$file" || complain "$file: does not name version $version"
done
exit "$found"
