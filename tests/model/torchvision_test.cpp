// SPDX-License-Identifier: Apache-2.0
// The zoo's models have torchvision's own names and shapes (tests/parity/make_torchvision_keys.py), so that weights go both
// ways.
#include <gtest/gtest.h>

#include <fstream>

#include "fixture.hpp"

namespace hopscotch::testing {
namespace torchvision_test {

TEST(Torchvision, NamesAndShapesAreItsOwn) {
    std::ifstream in(HOPSCOTCH_SOURCE_DIR "/tests/parity/torchvision_keys.json");
    auto const keys = parse_json_or_throw(std::string(std::istreambuf_iterator<char>(in), {}), "torchvision_keys.json");
    auto const imagenet = plain_manifest({3, 224, 224}, 1000, 100, Task::classification);
    int models = 0;
    for (auto const& [name, theirs, position] : keys.object()) {
        if (name == "torchvision") continue;
        auto config = trial_config(name == "vit_b_16" ? "vit" : name);
        if (name == "vit_b_16") config.model.arguments["preset"] = Json("b_16");
        Trial trial(config, imagenet);
        std::size_t ours = 0;
        for (auto const& tensor : trial->state->layout().tensors) {
            if (tensor.block != Block::parameter && tensor.block != Block::buffer) continue;
            ++ours;
            auto const* shape = theirs.find(tensor.name);
            ASSERT_NE(shape, nullptr) << name << " has no " << tensor.name;
            EXPECT_EQ(*shape, Json(tensor.shape)) << name << " " << tensor.name;
        }
        EXPECT_EQ(ours, theirs.object().size()) << name;
        ++models;
    }
    EXPECT_EQ(models, 7);
}

}  // namespace torchvision_test
}  // namespace hopscotch::testing
