// SPDX-License-Identifier: Apache-2.0
#include "data/batches.hpp"

#include <numeric>

#include "core/error.hpp"
#include "core/rng.hpp"

namespace hopscotch {

std::vector<std::uint32_t> shuffled_rows(std::int64_t rows, UnitAddress const& address) {
    require(rows >= 0 && rows <= UINT32_MAX, "a shard has at most 4,294,967,295 rows");
    std::vector<std::uint32_t> order(static_cast<std::size_t>(rows));
    std::iota(order.begin(), order.end(), 0U);
    Rng(stream_key(address.seed, Purpose::shuffle, {address.trial.value, address.epoch, address.shard.value}))
        .shuffle(std::span(order));
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

// One scale for the whole row's features each (run 1): scale and shift lie beside the row.
template <class T>
void gather_by_feature(T const* rows, std::span<std::uint32_t const> picked, std::size_t size, float const* __restrict scale,
                       float const* __restrict shift, float* __restrict out) {
    for (auto const row : picked) {
        T const* __restrict in = rows + row * size;
        for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<float>(in[i]) * scale[i] + shift[i];
        out += size;
    }
}

// One scale for each run of elements (a channel).
template <class T>
void gather_by_channel(T const* rows, std::span<std::uint32_t const> picked, std::size_t size, std::size_t run,
                       std::span<float const> scales, float const* shifts, float* __restrict out) {
    for (auto const row : picked) {
        T const* __restrict in = rows + row * size;
        for (std::size_t channel = 0; channel < scales.size(); ++channel) {
            float const scale = scales[channel], shift = shifts[channel];
            for (std::size_t i = 0; i < run; ++i) out[i] = static_cast<float>(in[i]) * scale + shift;
            in += run;
            out += run;
        }
    }
}

template <class T>
void gather_rows(T const* rows, std::span<std::uint32_t const> picked, std::size_t run, std::vector<float> const& scale,
                 std::vector<float> const& shift, float* out) {
    if (run == 1)
        gather_by_feature(rows, picked, scale.size(), scale.data(), shift.data(), out);
    else
        gather_by_channel(rows, picked, scale.size() * run, run, scale, shift.data(), out);
}

}  // namespace

Normaliser::Normaliser(Manifest const& manifest)
    : type_(manifest.type), row_size_(static_cast<std::size_t>(manifest.row_size())), run_(1) {
    require(
        !manifest.mean.empty() && manifest.mean.size() == manifest.stddev.size() && row_size_ % manifest.mean.size() == 0,
        "mean and stddev do not fit the shape of a row");
    run_ = row_size_ / manifest.mean.size();
    for (std::size_t i = 0; i < manifest.mean.size(); ++i) {
        scale_.push_back(static_cast<float>(1.0 / manifest.stddev[i]));
        shift_.push_back(static_cast<float>(-manifest.mean[i] / manifest.stddev[i]));
    }
}

void Normaliser::gather(Shard const& shard, std::span<std::uint32_t const> picked, float* out) const {
    if (type_ == FeatureType::uint8)
        gather_rows(reinterpret_cast<std::uint8_t const*>(shard.features.data()), picked, run_, scale_, shift_, out);
    else
        gather_rows(reinterpret_cast<float const*>(shard.features.data()), picked, run_, scale_, shift_, out);
}

}  // namespace hopscotch
