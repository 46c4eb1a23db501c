// SPDX-License-Identifier: Apache-2.0
// The tables of procedures and samplers: rows fit each other, and an unknown name is an error that lists the known ones.
#include "experiment/procedures.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.hpp"

namespace hopscotch {
namespace procedures_test {
namespace {

bool has_key(ProcedureTraits const& row, std::string_view key) { return std::ranges::count(row.keys, key) > 0; }

TEST(Procedures, RowsFitEachOther) {
    for (auto const& row : procedure_traits()) {
        ASSERT_FALSE(row.samplers.empty()) << row.name;
        for (auto const& sampler : row.samplers) EXPECT_NO_THROW(sampler_traits(sampler)) << row.name;
        EXPECT_EQ(has_key(row, "sampler"), row.samplers.size() > 1) << row.name;
        EXPECT_EQ(has_key(row, "max_epochs"), row.has_rule) << row.name;
        EXPECT_TRUE(row.has_rule || row.samplers.front() == row.name) << row.name;
        bool const draws_alone = has_key(row, "trials") && !row.has_rule && !sampler_traits(row.samplers.front()).is_list();
        bool const staged = row.more_trials == MoreTrials::in_stages;
        EXPECT_TRUE(row.more_trials == MoreTrials::never || draws_alone || staged) << row.name;
        EXPECT_TRUE(!staged || (row.has_rule && has_key(row, "trials") && !row.rungs_wait)) << row.name;
    }
}

TEST(Procedures, UnknownNamesAreErrors) {
    EXPECT_TRUE(procedure_traits("pbt").clones);
    EXPECT_THROW(procedure_traits("pb2"), ConfigError);
    EXPECT_THROW(sampler_traits("pb2"), ConfigError);
    EXPECT_EQ(procedures_with("variant"), std::vector<std::string>{"asha"});
    EXPECT_EQ(procedures_with("min_trials"), std::vector<std::string>{"median"});
    EXPECT_EQ(std::ranges::count(procedures_with("trials"), "pbt"), 0) << "its population is its number of trials";
    EXPECT_EQ(samplers_with("startup"), (std::vector<std::string>{"tpe", "gp"}));
}

}  // namespace
}  // namespace procedures_test
}  // namespace hopscotch
