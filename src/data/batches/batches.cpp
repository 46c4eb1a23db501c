// SPDX-License-Identifier: Apache-2.0
#include "data/batches/batches.hpp"

#include <algorithm>
#include <numeric>

#include "core/error.hpp"
#include "core/rng.hpp"
#include "data/dataset/manifest.hpp"
#include "data/dataset/shard.hpp"

namespace hopscotch {

std::int64_t rows_shuffled_together(DataConfig const& config) {
    constexpr std::int64_t window_rows = 65536;  // the value that data.shuffle_rows documents
    return config.shuffle_rows == 0 && config.cache == Cache::window ? window_rows : config.shuffle_rows;
}

std::vector<std::uint32_t> shuffled_rows(std::int64_t rows, UnitAddress const& address, std::int64_t shuffle_rows) {
    require(rows >= 0 && rows <= UINT32_MAX, "a shard has at most 4,294,967,295 rows");
    require(shuffle_rows >= 0, "rows are shuffled in windows of at least one row, or all together (0)");
    std::vector<std::uint32_t> order(static_cast<std::size_t>(rows));
    Rng rng(stream_key(address.seed, Purpose::shuffle, {address.trial.value, address.epoch, address.shard.value}));
    auto const window = shuffle_rows == 0 ? rows : std::min(shuffle_rows, rows);
    if (window == rows) {
        std::iota(order.begin(), order.end(), 0U);
        rng.shuffle(std::span(order));
        return order;
    }
    std::vector<std::int64_t> firsts;
    for (std::int64_t first = 0; first < rows; first += window) firsts.push_back(first);
    rng.shuffle(std::span(firsts));
    auto rest = std::span(order);
    for (auto const first : firsts) {
        auto const part = rest.first(static_cast<std::size_t>(std::min(window, rows - first)));
        std::iota(part.begin(), part.end(), static_cast<std::uint32_t>(first));
        rng.shuffle(part);
        rest = rest.subspan(part.size());
    }
    return order;
}

std::vector<BatchRange> batches(std::int64_t rows, std::int64_t batch_size, LastBatch last) {
    require(batch_size >= 1, "a batch has at least one row");
    std::vector<BatchRange> out;
    if (rows <= 0) return out;
    if (rows <= batch_size) return {{0, rows}};
    out.reserve(static_cast<std::size_t>(rows / batch_size) + 1);
    for (std::int64_t first = 0; first + batch_size <= rows; first += batch_size) out.push_back({first, batch_size});
    auto const remainder = rows % batch_size;
    if (last == LastBatch::drop || remainder == 0) return out;
    if (remainder == 1)
        ++out.back().size;
    else
        out.push_back({rows - remainder, remainder});
    return out;
}

namespace {

struct Scales {
    std::size_t run;  // elements of a row that share a scale
    std::span<float const> scale, shift;
};

// Each feature has a scale of its own (run 1): scale and shift lie beside the row.
template <class T>
void gather_by_feature(T const* rows, std::span<std::uint32_t const> picked, Scales const& scales, float* __restrict out) {
    auto const size = scales.scale.size();
    float const* __restrict const scale = scales.scale.data();
    float const* __restrict const shift = scales.shift.data();
    for (auto const row : picked) {
        T const* __restrict in = rows + row * size;
        for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<float>(in[i]) * scale[i] + shift[i];
        out += size;
    }
}

// One scale for each run of elements (a channel).
template <class T>
void gather_by_channel(T const* rows, std::span<std::uint32_t const> picked, Scales const& scales, float* __restrict out) {
    auto const run = scales.run, channels = scales.scale.size(), size = channels * run;
    for (auto const row : picked) {
        T const* __restrict in = rows + row * size;
        for (std::size_t channel = 0; channel < channels; ++channel) {
            float const scale = scales.scale[channel], shift = scales.shift[channel];
            for (std::size_t i = 0; i < run; ++i) out[i] = static_cast<float>(in[i]) * scale + shift;
            in += run;
            out += run;
        }
    }
}

template <class T>
void gather_rows(T const* rows, std::span<std::uint32_t const> picked, Scales const& scales, float* out) {
    if (scales.run == 1)
        gather_by_feature(rows, picked, scales, out);
    else
        gather_by_channel(rows, picked, scales, out);
}

// Whether the features that share a scale are categories. A single number of manifest.categories speaks for all features.
bool is_category(Manifest const& manifest, std::size_t scale) {
    auto const& categories = manifest.categories;
    if (categories.size() <= 1) return !categories.empty() && categories.front() > 0;
    require(categories.size() == manifest.features.mean.size(),
            "categories by feature do not fit images (a scale is a channel's)");
    return categories[scale] > 0;
}

}  // namespace

Normaliser::Normaliser(Manifest const& manifest, DataConfig const& config)
    : type_(manifest.type), row_size_(static_cast<std::size_t>(manifest.row_size())), run_(1) {
    require(!manifest.features.mean.empty() && manifest.features.mean.size() == manifest.features.stddev.size() &&
                row_size_ % manifest.features.mean.size() == 0,
            "mean and stddev do not fit the shape of a row");
    run_ = row_size_ / manifest.features.mean.size();
    double const unit = type_ == FeatureType::uint8 ? 255 : 1;  // where data.normalise is off
    for (std::size_t i = 0; i < manifest.features.mean.size(); ++i) {
        auto const as_is = is_category(manifest, i);
        auto const mean = as_is || !config.normalise ? 0 : manifest.features.mean[i];
        auto const stddev = as_is ? 1 : config.normalise ? manifest.features.stddev[i] : unit;
        scale_.push_back(static_cast<float>(1.0 / stddev));
        shift_.push_back(static_cast<float>(-mean / stddev));
    }
}

void Normaliser::gather(Shard const& shard, std::span<std::uint32_t const> picked, float* out) const {
    Scales const scales{run_, scale_, shift_};
    if (type_ == FeatureType::uint8)
        gather_rows(reinterpret_cast<std::uint8_t const*>(shard.features.data()), picked, scales, out);
    else
        gather_rows(reinterpret_cast<float const*>(shard.features.data()), picked, scales, out);
}

}  // namespace hopscotch
