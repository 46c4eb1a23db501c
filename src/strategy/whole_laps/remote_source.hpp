// SPDX-License-Identifier: Apache-2.0
// The shards that a trainer does not own: fetched as they are needed, or all of them once and kept.
#pragma once
#include <deque>

#include "data/batches/shard_source.hpp"
#include "strategy/whole_laps/row_client.hpp"

namespace hopscotch {

// The rows of each batch come from the shard's owner, asked for two batches ahead; nothing is kept. A pass may be left at
// any time, as by a trial that fails: the next begin() drops what it had asked for.
class RemoteSource : public ShardSource {
public:
    // The client and the manifest must outlive the source.
    RemoteSource(RowClient& client, Manifest const& manifest, ShardId shard);
    std::int64_t rows() const override { return manifest_.train[shard_.index()].rows; }
    void begin(std::span<std::uint32_t const> order, std::span<BatchRange const> cut) override;
    PickedRows next() override;
    void end() override;

private:
    std::span<std::uint32_t const> numbers(std::size_t batch) const;
    void ask_up_to(std::size_t batches);

    RowClient& client_;
    Manifest const& manifest_;
    ShardId shard_;
    std::span<std::uint32_t const> order_;
    std::span<BatchRange const> cut_;
    std::size_t asked_ = 0, taken_ = 0;      // batches of the pass
    std::deque<RowClient::Ticket> tickets_;  // of those asked for and not taken
    Shard batch_;
    std::vector<std::uint32_t> rows_;  // 0, 1, 2 ...
};

// Copies every shard that is not this trainer's into its memory, from then on a shard of the runner. Each piece counts as a
// batch of progress. Returns the bytes fetched. Throws as RowClient::take.
std::uint64_t stage_shards(RowClient& client, TrialRunner& runner, OwnerTable const& owners, Activity& activity);

}  // namespace hopscotch
