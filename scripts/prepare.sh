# quickstart.sh, compare.sh and bench.sh source this file in the repository's folder. It sets up, builds, and imports
# data/digits.csv, unless that has been done, and leaves the program's path in `hopscotch`.
#   HOPSCOTCH=/path/to/hopscotch   that program: nothing is set up or built
# SPDX-License-Identifier: Apache-2.0
hopscotch=${HOPSCOTCH:-build/hopscotch}
if [[ -z "${HOPSCOTCH:-}" ]]; then
    scripts/setup.sh
    scripts/build.sh release hopscotch
fi
if [[ ! -f data/digits/dataset.json ]]; then
    rm -rf data/digits  # what an interrupted import left
    "$hopscotch" data import csv data/digits.csv --out data/digits --shards 12 --valid 0.2 --shape 1x8x8 --label label
fi
if [[ $(id -u) -eq 0 ]]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
