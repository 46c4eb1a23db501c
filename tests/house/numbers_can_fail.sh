#!/usr/bin/env bash
# house_numbers.py must name each of these faults, and accept a clean tree.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
numbers=$1 python=$2
"$python" -c 'import lizard' 2> /dev/null || {
    echo "numbers_can_fail: $python has no lizard; scripts/setup.sh installs it"
    exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export GIT_CEILING_DIRECTORIES=$work
failed=0

clean_tree() {
    rm -rf src
    mkdir -p src/core
    echo 'int one(int a, int b, int c, int d, int e) { return a + b + c + d + e; }' > src/core/a.cpp
    echo '#include "core/b.hpp"' > src/core/b.cpp
    echo 'int two();' > src/core/b.hpp
}

expect() {  # accepted|refused words
    local verdict=accepted output
    output=$("$python" "$numbers") || verdict=refused
    if [[ "$verdict" != "$1" || "$output" != *"$2"* ]]; then
        echo "$verdict, expected $1 with '$2': $output"
        failed=1
    fi
}

lines() { for (( i = 0; i < $1; i++ )); do echo "$2"; done; }

clean_tree
expect accepted 'headers over 150 lines'
{ echo 'int f() {'; lines 40 '    g();'; echo '}'; } > src/core/long.cpp
expect refused 'src/core/long.cpp:1: f has 42 lines'
clean_tree
echo 'int f(int a, int b, int c, int d, int e, int g) { return 1; }' > src/core/wide.cpp
expect refused 'src/core/wide.cpp:1: f has 6 parameters'
clean_tree
printf 'class A:\n    def f(self, a, b, c, d, e):\n        pass\n' > src/core/five.py
expect accepted 'functions with over 5 parameters'
lines 151 'int g();' > src/core/tall.hpp
expect refused 'src/core/tall.hpp: 151 lines'
clean_tree
fields() {
    echo 'struct S {'
    lines "$1" '    int a = f(1, 2), b{1};'
    echo '    static int s; int f() const { return 1; }'
}
{ fields 7; echo '    struct T { int a, b; };'; echo '};'; } > src/core/many.hpp
expect accepted 'structs with over 14 fields'
{ fields 7; echo '    std::map<int, int> by;  // one, two'; echo '};'; } > src/core/many.hpp
expect refused 'src/core/many.hpp:1: S has 15 fields'
clean_tree
printf '// %0124d\n' 0 > src/core/broad.hpp
expect refused 'src/core/broad.hpp:1: 127 columns'
clean_tree
echo '// so'' many trials' > src/core/told.hpp
expect refused 'src/core/told.hpp:1: "so'' many"'
clean_tree
echo 'int g();' > src/core/h0.hpp
for i in {1..13}; do echo "#include \"core/h$(( i - 1 )).hpp\"" > "src/core/h$i.hpp"; done
echo '#include "core/h13.hpp"' > src/core/deep.cpp
expect refused 'src/core/deep.cpp'
exit "$failed"
