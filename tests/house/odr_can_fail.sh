#!/usr/bin/env bash
# check_odr.py must refuse two types of one name, and two names of anonymous namespaces in one module, and accept the rest.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
check=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

expect() {  # accepted|refused path text path text
    rm -rf "${work:?}"/*
    mkdir -p "$work/src/core" "$work/src/data" "$work/tests/core" "$work/tests/data"
    printf '%s\n' "$3" > "$work/$2"
    printf '%s\n' "$5" > "$work/$4"
    local verdict=accepted output
    output=$(python3 "$check" "$work") || verdict=refused
    if [[ "$verdict" != "$1" || ( "$1" == refused && "$output" != *"$4:2: "* && "$output" != *"$2:2: "* ) ]]; then
        echo "$2 and $4: $verdict, expected $1: $output"
        failed=1
    fi
}

in_namespace() { printf 'namespace hopscotch {\n%s\n}\n' "$1"; }
hidden() { printf 'namespace {\n%s\n}  // namespace\nstruct %s {};\n' "$1" "$2"; }

types() { expect "$1" src/core/a.hpp "$(in_namespace "$2")" src/data/b.cpp "$(in_namespace "$3")"; }
types refused 'struct Twice { int a; };' 'struct Twice { double a; };'
types refused 'enum class Twice { a };' 'class Twice final : public Base<int> {};'
types refused 'template <class T> struct Twice {};' 'union Twice {};'
types accepted 'struct Once;' 'struct Once {};'
types accepted 'struct Outer { struct Twice {}; };' 'struct Other { struct Twice {}; };'
types accepted 'struct Once { struct Impl; };' 'struct Once::Impl {};'
types accepted 'struct Once {};  // struct Twice {' 'char const* text = "struct Once {";'
types accepted 'struct Once {};' 'Once once() { return {}; }'

names() { expect "$1" src/core/a.cpp "$(hidden "$2" First)" "$4/b.cpp" "$(hidden "$3" Second)"; }
names refused 'int k_twice = 1;' 'constexpr double k_twice = 2;' src/core
names refused 'struct Twice {};' 'enum class Twice { a };' src/core
names refused 'int twice(int a) { return a; }' 'int twice(int b) { return -b; }' src/core
names accepted 'int twice(int a) { return a; }' 'int twice(double b) { return b; }' src/core
names accepted 'int k_twice = 1;' 'int k_twice = 2;' src/data

expect refused src/core/a.hpp "$(in_namespace 'struct Twice {};')" tests/core/a_test.cpp "$(in_namespace 'struct Twice {};')"
expect accepted src/data/a.hpp "$(in_namespace 'struct Once {};')" tests/core/a_test.cpp "$(in_namespace 'struct Once {};')"
exit "$failed"
