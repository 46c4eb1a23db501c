// SPDX-License-Identifier: Apache-2.0
#include "job/model_files_of_run.hpp"

#include <fmt/format.h>

#include <vector>

#include "core/error.hpp"
#include "core/file.hpp"
#include "core/hash.hpp"
#include "experiment/model_files.hpp"
#include "experiment/reader.hpp"
#include "job/earlier_jobs.hpp"
#include "job/prepared_run.hpp"

namespace hopscotch {
namespace {

void refuse_in(PreparedRun const& prepared, std::vector<Order> const& orders) {
    for (auto const& order : orders) {
        if (order.kind != Order::Kind::clone) continue;
        auto const file =
            new_file_of(prepared, resolve(prepared.inputs.experiment, order.assignment, "journal.jsonl").model);
        if (!file.empty())
            throw ConfigError(fmt::format(
                "{}/journal.jsonl: an order names the model file {} (the run did not begin with it); start a separate run",
                prepared.inputs.experiment.run.dir, file));
    }
}

}  // namespace

std::map<std::string, std::uint64_t> hashes_of_model_files(Experiment const& experiment) {
    std::map<std::string, std::uint64_t> out;
    for (auto const& file : model_files(experiment)) {
        try {
            out[file] = hash_file(file);
        } catch (DataError const& error) {
            throw ConfigError(error.what());
        }
    }
    return out;
}

void require_same_files(PreparedRun const& prepared) {
    for (auto const& [path, hash] : hashes_of_model_files(prepared.inputs.experiment))
        if (hash != prepared.inputs.files.at(path))
            throw CommError(fmt::format(
                "{}: was replaced while the run went on (the trials began with another file); restore it, then continue "
                "with --resume",
                path));
}

std::string new_file_of(PreparedRun const& prepared, ModelConfig const& model) {
    for (auto const& file : {model.file, model.init_from})
        if (!file.empty() && !prepared.inputs.files.contains(file)) return file;
    return "";
}

void refuse_new_files(PreparedRun const& prepared) {
    auto const& journal = prepared.inputs.earlier->journal;
    refuse_in(prepared, journal.orders);
    for (auto const& lap : journal.laps) refuse_in(prepared, lap.orders);
}

}  // namespace hopscotch
