// SPDX-License-Identifier: Apache-2.0
// The shards that a trainer does not own: fetched batch by batch, or copied as a whole once.
#pragma once
#include <deque>

#include "core/ids.hpp"
#include "data/batches/shard_source.hpp"
#include "data/batches/unit.hpp"
#include "data/dataset/shard.hpp"
#include "strategy/baselines/whole_laps/row_client.hpp"

namespace hopscotch {

class TrialRunner;
struct Activity;
struct OwnerTable;

// The rows of each batch come from the shard's owner, asked for two batches ahead; no row is kept. A pass may be left at any
// time, as by a trial that fails: the next begin() drops the open requests.
class RemoteSource : public ShardSource {
public:
    // The client and the manifest must outlive the source.
    RemoteSource(RowClient& client, Manifest const& manifest, ShardId shard);
    std::int64_t rows() const override;
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
    std::deque<RowClient::Ticket> tickets_;  // of batches asked for and not taken
    Shard batch_;
    std::vector<std::uint32_t> rows_;  // 0, 1, 2 ...
};

// Copies all shards of other owners into this trainer's memory, as shards of the runner. Each piece counts as a batch of
// progress. Returns the bytes fetched. Throws as RowClient::take.
std::uint64_t stage_shards(RowClient& client, TrialRunner& runner, OwnerTable const& owners, Activity& activity);

}  // namespace hopscotch
