// SPDX-License-Identifier: Apache-2.0
// Random changes to training images: flip, crop, cutout. The changes to a row are addressed by (seed, trial, epoch,
// shard, number of the row), so they do not depend on batch or trainer.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "data/batches/batches.hpp"
#include "data/batches/unit.hpp"
#include "experiment/config.hpp"

namespace hopscotch {

class Problems;
enum class FeatureType;
struct Manifest;
struct PickedRows;

// For rows that are images (CHW). All are applied in the order of data.augment, in one pass with the normalisation.
class Augmenter {
public:
    // Throws Error if check_augment would complain.
    Augmenter(DataConfig const& config, Manifest const& manifest);

    bool idle() const { return augment_.empty(); }  // then the normaliser gathers

    // out: [picked.rows.size(), C, H, W] floats. May be called from any thread.
    void gather(PickedRows const& picked, UnitAddress const& address, float* out) const;

    // For a gather on a GPU. compact: true if plans (data/batches/compact_plan.hpp) can describe the changes, because the
    // images have few enough pixels and holes. plan: out: [numbers.size(), plan_size()], by the rows' numbers as in
    // PickedRows.
    bool compact() const;
    std::size_t plan_size() const { return height_ + width_; }
    void plan(std::span<std::uint32_t const> numbers, UnitAddress const& address, std::uint16_t* out) const;

    std::span<float const> fill() const { return fill_; }
    std::size_t height() const { return height_; }
    std::size_t width() const { return width_; }

private:
    template <class T>
    void gather_images(T const* images, PickedRows const& picked, UnitAddress const& address, float* out) const;

    std::vector<AugmentConfig> augment_;
    Normaliser normaliser_;
    FeatureType type_;
    std::size_t channels_ = 0, height_ = 0, width_ = 0;
    std::vector<float> fill_;  // by channel: its mean, normalised
};

// Complains about augmentation of rows that are not images and of sizes that do not fit them, at /data/augment/0 etc.
void check_augment(DataConfig const& config, Manifest const& manifest, Problems& problems);

}  // namespace hopscotch
