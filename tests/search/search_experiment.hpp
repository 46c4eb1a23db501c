// SPDX-License-Identifier: Apache-2.0
// Experiments and spaces for tests of searches, from the JSON of their sections.
#pragma once
#include <gtest/gtest.h>

#include <string>

#include "experiment/reader.hpp"
#include "experiment/space.hpp"

namespace hopscotch {

inline Experiment search_experiment(std::string const& search, std::string const& space, std::string const& train = "{}",
                                    std::string const& seed = "1") {
    Problems problems("e.json");
    auto out = read_experiment(R"({"data": {"path": "d"}, "model": {"name": "mlp"}, "run": {"dir": "r"}, "seed": )" + seed +
                                   R"(, "train": )" + train + R"(, "search": )" + search +
                                   (space.empty() ? "" : R"(, "space": )" + space) + "}",
                               {}, problems);
    EXPECT_EQ(problems.text(), "") << search << space;
    return out;
}

inline Space space_from(std::string const& space) {
    auto experiment = search_experiment(R"({"procedure": "random", "trials": 1})", R"({"train.batch_size": [1]})");
    Problems problems("");
    experiment.space = parse_json(space, problems);
    auto out = read_space(experiment, problems);
    EXPECT_EQ(problems.text(), "");
    return out;
}

}  // namespace hopscotch
