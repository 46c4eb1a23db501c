// SPDX-License-Identifier: Apache-2.0
#include "data/batches/augment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/error.hpp"
#include "core/json_reader.hpp"
#include "core/rng.hpp"
#include "data/batches/compact_plan.hpp"
#include "data/batches/shard_source.hpp"
#include "data/dataset/manifest.hpp"
#include "data/dataset/shard.hpp"

namespace hopscotch {
namespace {

struct Draw {  // the random draw for one entry of data.augment
    bool applied = true;
    std::int64_t y = 0, x = 0;  // crop: how far the image moves up and left; cutout: first row and column of the square
};

// The same numbers are drawn whether an entry is applied or not, so that no entry's chance depends on another's outcome.
Draw draw(AugmentConfig const& augment, std::size_t height, std::size_t width, Rng& rng) {
    auto const below = [&](auto n) { return static_cast<std::int64_t>(rng.below(static_cast<std::uint32_t>(n))); };
    Draw out;
    if (augment.kind == AugmentKind::crop) {
        out.y = below(2 * augment.padding + 1) - augment.padding;
        out.x = below(2 * augment.padding + 1) - augment.padding;
        return out;
    }
    out.applied = rng.uniform() < augment.probability;
    if (augment.kind == AugmentKind::flip) return out;
    out.y = below(height) - augment.size / 2;
    out.x = below(width) - augment.size / 2;
    return out;
}

// Of a padded axis: the edge is not repeated, as in torch's "reflect".
std::int64_t reflected(std::int64_t at, std::int64_t size) {
    if (at < 0) return -at;
    return at < size ? at : 2 * (size - 1) - at;
}

using Places = std::vector<std::uint32_t>;

// Every change maps rows to rows and columns to columns. So one list for each gives the source pixel in the stored image,
// for any number of changes.
class ImagePlan {
public:
    ImagePlan(std::vector<AugmentConfig> const& augment, std::size_t height, std::size_t width)
        : augment_(augment), draws_(augment.size()), holes_(augment.size()), ys_(height), xs_(width) {}

    void draw_for(Rng rng) {
        std::iota(ys_.begin(), ys_.end(), 0U);
        std::iota(xs_.begin(), xs_.end(), 0U);
        for (std::size_t i = 0; i < augment_.size(); ++i) draws_[i] = draw(augment_[i], ys_.size(), xs_.size(), rng);
        for (auto i = augment_.size(); i-- > 0;) trace_back(i);  // from a place in the result to where it comes from
    }

    Places const& ys() const { return ys_; }
    Places const& xs() const { return xs_; }

    void fill_holes(float* channel, float value) const {
        for (auto const& hole : holes_)
            for (auto const y : hole.ys)
                for (auto const x : hole.xs) channel[y * xs_.size() + x] = value;
    }

    // In the form of data/batches/compact_plan.hpp: rows, then columns.
    void write(std::uint16_t* out) const {
        auto* const rows = out;
        auto* const columns = std::copy(ys_.begin(), ys_.end(), rows);
        std::copy(xs_.begin(), xs_.end(), columns);
        auto bit = k_plan_place_bits;
        for (std::size_t i = 0; i < holes_.size(); ++i) {
            if (augment_[i].kind != AugmentKind::cutout) continue;
            auto const hole = static_cast<std::uint16_t>(1U << bit++);
            for (auto const y : holes_[i].ys) rows[y] |= hole;
            for (auto const x : holes_[i].xs) columns[x] |= hole;
        }
    }

private:
    struct Hole {
        Places ys, xs;  // of the result
    };

    void trace_back(std::size_t i) {
        holes_[i].ys.clear();
        holes_[i].xs.clear();
        if (!draws_[i].applied) return;
        switch (augment_[i].kind) {
            case AugmentKind::flip:
                for (auto& x : xs_) x = static_cast<std::uint32_t>(xs_.size()) - 1 - x;
                return;
            case AugmentKind::crop: move(ys_, draws_[i].y); return move(xs_, draws_[i].x);
            case AugmentKind::cutout:
                holes_[i].ys = within(ys_, draws_[i].y, augment_[i].size);
                holes_[i].xs = within(xs_, draws_[i].x, augment_[i].size);
        }
    }

    static void move(Places& places, std::int64_t by) {
        auto const size = static_cast<std::int64_t>(places.size());
        for (auto& place : places) place = static_cast<std::uint32_t>(reflected(place + by, size));
    }

    static Places within(Places const& places, std::int64_t first, std::int64_t size) {
        Places out;
        for (std::size_t i = 0; i < places.size(); ++i)
            if (places[i] >= first && places[i] < first + size) out.push_back(static_cast<std::uint32_t>(i));
        return out;
    }

    std::vector<AugmentConfig> const& augment_;
    std::vector<Draw> draws_;
    std::vector<Hole> holes_;
    Places ys_, xs_;
};

Rng stream_of(UnitAddress const& address, std::uint32_t number) {
    return Rng(
        stream_key(address.seed, Purpose::augmentation, {address.trial.value, address.epoch, address.shard.value, number}));
}

struct Scale {
    float scale, shift;
};

template <class T>
void gather_channel(T const* channel, ImagePlan const& plan, Scale scale, float* __restrict out) {
    auto const width = plan.xs().size();
    auto const* const xs = plan.xs().data();
    for (auto const y : plan.ys()) {
        T const* __restrict in = channel + y * width;
        for (std::size_t x = 0; x < width; ++x) out[x] = static_cast<float>(in[xs[x]]) * scale.scale + scale.shift;
        out += width;
    }
}

std::string path_of(std::size_t entry) { return fmt::format("/data/augment/{}", entry); }

}  // namespace

Augmenter::Augmenter(DataConfig const& config, Manifest const& manifest)
    : augment_(config.augment), normaliser_(manifest, config), type_(manifest.type) {
    Problems problems("data.augment");
    check_augment(config, manifest, problems);
    require(problems.empty(), problems.text());
    if (idle()) return;
    channels_ = static_cast<std::size_t>(manifest.shape[0]);
    height_ = static_cast<std::size_t>(manifest.shape[1]);
    width_ = static_cast<std::size_t>(manifest.shape[2]);
    for (std::size_t i = 0; i < channels_; ++i)
        fill_.push_back(config.normalise ? 0.0F
                                         : static_cast<float>(manifest.features.mean[i]) * normaliser_.scale()[i] +
                                               normaliser_.shift()[i]);
}

template <class T>
void Augmenter::gather_images(T const* images, PickedRows const& picked, UnitAddress const& address, float* out) const {
    auto const pixels = height_ * width_;
    ImagePlan plan(augment_, height_, width_);
    for (std::size_t i = 0; i < picked.rows.size(); ++i) {
        plan.draw_for(stream_of(address, picked.numbers[i]));
        auto const* channel = images + picked.rows[i] * channels_ * pixels;
        for (std::size_t c = 0; c < channels_; ++c) {
            gather_channel(channel, plan, {normaliser_.scale()[c], normaliser_.shift()[c]}, out);
            plan.fill_holes(out, fill_[c]);
            channel += pixels;
            out += pixels;
        }
    }
}

void Augmenter::gather(PickedRows const& picked, UnitAddress const& address, float* out) const {
    auto const* const features = picked.shard.features.data();
    if (idle()) return normaliser_.gather(picked.shard, picked.rows, out);
    if (type_ == FeatureType::uint8)
        return gather_images(reinterpret_cast<std::uint8_t const*>(features), picked, address, out);
    gather_images(reinterpret_cast<float const*>(features), picked, address, out);
}

bool Augmenter::compact() const {
    auto const is_hole = [](AugmentConfig const& augment) { return augment.kind == AugmentKind::cutout; };
    return static_cast<std::int64_t>(std::max(height_, width_)) <= k_plan_most_side &&
           std::count_if(augment_.begin(), augment_.end(), is_hole) <= k_plan_most_holes;
}

void Augmenter::plan(std::span<std::uint32_t const> numbers, UnitAddress const& address, std::uint16_t* out) const {
    require(!idle() && compact(), "these augmentations have no compact plan");
    ImagePlan plan(augment_, height_, width_);
    for (auto const number : numbers) {
        plan.draw_for(stream_of(address, number));
        plan.write(out);
        out += plan_size();
    }
}

void check_augment(DataConfig const& config, Manifest const& manifest, Problems& problems) {
    auto const& shape = manifest.shape;
    for (std::size_t i = 0; i < config.augment.size(); ++i) {
        auto const& augment = config.augment[i];
        if (shape.size() != 3) {
            problems.add(
                {}, path_of(i),
                fmt::format("augments images only (the dataset's rows have {} dimension{}); leave it out, or import "
                            "the dataset with a shape CxHxW",
                            shape.size(), shape.size() == 1 ? "" : "s"));
            continue;
        }
        auto const side = std::min(shape[1], shape[2]);
        if (augment.kind == AugmentKind::crop && (augment.padding < 0 || augment.padding >= side))
            problems.add({}, path_of(i),
                         fmt::format("padding must be at least 0 and below the side of an image, {} (got {})", side,
                                     augment.padding));
        if (augment.kind == AugmentKind::cutout && augment.size < 1)
            problems.add({}, path_of(i), fmt::format("size must be at least 1 (got {})", augment.size));
    }
}

}  // namespace hopscotch
