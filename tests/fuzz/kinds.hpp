// SPDX-License-Identifier: Apache-2.0
// What is fuzzed: a kind of file, how a damaged one is made, and who reads it.
#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/rng.hpp"

namespace hopscotch::fuzz {

class Kind {
public:
    virtual ~Kind() = default;
    virtual std::string name() const = 0;

    // Writes a damaged file (or whatever the reader asks for) into the folder, which is this kind's own; overwrites the last
    // one.
    virtual void damage(std::filesystem::path const& folder, Rng& rng) = 0;

    // Reads it as hopscotch does, and uses what was read. Throws what the reader throws.
    virtual void read(std::filesystem::path const& folder) = 0;

    // What a complaint must name.
    virtual std::string place() const = 0;
};

std::vector<std::unique_ptr<Kind>> all_kinds();

// The parts of all_kinds().
void add_experiment_kind(std::vector<std::unique_ptr<Kind>>& out);
void add_run_kinds(std::vector<std::unique_ptr<Kind>>& out);
void add_dataset_kinds(std::vector<std::unique_ptr<Kind>>& out);

}  // namespace hopscotch::fuzz
