// SPDX-License-Identifier: Apache-2.0
#include "data/import/image/image_resize.hpp"

#include <algorithm>
#include <vector>

#include "core/error.hpp"

namespace hopscotch {
namespace {

// A result's pixel is a weighted mean of `weights.size()` neighbouring pixels from `first` on.
struct Tap {
    std::size_t first = 0;
    std::vector<std::uint64_t> weights;
};

struct Taps {
    std::vector<Tap> of;      // each pixel of the result
    std::uint64_t total = 1;  // of its weights
};

// In units of 1/out of a source pixel: the result's pixel i covers [i * in, (i + 1) * in), source pixel j [j * out, ...).
Taps area_taps(std::int64_t in, std::int64_t out) {
    Taps taps{{}, static_cast<std::uint64_t>(in)};
    for (std::int64_t i = 0; i < out; ++i) {
        auto const begin = i * in, end = begin + in;
        Tap tap{static_cast<std::size_t>(begin / out), {}};
        for (auto j = begin / out; j * out < end; ++j)
            tap.weights.push_back(static_cast<std::uint64_t>(std::min(end, (j + 1) * out) - std::max(begin, j * out)));
        taps.of.push_back(std::move(tap));
    }
    return taps;
}

// Pixel centres: the result's i lies at (i + 1/2) * in / out - 1/2, in units of 1/(2 out). Beyond the border, the border.
Taps linear_taps(std::int64_t in, std::int64_t out) {
    auto const unit = 2 * out;
    Taps taps{{}, static_cast<std::uint64_t>(unit)};
    for (std::int64_t i = 0; i < out; ++i) {
        auto const at = std::clamp<std::int64_t>((2 * i + 1) * in - out, 0, (in - 1) * unit);
        auto const low = at / unit, rest = at % unit;
        Tap tap{static_cast<std::size_t>(low), {static_cast<std::uint64_t>(unit - rest)}};
        if (rest > 0) tap.weights.push_back(static_cast<std::uint64_t>(rest));
        taps.of.push_back(std::move(tap));
    }
    return taps;
}

Taps taps_for(std::int64_t in, std::int64_t out) { return in >= out ? area_taps(in, out) : linear_taps(in, out); }

struct Box {
    std::int64_t left = 0, top = 0, width = 0, height = 0;
};

// The part `from` of the image, as the part `to` of a square of `size`.
void resample(Image const& image, Box const& from, Box const& to, std::int64_t size, std::span<std::uint8_t> out) {
    auto const across = taps_for(from.width, to.width), down = taps_for(from.height, to.height);
    auto const channels = static_cast<std::size_t>(image.channels), width = static_cast<std::size_t>(to.width);
    auto const stride = static_cast<std::size_t>(image.width) * channels;
    auto const at = [](std::int64_t n) { return static_cast<std::size_t>(n); };
    std::vector<std::uint64_t> narrow(at(from.height) * width * channels);  // the columns are done, the rows are not
    for (std::size_t y = 0; y < at(from.height); ++y) {
        auto const* const row = image.pixels.data() + (at(from.top) + y) * stride + at(from.left) * channels;
        for (std::size_t i = 0; i < width * channels; ++i) {
            auto const& tap = across.of[i / channels];
            std::uint64_t sum = 0;
            for (std::size_t k = 0; k < tap.weights.size(); ++k)
                sum += tap.weights[k] * row[(tap.first + k) * channels + i % channels];
            narrow[y * width * channels + i] = sum;
        }
    }
    auto const total = across.total * down.total;
    std::vector<std::uint64_t> sums(width * channels);
    for (std::size_t y = 0; y < down.of.size(); ++y) {
        auto const& tap = down.of[y];
        std::fill(sums.begin(), sums.end(), 0);
        for (std::size_t k = 0; k < tap.weights.size(); ++k)
            for (std::size_t i = 0; i < sums.size(); ++i)
                sums[i] += tap.weights[k] * narrow[(tap.first + k) * sums.size() + i];
        for (std::size_t i = 0; i < sums.size(); ++i)
            out[((i % channels) * at(size) + at(to.top) + y) * at(size) + at(to.left) + i / channels] =
                static_cast<std::uint8_t>((sums[i] + total / 2) / total);
    }
}

}  // namespace

void image_to_row(Image const& image, std::int64_t size, Resize resize, std::span<std::uint8_t> out) {
    auto const pixels = static_cast<std::size_t>(size > 0 ? size * size : image.width * image.height);
    auto const channels = static_cast<std::size_t>(image.channels);
    require(out.size() == pixels * channels, "a row has the size of its image");
    if (size == 0 || (image.width == size && image.height == size)) {
        for (std::size_t c = 0; c < channels; ++c)
            for (std::size_t i = 0; i < pixels; ++i) out[c * pixels + i] = image.pixels[i * channels + c];
        return;
    }
    auto const shorter = std::min(image.width, image.height), longer = std::max(image.width, image.height);
    if (resize == Resize::crop)
        return resample(image, {(image.width - shorter) / 2, (image.height - shorter) / 2, shorter, shorter},
                        {0, 0, size, size}, size, out);
    std::fill(out.begin(), out.end(), std::uint8_t{0});
    auto const scaled = [&](std::int64_t n) { return std::max<std::int64_t>(1, (2 * n * size + longer) / (2 * longer)); };
    auto const width = scaled(image.width), height = scaled(image.height);
    resample(image, {0, 0, image.width, image.height}, {(size - width) / 2, (size - height) / 2, width, height}, size, out);
}

}  // namespace hopscotch
