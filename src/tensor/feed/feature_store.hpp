// SPDX-License-Identifier: Apache-2.0
// The outputs of frozen layers for the rows of shards ("features"), kept in the host's memory for all models of a trainer
// that have these layers. They are computed in the order of the file, in batches of one size: so their bits do not depend on
// a trial's order, on its batch size, or on dropped features.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace hopscotch {

class ShardSource;
struct Shard;

struct Features {
    std::shared_ptr<Shard> shard;  // float32; a row that is not there yet is zero
    std::vector<bool> there;       // by batch
};

class FeatureStore {
public:
    // Beyond this many bytes, the store drops the features used longest ago, and computes them again when they are asked
    // for. The features of the shard that is asked for are always kept.
    explicit FeatureStore(std::uint64_t limit) : limit_(limit) {}

    // layers: a text of all settings that decide the values. make: an entry without a row that is there.
    std::shared_ptr<Features> of(std::string const& layers, ShardSource const& source,
                                 std::function<Features()> const& make);

private:
    struct Entry {
        std::string layers;
        std::weak_ptr<void const> source;  // gone: no caller can ask any more
        std::shared_ptr<Features> features;
        std::uint64_t used = 0;
    };
    std::uint64_t bytes() const;
    void forget(std::uint64_t room);

    std::uint64_t limit_;
    std::uint64_t uses_ = 0;
    bool told_ = false;
    std::vector<Entry> entries_;
};

}  // namespace hopscotch
