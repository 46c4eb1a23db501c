// SPDX-License-Identifier: Apache-2.0
#include "strategy/baselines/whole_laps/remote_source.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "comm/activity.hpp"
#include "comm/buffer_pool.hpp"
#include "core/error.hpp"
#include "data/batches/row_block.hpp"
#include "data/dataset/manifest.hpp"
#include "schedule/visit.hpp"
#include "strategy/baselines/whole_laps/row_messages.hpp"
#include "strategy/trainer/trial_runner.hpp"

namespace hopscotch {
namespace {

constexpr std::size_t k_batches_ahead = 2;
constexpr std::size_t k_piece_bytes = std::size_t{4} << 20;  // of a shard on its way
constexpr std::size_t k_pieces_ahead = 4;

}  // namespace

RemoteSource::RemoteSource(RowClient& client, Manifest const& manifest, ShardId shard)
    : client_(client), manifest_(manifest), shard_(shard) {}

std::span<std::uint32_t const> RemoteSource::numbers(std::size_t batch) const {
    return order_.subspan(static_cast<std::size_t>(cut_[batch].first), static_cast<std::size_t>(cut_[batch].size));
}

std::int64_t RemoteSource::rows() const { return manifest_.train[shard_.index()].rows; }

void RemoteSource::begin(std::span<std::uint32_t const> order, std::span<BatchRange const> cut) {
    end();
    order_ = order;
    cut_ = cut;
    asked_ = taken_ = 0;
    ask_up_to(k_batches_ahead);
}

void RemoteSource::ask_up_to(std::size_t batches) {
    for (; asked_ < std::min(batches, cut_.size()); ++asked_) {
        auto const rows = numbers(asked_);
        tickets_.push_back(client_.ask({0, shard_, 0, 0, {rows.begin(), rows.end()}}));
    }
}

PickedRows RemoteSource::next() {
    require(taken_ < cut_.size(), "the pass has no more batches");
    ask_up_to(taken_ + 1 + k_batches_ahead);
    auto const block = client_.take(tickets_.front());
    tickets_.pop_front();
    auto const picked = numbers(taken_++);
    resize_rows(batch_, manifest_, static_cast<std::int64_t>(picked.size()));
    unpack_rows(block.bytes(), manifest_, batch_, 0);
    rows_.resize(picked.size());
    std::iota(rows_.begin(), rows_.end(), 0U);
    return {batch_, rows_, picked};
}

void RemoteSource::end() {
    for (auto const ticket : tickets_) client_.drop(ticket);
    tickets_.clear();
    batch_ = {};
}

namespace {

// The shards that this trainer does not own, its right neighbour's first, so that not all trainers ask one owner at a time.
std::vector<ShardId> foreign_shards(OwnerTable const& owners, TrainerId self) {
    auto const own = owners.shards_of(self);
    auto const count = static_cast<int>(owners.owner.size());
    auto const first = own.empty() ? self.value : own.front().value + 1;
    std::vector<ShardId> out;
    for (int i = 0; i < count; ++i)
        if (ShardId const shard((first + i) % count); owners.of(shard) != self) out.push_back(shard);
    return out;
}

std::vector<RowsWanted> pieces_of(std::vector<ShardId> const& shards, Manifest const& manifest) {
    auto const most = static_cast<std::int64_t>(std::max<std::size_t>(1, k_piece_bytes / stored_row_bytes(manifest)));
    std::vector<RowsWanted> out;
    for (auto const shard : shards) {
        auto const rows = manifest.train[shard.index()].rows;
        for (std::int64_t first = 0; first < rows; first += most)
            out.push_back(
                {0, shard, static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(std::min(most, rows - first)), {}});
    }
    return out;
}

}  // namespace

std::uint64_t stage_shards(RowClient& client, TrialRunner& runner, OwnerTable const& owners, Activity& activity) {
    auto const& manifest = runner.manifest();
    auto const shards = foreign_shards(owners, runner.self());
    auto const pieces = pieces_of(shards, manifest);
    std::map<ShardId, Shard> copies;
    for (auto const shard : shards) resize_rows(copies[shard], manifest, manifest.train[shard.index()].rows);
    std::deque<RowClient::Ticket> tickets;
    std::uint64_t bytes = 0;
    for (std::size_t taken = 0, asked = 0; taken < pieces.size(); ++taken) {
        while (asked < std::min(pieces.size(), taken + k_pieces_ahead)) tickets.push_back(client.ask(pieces[asked++]));
        auto const block = client.take(tickets.front());
        tickets.pop_front();
        unpack_rows(block.bytes(), manifest, copies.at(pieces[taken].shard), pieces[taken].first);
        bytes += block.bytes().size();
        ++activity.batches;
    }
    for (auto& [shard, copy] : copies) runner.set_shard(shard, shard_in_memory(std::move(copy)));
    return bytes;
}

}  // namespace hopscotch
