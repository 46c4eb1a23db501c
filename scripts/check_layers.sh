#!/usr/bin/env bash
# Checks the house's rule over the #include lines of src/: a module includes only what its row below allows, the pure
# modules touch neither clock nor file, and each third-party header has its place. scripts/check_layers.sh [SRC_DIR]
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
src=${1:-"$(dirname "$0")/../src"}

declare -A allowed=(
    [core]=""
    [experiment]="core"
    [comm]="core"
    [data]="core experiment"
    [model]="core experiment data"
    [tensor]="core experiment data model"
    [search]="core experiment"
    [schedule]="core experiment search"
    [direct]="core experiment search schedule"
    [rundir]="core experiment search schedule direct"
    [view]="core experiment search schedule direct rundir"
    [strategy]="core experiment comm data model search schedule direct rundir"
    [job]="core experiment comm data model search schedule direct rundir view strategy"
    [analysis]="core experiment data model search schedule direct rundir view strategy job"
    [report]="core experiment search schedule direct rundir view analysis"
    [cli]="core experiment comm data model search schedule direct rundir view strategy job analysis report"
)

# Rooms: the folders of a module that shows its structure by folders. A file in a room includes its own room and what the row
# allows; a file at the module's top includes every room, and no room includes the top. MODULE/* is the row of all rooms of
# the module that have none.
declare -A rooms=(
    [data/dataset]=""
    [data/batches]="dataset"
    [data/import]="dataset"
    [data/import/csv]="dataset import"
    [data/import/image]="dataset import"
    [data/import/array]="dataset import"
    [model/state]=""
    [model/gpu]=""
    [model/lean]="state gpu"
    [model/trial]="state lean"
    [model/zoo]="state lean trial"
    [tensor/network]="gpu"
    [tensor/gpu]=""
    [tensor/feed]="network gpu"
    [tensor/step]="network gpu feed"
    [tensor/trial]="network gpu feed step"
    [tensor/own]="network"
    [tensor/zoo]="network own"
    [strategy/common]=""
    [strategy/trainer]="common"
    [strategy/together]="common trainer"
    [strategy/mop]="common trainer together"
    [strategy/baselines/dispatched]="common mop"
    [strategy/baselines/whole_laps]="common trainer"
    [strategy/baselines/*]="common trainer together"
    [analysis/results]=""
    [analysis/cost]=""
    [analysis/compare]="cost"
    [analysis/forecast]="cost"
    [analysis/export]="results"
    [analysis/plan]="forecast cost"
    [analysis/what_if]=""
    [cli/common]=""
    [cli/light]="common data"
    [cli/data]="common"
    [cli/doctor]="common"
    [cli/completion]="common"
    [cli/train]="common data doctor completion"
)

# "header regex | where it may be included (regex on path) | why", a line each.
places='
^mpi\.h$                                  | ^comm/mpi_world\.cpp$                | only comm/mpi_world.cpp speaks MPI
^hdf5                                     | ^data/(dataset|import/array)/hdf5_[a-z]+\.[ch]pp$ | only data reads HDF5
^(jpeglib|jerror)\.h$                     | ^data/import/image/jpeg_image\.cpp$  | only jpeg_image.cpp reads JPEG
^png\.h$                                  | ^data/import/image/png_image\.cpp$   | only png_image.cpp reads PNG
^zlib\.h$                                 | ^data/import/[a-z0-9_/]+\.cpp$       | only importers decompress
^nlohmann/                                | ^core/json\.cpp$                     | only core/json.cpp parses JSON
^(model|strategy|job)/ | ^(model|tensor|strategy|job|analysis/plan|cli/(train|doctor|[a-z_]+\.cpp)) | not in hopscotch
^CLI/ | ^cli/(cli|common/command|completion/command_tree)\.cpp$ | only these three files read the command line
^(torch|ATen|c10)/                        | ^tensor/                             | only tensor knows LibTorch
^hopscotch/ | ^tensor/own/plugin\.cpp$ | only plugin.cpp reads what plug-ins are compiled against
^dlfcn\.h$                                | ^(tensor/own/plugin|[a-z/]+_library)\.cpp$ | only these files open libraries
^nccl\.h$                                 | ^comm/nccl_library\.cpp$             | only comm/nccl_library.cpp speaks NCCL
^cuda                                     | ^(tensor|comm)/                      | only tensor and comm touch devices
^Eigen/                                   | ^search/                             | only search does linear algebra
^spdlog/                                  | ^core/log\.cpp$                      | only core/log.cpp logs
^(fmt|xxh)                                | \.cpp$                               | headers stay free of third-party headers
'

found=0
complain() { echo "$1: $2"; found=1; }

check_module() {  # file:line module header
    local target=${3%%/*}
    [[ "$3" == */* && -n "${allowed[$target]+known}" && "$target" != "$2" ]] || return 0
    [[ " ${allowed[$2]} " == *" $target "* ]] || complain "$1" "$2 includes $3 (allowed: $2 ${allowed[$2]})"
}

check_room() {  # file:line path module header
    local from=${2%/*} to=${4%/*} row=${2%/*}
    [[ -n "${rooms[$row]+known}" || "$row" != */* ]] || row="${row%/*}/*"
    if [[ "$from" == */* && -z "${rooms[$row]+known}" && " ${!rooms[*]} " == *" $3/"* ]]; then
        complain "$1" "room $from is not in the table of scripts/check_layers.sh"
    fi
    [[ "${4%%/*}" == "$3" && -n "${rooms[$row]+known}" && "$to" != "$from" ]] || return 0
    [[ " ${rooms[$row]} " == *" ${to#"$3"/} "* ]] ||
        complain "$1" "$from includes $4 (allowed: its own and ${rooms[$row]:-no other})"
}

check_pure() {
    [[ "$2" =~ ^(search|schedule|direct)$ ]] || return 0
    if [[ "$3" =~ ^(chrono|ctime|filesystem|fstream|thread|mutex|random|core/(clock|log|file)\.hpp)$ ]]; then
        complain "$1" "$2 includes <$3> (search, schedule and direct are pure: values in, values out)"
    fi
}

headers=() homes=() reasons=()
while IFS='~' read -r header home reason; do
    [[ -n "$header" ]] || continue
    headers+=("$header") homes+=("$home") reasons+=("$reason")
done < <(sed -E 's/ +\| +/~/g' <<< "$places")

check_place() {  # file:line path header
    local i
    for i in "${!headers[@]}"; do
        if [[ "$3" =~ ${headers[i]} && ! "$2" =~ ${homes[i]} ]]; then complain "$1" "includes $3 (${reasons[i]})"; fi
    done
}

files=0
while IFS=: read -r file line text; do
    path=${file#"$src"/}
    module=${path%%/*}
    [[ "$text" =~ [\<\"]([^\>\"]+) ]] || continue
    header=${BASH_REMATCH[1]}
    files=$((files + 1))
    if [[ -z "${allowed[$module]+known}" ]]; then
        complain "$path:$line" "module $module is not in the table of scripts/check_layers.sh"
        continue
    fi
    check_module "$path:$line" "$module" "$header"
    check_room "$path:$line" "$path" "$module" "$header"
    check_pure "$path:$line" "$module" "$header"
    check_place "$path:$line" "$path" "$header"
done < <(grep -rnE '^[[:space:]]*#[[:space:]]*include' \
         --include='*.hpp' --include='*.cpp' --include='*.cu' --include='*.hpp.in' "$src")

if (( files == 0 )); then
    echo "check_layers: no #include lines under $src" >&2
    exit 1
fi
(( found == 0 )) && echo "layers: $files includes are where they belong"
exit "$found"
