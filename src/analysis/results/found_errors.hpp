// SPDX-License-Identifier: Apache-2.0
// best/validation.json: the errors of the best model on the validation rows (docs/formats.md).
#pragma once
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hopscotch {

inline constexpr std::array<std::string_view, 7> k_residual_quantile_names{"least", "5 %",  "25 %", "50 %",
                                                                           "75 %",  "95 %", "most"};

struct FoundErrors {
    struct Class {  // or a label of a multilabel dataset
        std::string name;
        double rows = 0, predicted = 0, right = 0;  // rows of it, rows predicted to be it, and both

        double precision() const { return right / predicted; }  // these three: NaN: none
        double recall() const { return right / rows; }
        double f1() const { return 2 * right / (rows + predicted); }
    };
    struct Pair {
        std::string actual, predicted;
        double rows = 0;
    };
    struct Target {
        std::string name;                               // of its column, or its number
        double r2 = NAN, mae = NAN, rmse = NAN;         // NaN: the run is of an earlier version
        double mean = 0, stddev = 0;                    // of the residuals: predicted - target
        std::array<double, 7> quantiles{};              // in the order of k_residual_quantile_names
        std::vector<std::pair<double, double>> sample;  // target, predicted
    };
    std::int64_t trial = 0, epoch = 0, rows = 0;
    std::string metric;
    std::optional<double> standard_error;        // of that metric
    std::vector<Class> classes;                  // empty: there are none, or too many
    std::vector<std::vector<double>> confusion;  // rows by true class and predicted class; empty: as classes
    std::vector<Pair> confused;                  // most often first
    std::vector<Target> targets;                 // of a regression
};

// None: there is no such file, or it is not as a job writes it. The rest of the report does not need it.
std::optional<FoundErrors> read_errors(std::filesystem::path const& run_dir);

}  // namespace hopscotch
