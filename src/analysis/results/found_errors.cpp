// SPDX-License-Identifier: Apache-2.0
#include "analysis/results/found_errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "core/file.hpp"
#include "core/json.hpp"

namespace hopscotch {
namespace {

using Class = FoundErrors::Class;

[[noreturn]] void refuse() { throw Error("its parts do not fit together (not written by this hopscotch?)"); }

std::vector<double> numbers_in(Json const& array) {
    std::vector<double> out;
    for (auto const& value : array.array()) out.push_back(value.is_null() ? NAN : value.number());
    return out;
}

std::vector<Class> classes_in(Json const& classes) {
    auto const rows = numbers_in(classes.at("labelled")), predicted = numbers_in(classes.at("predicted")),
               right = numbers_in(classes.at("right"));
    auto const& names = classes.at("names").array();
    if (predicted.size() != rows.size() || right.size() != rows.size()) refuse();
    std::vector<Class> out;
    for (std::size_t i = 0; i < rows.size(); ++i)
        out.push_back({i < names.size() ? names[i].string() : fmt::format("{}", i), rows[i], predicted[i], right[i]});
    return out;
}

std::vector<std::vector<double>> confusion_in(Json const& lines) {
    std::vector<std::vector<double>> out;
    for (auto const& line : lines.array()) {
        out.push_back(numbers_in(line));
        if (out.back().size() != lines.array().size()) refuse();
    }
    return out;
}

FoundErrors::Pair pair_in(Json const& pair, std::vector<Class> const& classes) {
    auto const name = [&](Json const& number) {
        auto const index = static_cast<std::size_t>(number.integer());
        return index < classes.size() ? classes[index].name : fmt::format("{}", index);
    };
    if (pair.array().size() != 3) refuse();
    return {name(pair.array()[0]), name(pair.array()[1]), pair.array()[2].number()};
}

// Runs of earlier versions have neither names nor scores of single targets.
FoundErrors::Target target_in(Json const& target, std::size_t number) {
    FoundErrors::Target out;
    auto const* name = target.find("name");
    out.name = name != nullptr ? name->string() : fmt::format("{}", number);
    for (auto const& [key, value] : {std::pair("r2", &out.r2), std::pair("mae", &out.mae), std::pair("rmse", &out.rmse)})
        if (auto const* found = target.find(key)) *value = found->number();
    out.mean = target.at("mean").number();
    out.stddev = target.at("stddev").number();
    auto const quantiles = numbers_in(target.at("quantiles"));
    if (quantiles.size() != out.quantiles.size()) refuse();
    std::ranges::copy(quantiles, out.quantiles.begin());
    for (auto const& pair : target.at("sample").array()) {
        auto const both = numbers_in(pair);
        if (both.size() != 2) refuse();
        out.sample.emplace_back(both[0], both[1]);
    }
    return out;
}

FoundErrors errors_in(Json const& json) {
    FoundErrors out;
    out.trial = json.at("trial").integer();
    out.epoch = json.at("epoch").integer();
    out.rows = json.at("rows").integer();
    out.metric = json.at("metric").string();
    if (auto const& error = json.at("standard_error"); !error.is_null()) out.standard_error = error.number();
    if (auto const* classes = json.find("classes")) out.classes = classes_in(*classes);
    if (auto const* confusion = json.find("confusion")) out.confusion = confusion_in(*confusion);
    if (auto const* confused = json.find("confused"))
        for (auto const& pair : confused->array()) out.confused.push_back(pair_in(pair, out.classes));
    if (auto const* targets = json.find("targets"))
        for (auto const& target : targets->array()) out.targets.push_back(target_in(target, out.targets.size()));
    return out;
}

}  // namespace

std::optional<FoundErrors> read_errors(std::filesystem::path const& run_dir) {
    auto const file = run_dir / "best" / "validation.json";
    std::error_code refused;
    if (!std::filesystem::is_regular_file(file, refused)) return std::nullopt;
    try {
        return errors_in(parse_json_or_throw(read_whole(file), file.string()));
    } catch (Error const&) {
        return std::nullopt;
    }
}

}  // namespace hopscotch
