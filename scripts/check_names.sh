#!/usr/bin/env bash
# Finds names of strategies, procedures, samplers, metrics, losses and policies in quotes outside their tables: other code
# asks the row of a table, it does not compare names. Prints file:line. scripts/check_names.sh [SRC_DIR]
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
own=$(cd "$(dirname "$0")/.." && pwd)/src
src=$(cd "${1:-$own}" && pwd)

# The tables: the file whose rows give the names, and how a row begins. The makers' tables have the same names.
tables='
experiment/strategy_traits.cpp   \.name = "[a-z0-9_]+"
experiment/procedures.cpp        \.name = "[a-z0-9_]+"
experiment/metric.cpp            \.name = "[a-z0-9_]+"
experiment/loss_traits.cpp       LossKind::[a-z_]+, "[a-z0-9_]+"
schedule/policy.cpp              \{"[a-z0-9_]+", planned
'
makers='strategy/strategy_table.cpp analysis/cost/run_estimate.cpp search/procedure_table.cpp'

# Where a name in quotes is allowed all the same: "regex on path:line:text | why", a line each.
allowed='
^experiment/[a-z_]*_config\.hpp:.*std::string [a-z]+ = "            | the default of a setting
^experiment/validation_scores\.hpp:                                 | keys of the journal
(include|read)\(\{?"quantile"                                        | a key of a section
^experiment/sections_strategy\.cpp:.*out\.policy, \{"             | the only policy, where the reader takes it
ReduceAlgorithm::ring                                                | an algorithm of all-reduce
\{"allreduce", "Speed                                                | a sub-command of bench
^direct/lap_clock\.cpp:.*policy_named\("planned"\)               | the order of the virtual clock, whatever the policy
\{"allreduce", AverageVia::                                         | the means of model_averaging through an all-reduce
constexpr std::string_view k_                                       | a constant with a name: the metrics of every dataset
R"\(                                                                | an example in an error text
out\["ablation"\]                                                   | a key of summary.json
variable\("SLURM_PMIX_FENCE"\) != "                                 | a word of Slurm
\{"mae", scores\.mae\}|pair\("mae", &out\.mae\)                      | a key of best/validation.json
'

files=()
names=()
while read -r file pattern; do
    [[ -n "$file" ]] || continue
    mapfile -t found < <(grep -ohE "$pattern" "$own/$file" | grep -oE '"[a-z0-9_]+"' | tr -d '"')
    if (( ${#found[@]} == 0 )); then
        echo "check_names: no names in src/$file (has its table moved?)" >&2
        exit 1
    fi
    files+=("$file")
    names+=("${found[@]}")
done <<< "$tables"

exceptions=$(sed -nE 's/^(.*[^ ]) +\| .*$/\1/p' <<< "$allowed" | paste -sd '|')
# shellcheck disable=SC2086  # words are wanted
skipped=$(printf '%s\n' "${files[@]}" $makers | grep -v '_config\.hpp$' | sed 's/\./\\./g; s/.*/^&:/' | paste -sd '|')
any=$(printf '%s\n' "${names[@]}" | sort -u | paste -sd '|')

cd "$src"
outside=$(grep -rnE "\"($any)\"" --include='*.hpp' --include='*.cpp' --include='*.cu' . | sed 's|^\./||' |
        grep -vE "$skipped" | grep -vE ':[0-9]+: *//' | grep -vE "$exceptions" |
        sed -E 's|[[:space:]]//.*$||' | grep -E "\"($any)\"" || true)
if [[ -n "$outside" ]]; then
    sed -E 's/^([^:]+:[0-9]+): */\1: a name outside its table: /' <<< "$outside"
    exit 1
fi
echo "names: ${#names[@]} names stand in their tables only"
