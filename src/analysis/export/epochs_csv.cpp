// SPDX-License-Identifier: Apache-2.0
#include "analysis/export/epochs_csv.hpp"

#include <filesystem>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/csv.hpp"
#include "core/error.hpp"
#include "core/file.hpp"
#include "experiment/space.hpp"

namespace hopscotch {
namespace {

std::string cell(Json const* value) {
    if (value == nullptr || value->is_null()) return "";
    return csv_field(value->is_string() ? value->string() : value->dump());
}

class EpochsTable {
public:
    explicit EpochsTable(RunResults const& data) {
        for (auto const& trial : data.trials) {
            trials_[trial.id] = &trial;
            add_new_paths(trial.assignment, paths_);
        }
    }
    void add(Json const& line) {
        if (text_.empty()) head(line);
        auto const* trial = trials_.at(TrialId(static_cast<int>(line.at("trial").integer())));
        text_ += std::to_string(trial->id.value) + "," + csv_field(trial->status);
        for (auto const& path : paths_) text_ += "," + cell(value_of(trial->assignment, path));
        for (auto const& key : keys_) text_ += "," + cell(line.find(key));
        text_ += "\n";
    }
    std::string take() { return std::move(text_); }

private:
    void head(Json const& line) {
        text_ = "trial,status";
        for (auto const& path : paths_) text_ += "," + csv_field(path);
        for (auto const& [key, value, at] : line.object())
            if (key != "trial") keys_.push_back(key);
        for (auto const& key : keys_) text_ += "," + csv_field(key);
        text_ += "\n";
    }
    std::vector<std::string> paths_, keys_;
    std::map<TrialId, TrialResults const*> trials_;
    std::string text_;
};

}  // namespace

std::string epochs_csv(RunResults const& data) {
    auto const file = data.run.directory / "metrics.jsonl";
    EpochsTable table(data);
    LineReader lines(file);
    try {
        while (auto const line = lines.next()) table.add(parse_json_or_throw(*line, file.string()));
    } catch (std::out_of_range const&) {
        throw DataError(file.string() + ": names a trial that the journal does not have (from another run?)");
    } catch (DataError const&) {
        throw;
    } catch (Error const& error) {
        throw DataError(file.string() + ": " + error.what() + " (not written by this hopscotch?)");
    }
    return table.take();
}

}  // namespace hopscotch
