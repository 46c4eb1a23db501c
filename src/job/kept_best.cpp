// SPDX-License-Identifier: Apache-2.0
#include "job/kept_best.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.hpp"
#include "core/file.hpp"
#include "core/hash.hpp"
#include "core/json_reader.hpp"
#include "rundir/journal.hpp"

namespace hopscotch {
namespace {

struct Kept {
    LapId lap;
    Json test;
};

// None if the files are not as a job writes them: then the state is trained again.
std::optional<Kept> kept_in(std::filesystem::path const& folder, Journal const& journal) {
    auto const file = folder / "model.json";
    std::error_code refused;
    if (!std::filesystem::exists(file, refused) || !std::filesystem::exists(folder / "model.safetensors", refused))
        return {};
    try {
        auto const about = parse_json_or_throw(read_whole(file), file.string());
        LapId const lap{TrialId(about.at("trial").integer()), static_cast<int>(about.at("epoch").integer())};
        auto const hash = from_hex(about.at("state_hash").string());
        bool const known = std::ranges::any_of(journal.laps, [&](LapRecord const& record) {
            return record.id() == lap && record.outcome == Outcome::finished && record.state.end_hash == hash && hash != 0;
        });
        auto const* test = about.find("test");
        return known && has_its_weights(folder, about) ? std::optional(Kept{lap, test == nullptr ? Json() : *test})
                                                       : std::nullopt;
    } catch (Error const&) {
        return {};
    }
}

// Null if the file is of another lap, or not as a job writes it.
Json errors_of(LapId const& lap, std::filesystem::path const& file) {
    std::error_code refused;
    if (!std::filesystem::exists(file, refused)) return {};
    try {
        auto errors = parse_json_or_throw(read_whole(file), file.string());
        bool const same = errors.at("trial").integer() == lap.trial.value && errors.at("epoch").integer() == lap.epoch;
        return same ? errors : Json();
    } catch (Error const&) {
        return {};
    }
}

}  // namespace

bool has_its_weights(std::filesystem::path const& folder, Json const& about) {
    auto const* recorded = about.find("weights_file");
    if (recorded == nullptr) return true;
    auto const file = folder / "model.safetensors";
    std::error_code missing;  // hash_file reports it
    auto const bytes = std::filesystem::file_size(file, missing);
    auto const same = [&](char const* key, Json const& value) {
        auto const* known = recorded->find(key);
        return known != nullptr && *known == value;
    };
    return (missing || same("bytes", bytes)) && same("xxh64", to_hex(hash_file(file)));
}

KeptBest read_kept_best(std::filesystem::path const& run_dir, Journal const& journal) {
    KeptBest out;
    if (auto const kept = kept_in(run_dir / "best", journal)) {
        out.of_run = kept->lap;
        out.test = kept->test;
        out.errors = errors_of(kept->lap, run_dir / "best" / "validation.json");
    }
    for (std::size_t trial = 0; trial < journal.end.trials; ++trial)
        if (auto const kept = kept_in(run_dir / "best" / fmt::format("trial-{}", trial), journal))
            out.of_trials.insert(kept->lap);
    return out;
}

}  // namespace hopscotch
