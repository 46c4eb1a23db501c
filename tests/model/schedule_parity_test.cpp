// SPDX-License-Identifier: Apache-2.0
// Against torch.optim.lr_scheduler: tests/parity/make_schedule_vectors.py wrote down its learning rates step by step.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>

#include "core/json_reader.hpp"
#include "experiment/sections.hpp"
#include "model/trial/lr_schedule.hpp"

namespace hopscotch {
namespace schedule_parity_test {

constexpr double k_relative = 1e-11;  // torch multiplies its way from step to step, we compute every rate afresh

Json read_vectors() {
    std::ifstream in(HOPSCOTCH_SOURCE_DIR "/tests/parity/schedule_vectors.json");
    return parse_json_or_throw(std::string(std::istreambuf_iterator<char>(in), {}), "schedule_vectors.json");
}

TrainConfig train_of(Json const& c) {
    Problems problems("schedule_vectors.json");
    auto const train = read_train(ObjectReader(c.at("train"), "/train", problems));
    problems.throw_if_any();
    return train;
}

void expect_lr(double got, Json const& expected, Json const& c, std::size_t step) {
    EXPECT_NEAR(got, expected.number(), k_relative * expected.number()) << c.at("train").dump() << " step " << step;
}

void compare_planned(Json const& c, std::int64_t train_rows) {
    auto const train = train_of(c);
    auto const rows = c.at("rows").integer();
    auto const& lrs = c.at("lrs").array();
    for (std::size_t i = 0; i < lrs.size(); ++i)
        expect_lr(scheduled_lr(train, train_rows, static_cast<std::int64_t>(i) * rows, rows), lrs[i], c, i);
}

void compare_plateau(Json const& c, std::int64_t train_rows) {
    auto const train = train_of(c);
    auto const& losses = c.at("losses").array();
    auto const& lrs = c.at("lrs").array();
    ASSERT_EQ(losses.size(), lrs.size());
    Plateau plateau;
    for (std::size_t i = 0; i < lrs.size(); ++i) {
        plateau.observe(losses[i].is_null() ? std::numeric_limits<double>::quiet_NaN() : losses[i].number(), train.schedule);
        auto const samples = static_cast<std::int64_t>(i + 1) * train_rows;
        expect_lr(scheduled_lr(train, train_rows, samples, 1, plateau.reductions), lrs[i], c, i);
    }
}

TEST(ScheduleParity, EqualsTorch) {
    auto const vectors = read_vectors();
    auto const train_rows = vectors.at("train_rows").integer();
    ASSERT_EQ(vectors.at("cases").array().size(), 20U);
    for (auto const& c : vectors.at("cases").array())
        c.find("losses") != nullptr ? compare_plateau(c, train_rows) : compare_planned(c, train_rows);
}

}  // namespace schedule_parity_test
}  // namespace hopscotch
