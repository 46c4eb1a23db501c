// SPDX-License-Identifier: Apache-2.0
#include "rundir/server_log.hpp"

#include <fmt/format.h>

#include "core/durable_file.hpp"
#include "core/error.hpp"
#include "core/file.hpp"
#include "core/json.hpp"
#include "rundir/journal_codec.hpp"

namespace hopscotch {

void append_server_log(std::filesystem::path const& file, LapRecord const& record) {
    if (record.sync.server_log.empty()) return;
    std::string lines;
    for (std::size_t part = 0; part < record.sync.server_log.size(); ++part) {
        Json::Array order;
        for (int const worker : record.sync.server_log[part]) order.push_back(worker);
        auto const line = Json::object({{"trial", static_cast<std::int64_t>(record.trial.value)},
                                        {"epoch", record.epoch},
                                        {"part", static_cast<std::int64_t>(part)},
                                        {"order", std::move(order)}});
        lines += line.dump() + "\n";
    }
    AppendFile(file).append(lines);
}

namespace {

void take_line(Json const& json, std::map<std::pair<TrialId, int>, ServerLog>& log) {
    auto& parts = log[{TrialId(count_in(json, "trial")), count_in(json, "epoch")}];
    auto const part = static_cast<std::size_t>(count_in(json, "part"));
    if (part == 0) parts.clear();  // the lap was trained again
    if (part != parts.size()) throw Error(fmt::format("part {} does not follow part {}", part, parts.size()));
    auto& order = parts.emplace_back();
    for (auto const& worker : json.at("order").array()) {
        if (worker.integer() < 0 || worker.integer() > k_most_trainers)
            throw Error(fmt::format("worker {} cannot be", worker.integer()));
        order.push_back(static_cast<std::uint16_t>(worker.integer()));
    }
}

}  // namespace

std::map<std::pair<TrialId, int>, ServerLog> read_server_log(std::filesystem::path const& file) {
    std::map<std::pair<TrialId, int>, ServerLog> out;
    LineReader lines(file);
    while (auto const line = lines.next()) {
        auto const name = fmt::format("{}:{}", file.string(), lines.number());
        auto const json = parse_json_or_throw(*line, name);
        try {
            take_line(json, out);
        } catch (Error const& error) {  // adds the file's name
            throw DataError(fmt::format("{}: {}", name, error.what()));
        }
    }
    return out;
}

}  // namespace hopscotch
