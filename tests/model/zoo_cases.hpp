// SPDX-License-Identifier: Apache-2.0
// A small network of every model of the zoo, but those of users, and rows for it.
#pragma once
#include <ostream>
#include <vector>

#include "fixture.hpp"

namespace hopscotch::testing {

inline constexpr std::int64_t k_zoo_rows = 47;  // six batches of 7 rows, and one of 5

struct ZooCase {
    char const *model, *arguments;
    Manifest manifest;
};

inline std::ostream& operator<<(std::ostream& out, ZooCase const& c) { return out << c.model << " " << c.arguments; }

inline std::vector<ZooCase> zoo_cases() {
    auto const image = [](std::int64_t channels, std::int64_t side) {
        return plain_manifest({channels, side, side}, 10, k_zoo_rows, Task::classification);
    };
    auto tokens = plain_manifest({6}, 11, k_zoo_rows, Task::language),
         words = plain_manifest({6}, 3, k_zoo_rows, Task::classification);
    auto table = plain_manifest({5}, 3, k_zoo_rows, Task::classification);
    tokens.categories = {11};
    words.categories = {9};
    table.categories = {4, 0, 9, 0, 2};
    constexpr char const* k_vgg_arguments = R"({"width": 4, "hidden": 16, "dropout": 0.1})";
    return {{"logistic", "{}", image(1, 8)},
            {"mlp", R"({"hidden": [33, 17], "dropout": 0.3, "batch_norm": true})", image(1, 8)},
            {"lenet", R"({"dropout": 0.5})", image(1, 8)},
            {"cnn", R"({"channels": [4, 8], "dropout": 0.1})", image(1, 8)},
            {"resnet20", R"({"width": 4})", image(3, 16)},
            {"resnet32", R"({"width": 4})", image(3, 16)},
            {"resnet56", R"({"width": 4})", image(3, 16)},
            {"mobilenet_v2", R"({"stem": "cifar", "width": 0.25})", image(3, 16)},
            {"resnet18", R"({"stem": "cifar", "width": 8})", image(3, 16)},
            {"resnet34", R"({"stem": "cifar", "width": 8})", image(3, 16)},
            {"resnet50", R"({"width": 8})", image(3, 32)},
            {"vgg16", k_vgg_arguments, image(3, 32)},
            {"vgg16_bn", k_vgg_arguments, image(3, 32)},
            {"vit", R"({"patch": 4, "width": 16, "depth": 2, "heads": 2, "dropout": 0.1})", image(3, 16)},
            {"gpt", R"({"layers": 2, "width": 16, "heads": 2, "dropout": 0.1})", tokens},
            {"lstm", R"({"hidden": 12, "layers": 2, "embedding": 5, "dropout": 0.3, "bidirectional": true})", words},
            {"wide_and_deep", R"({"embedding": 3, "hidden": [8, 6], "dropout": 0.2})", table}};
}

// Random rows; categories where the manifest has them.
inline Shard shard_for(Manifest const& manifest) {
    auto shard = random_shard(manifest, k_zoo_rows, 5);
    auto* const x = reinterpret_cast<float*>(shard.features.own().data());
    auto const width = manifest.row_size();
    auto const& categories = manifest.categories;
    Rng rng(6);
    for (std::int64_t i = 0; i < k_zoo_rows * width && !categories.empty(); ++i) {
        auto const n = categories.size() == 1 ? categories[0] : categories[static_cast<std::size_t>(i % width)];
        if (n > 0) x[i] = static_cast<float>(rng.below(static_cast<std::uint32_t>(n)));
    }
    return shard;
}

}  // namespace hopscotch::testing
