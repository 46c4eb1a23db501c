#!/usr/bin/env bash
# Asks g++ for two types of one name in the whole program (the one-definition rule): compiles src with -flto into build-odr
# (preset odr), and merges all objects with -Wodr. Ends with 1 if it finds any, with 77 where the compiler is not g++.
# scripts/check_odr.py finds most of them within two seconds, without a build.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "$0")/.."

compiler=${CXX:-c++}
if [[ "$("$compiler" --version)" != *"Free Software Foundation"* ]]; then
    echo "check_odr: $compiler is not g++, and only g++ has -Wodr" >&2
    exit 77
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Merges and compares the types of objects; machine code is never made, which takes most of the time of a link with -flto.
complaints() { LC_ALL=C "$compiler" -r -nostdlib -flto -flinker-output=rel -Wodr -o "$work/merged" "$@" 2>&1; }

# A check that finds nothing may have stopped to look: g++ must see this pair.
for type in int double; do
    echo "namespace planted { struct Twice { $type a; virtual ~Twice() {} }; }
          $type f_$type(planted::Twice& of) { return of.a; }" > "$work/$type.cpp"
    "$compiler" -flto -c "$work/$type.cpp" -o "$work/$type.o"
done
if [[ "$(complaints "$work"/{int,double}.o)" != *"Twice' violates the C++ One Definition Rule"* ]]; then
    echo "check_odr: $compiler does not report two types that were made for it" >&2
    exit 1
fi

scripts/build.sh odr hopscotch_cli hopscotch_cli_train hopscotch_bench
ninja -C build-odr -t cleandead > /dev/null  # objects of files that are gone
mapfile -t objects < <(find build-odr/src -name '*.o')
found=$(complaints "${objects[@]}") || { echo "$found" >&2; exit 1; }
if [[ -n "$found" ]]; then
    echo "$found" >&2
    exit 1
fi
echo "odr: no two types of one name in ${#objects[@]} objects"
