// SPDX-License-Identifier: Apache-2.0
#include "run/server_log.hpp"

#include <fmt/format.h>

#include <sstream>

#include "core/error.hpp"
#include "core/json.hpp"
#include "run/files.hpp"

namespace hopscotch {

void append_server_log(std::filesystem::path const& file, LapRecord const& record) {
    if (record.server_log.empty()) return;
    std::string lines;
    for (std::size_t part = 0; part < record.server_log.size(); ++part) {
        Json::Array order;
        for (int const worker : record.server_log[part]) order.push_back(worker);
        auto const line = Json::object({{"trial", static_cast<std::int64_t>(record.trial.value)},
                                        {"epoch", record.epoch},
                                        {"part", static_cast<std::int64_t>(part)},
                                        {"order", std::move(order)}});
        lines += line.dump() + "\n";
    }
    AppendFile(file).append(lines);
}

std::map<std::pair<TrialId, int>, ServerLog> read_server_log(std::filesystem::path const& file) {
    std::map<std::pair<TrialId, int>, ServerLog> out;
    std::istringstream text(read_whole(file));
    int number = 0;
    for (std::string line; std::getline(text, line);) {
        auto const name = fmt::format("{}:{}", file.string(), ++number);
        auto const json = parse_json_or_throw(line, name);
        auto& parts = out[{TrialId(json.at("trial").integer()), static_cast<int>(json.at("epoch").integer())}];
        auto const part = static_cast<std::size_t>(json.at("part").integer());
        if (part == 0) parts.clear();  // the lap was trained again
        if (part != parts.size())
            throw DataError(fmt::format("{}: part {} does not follow part {}", name, part, parts.size()));
        auto& order = parts.emplace_back();
        for (auto const& worker : json.at("order").array()) order.push_back(static_cast<std::uint16_t>(worker.integer()));
    }
    return out;
}

}  // namespace hopscotch
