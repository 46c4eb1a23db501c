// SPDX-License-Identifier: Apache-2.0
#include "data/import/image/image_depth.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>

#include "core/counted.hpp"
#include "core/error.hpp"
#include "data/import/image/image_workers.hpp"

namespace hopscotch {
namespace {

constexpr int k_small_range = 1 << 15;  // beyond it, dividing by 257 leaves at least 128 of 256 values

struct Head {
    bool known = false, deep = false;
};

Head head_of(std::filesystem::path const& path) {
    std::array<char, k_depth_bytes> head{};
    std::ifstream in(path, std::ios::binary);
    in.read(head.data(), head.size());
    ByteView const bytes = std::as_bytes(std::span(head)).first(static_cast<std::size_t>(in.gcount()));
    return {is_image(bytes), is_deep_png(bytes)};
}

// Empty if the file cannot be decoded: decoding reports it later.
ValueRange range_of(std::filesystem::path const& path) {
    try {
        std::vector<std::byte> bytes;
        read_whole_file(path, bytes);
        return png_values(bytes);
    } catch (DataError const&) {
        return {1, 0};
    }
}

}  // namespace

std::string Depths::decision() const {
    if (deep == 0) return "";
    auto const which =
        others == 0 ? std::string("images of 16 bits") : fmt::format("{} of {} images have 16 bits", deep, deep + others);
    if (values.empty()) return which + ": divided by 257";
    if (scale != ValueRange{})
        return fmt::format("{}: their values {} to {} become 0 to 255, one scale for all images, now and in predict{}",
                           which, values.low, values.high,
                           outside == 0 ? ""
                                        : fmt::format("; values beyond become 0 and 255 ({})",
                                                      counted(outside, "validation or test image has such values",
                                                              "validation and test images have such values")));
    auto out = fmt::format("{}: their values {} to {} of 0 to 65535 are divided by 257, so that white stays white", which,
                           values.low, values.high);
    if (values.spread() < k_small_range)
        out += fmt::format(" ({} of 256 values are left; {})", values.high / 257 - values.low / 257 + 1,
                           others > 0 ? "scale them yourself, or import them apart" : "all their pixels are equal");
    return out;
}

void Depths::see(DecodedImage const& image, bool trains) {
    ++(image.deep ? deep : others);
    if (trains) values.see(image.values);
}

Depths scan_depths(ImageFolder const& folder, int threads, ImportOptions const& options) {
    Depths out;
    std::vector<std::filesystem::path> paths;  // of the training images first, as the folder has them
    std::size_t training = 0;
    for (auto const& file : folder.files) {
        auto const head = head_of(folder.path(file));
        if (head.known && !head.deep) return out;
        if (!head.deep) continue;
        paths.push_back(folder.path(file));
        if (folder.folders[file.folder].split == Split::train) training = paths.size();
    }
    auto const count = static_cast<std::int64_t>(paths.size());
    InOrder<ValueRange> ranges(count, threads, 4 * threads,
                               [&](auto i) { return range_of(paths[static_cast<std::size_t>(i)]); });
    for (std::int64_t i = 0; i < count; ++i) {
        auto const range = ranges.next();
        if (static_cast<std::size_t>(i) < training)
            out.values.see(range);
        else if (!range.empty() && (range.low < out.values.low || range.high > out.values.high))
            ++out.outside;
        if (options.progress && i % 256 == 0) options.progress(i, 0);
    }
    if (out.values.spread() > 0 && out.values.spread() < k_small_range) out.scale = out.values;
    return out;
}

}  // namespace hopscotch
