// SPDX-License-Identifier: Apache-2.0
// A directory of images to import: what the tests of the image importer share.
#pragma once
#include <set>

#include "data/dataset/shard.hpp"
#include "data/image_files.hpp"
#include "data/import/image/image_import.hpp"

namespace hopscotch {

// A directory of images, `in`, and where they go, `out`.
struct Images {
    TemporaryDirectory dir;
    ImportImagesOptions options;

    Images() {
        options.sources = {dir / "in"};
        options.out = dir / "out";
        options.valid = 0.25;
        std::filesystem::create_directory(dir / "in");
    }
    std::filesystem::path in(std::string const& name) const { return dir / ("in/" + name); }
    void grey(std::string const& name, int width, int height, int value) const {
        write_grey(in(name), width, height, value);
    }

    // Two classes of eight images, whose value is 10 times the class and the image's number.
    void two_classes(std::string const& above = "") const {
        for (int i = 0; i < 16; ++i)
            grey(above + (i < 8 ? "cat/" : "dog/") + std::to_string(i % 8) + ".png", 3, 2, i % 8 + (i < 8 ? 10 : 20));
    }
    ImportReport run() const { return import_image_folder(options); }

    template <class Exception = DataError>
    std::string error() const {
        auto const text = thrown<Exception>([&] { run(); }, dir.path());
        EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir.path()), {}), 1) << "something was left on disk";
        return text;
    }

    // Of each split: how often each (label, first pixel) occurs.
    using Content = std::multiset<std::pair<std::int64_t, int>>;
    Content content(Split split) const {
        auto const manifest = read_manifest(options.out);
        Content out;
        for (auto const& file : manifest.files(split)) {
            auto const shard = read_shard(options.out, file, manifest);
            auto const each = shard.features.size() / static_cast<std::size_t>(shard.rows);
            for (std::size_t row = 0; row < shard.labels.size(); ++row)
                out.emplace(shard.labels[row], std::to_integer<int>(shard.features[row * each]));
        }
        return out;
    }
};

}  // namespace hopscotch
