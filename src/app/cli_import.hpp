// SPDX-License-Identifier: Apache-2.0
// The sub-commands of `hopscotch data import`: their options and examples.
#pragma once
#include "data/import/array/array_import.hpp"
#include "data/import/csv/csv_import.hpp"
#include "data/import/image/image_import.hpp"

namespace CLI {
class App;
}

namespace hopscotch {

// What the command line said, to each importer its own. Must outlive the parsing.
struct ImportCommands {
    ImportCsvOptions csv;
    ImportImagesOptions images;
    ImportOptions idx, cifar;
    ImportArraysOptions npy, h5;
    ImportTokensOptions tokens;
};

// Adds `import` and its sub-commands to `data`. Parsing throws ConfigError for words that are unknown.
void add_import(CLI::App& data, ImportCommands& commands);

// Runs the sub-command of `import` that was parsed and returns the exit code.
int run_import(CLI::App const& import, ImportCommands const& commands);

}  // namespace hopscotch
