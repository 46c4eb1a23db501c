// SPDX-License-Identifier: Apache-2.0
#include "strategy/baselines/whole_laps/row_service.hpp"

#include <fmt/format.h>

#include <numeric>

#include "comm/codec.hpp"
#include "comm/courier.hpp"
#include "core/clock.hpp"
#include "core/error.hpp"
#include "data/batches/row_block.hpp"
#include "data/batches/shard_source.hpp"
#include "data/dataset/manifest.hpp"
#include "strategy/baselines/whole_laps/row_messages.hpp"
#include "strategy/common/messages.hpp"
#include "strategy/trainer/trial_runner.hpp"

namespace hopscotch {

RowService::RowService(Courier& courier, TrialRunner& runner, std::vector<ShardId> const& shards)
    : courier_(courier), manifest_(runner.manifest()) {
    auto by_row = runner.experiment().data;
    by_row.cache = Cache::none;  // a window around a few rows would read far more than them
    for (auto const shard : shards) {
        auto whole = runner.shard(shard).whole();
        auto const& file = manifest_.train[shard.index()];
        sources_[shard] = whole ? shard_in_memory(std::move(whole))
                                : open_shard_source(runner.experiment().data.path, file, manifest_, by_row);
    }
    thread_ = std::thread([this] { serve(); });
}

// A request without a body, from this rank to itself, ends the thread.
RowService::~RowService() {
    courier_.send(courier_.world().rank(), MessageKind::rows_wanted, {});
    thread_.join();
}

void RowService::serve() {
    while (true) {
        std::optional<Incoming> message;
        try {
            message = courier_.receive(1, Desk::service);
        } catch (std::exception const&) {
            return;  // the courier broke: the trainer's own thread gets the same error
        }
        if (!message) continue;
        if (message->body.empty()) return;
        try {
            answer(*message);
        } catch (std::exception const& error) {
            // The other trainer would wait for ever, and this trainer's own thread may be in the middle of a long unit.
            auto const text = fmt::format("rank {} ({}), rows for rank {}: {}", courier_.world().rank().value, host_name(),
                                          message->from.value, error.what());
            return courier_.send(Rank(0), MessageKind::fatal, encode(Fatal{text}));
        }
    }
}

void RowService::answer(Incoming const& message) {
    auto wanted = decode<RowsWanted>(message.body);
    auto& rows = wanted.rows;
    if (rows.empty()) {
        rows.resize(wanted.count);
        std::iota(rows.begin(), rows.end(), wanted.first);
    }
    auto& source = *sources_.at(wanted.shard);
    for (auto const row : rows) require(row < source.rows(), "a row was asked for that its shard has not");
    BatchRange const all{0, static_cast<std::int64_t>(rows.size())};
    source.begin(rows, {&all, 1});
    auto block = courier_.pool().acquire(rows.size() * stored_row_bytes(manifest_));
    pack_rows(source.next(), manifest_, block.bytes());
    courier_.push(message.from, encode(wanted.ticket), std::move(block), MessageKind::rows);
}

}  // namespace hopscotch
