// SPDX-License-Identifier: Apache-2.0
// The section `strategy`, and run.inject.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>

#include "experiment/section_keys.hpp"
#include "experiment/sections.hpp"
#include "experiment/strategy_traits.hpp"

namespace hopscotch {
namespace {

// The keys of the strategy that the section names: a row of experiment/strategy_traits.cpp lists them.
class StrategyKeys {
public:
    StrategyKeys(ObjectReader& reader, std::string const& strategy) : own_(reader, strategy) {}
    bool include(std::string_view key) const { return own_.include(key, strategies_with(key)); }

private:
    OwnKeys own_;
};

void read_group_batch(ObjectReader& reader, StrategyKeys const& own, StrategyConfig& out) {
    constexpr std::array<Name<GroupBatch>, 2> batches{
        {{"split", GroupBatch::split}, {"per_worker", GroupBatch::per_worker}}};
    for (auto const& row : batches)
        if (default_of(out.name, "batch") == row.text) out.batch = row.value;
    if (own.include("batch"))
        read_name(reader,
                  {"batch", "Rows of a batch for each of K trainers: batch_size / K (split), or batch_size (per_worker)."},
                  batches, out.batch);
    if (own.include("scale_lr"))
        reader.read({"scale_lr", "Multiplies the learning rate by the number of trainers; needs per_worker."}, out.scale_lr);
    if (out.scale_lr && out.batch == GroupBatch::split)
        reader.problem(
            "scale_lr",
            "needs \"batch\": \"per_worker\" (with \"split\" the batch keeps its size); set it, or leave scale_lr out");
}

void read_group_keys(ObjectReader& reader, StrategyKeys const& own, StrategyConfig& out) {
    constexpr std::array<Name<NormStatistics>, 2> norms{{{"local", NormStatistics::local}, {"sync", NormStatistics::sync}}};
    constexpr std::array<Name<ReduceAlgorithm>, 2> algorithms{
        {{"ring", ReduceAlgorithm::ring}, {"deterministic", ReduceAlgorithm::deterministic}}};
    if (own.include("batch_norm"))
        read_name(reader, {"batch_norm", "Statistics of the trainer's own batch, or of the batches of all trainers."}, norms,
                  out.batch_norm);
    constexpr std::array<Name<Collectives>, 3> collectives{
        {{"auto", Collectives::automatic}, {"mpi", Collectives::mpi}, {"nccl", Collectives::nccl}}};
    if (own.include("collectives"))
        read_name(reader,
                  {"collectives",
                   "How GPUs add up: through host memory (mpi), or from GPU to GPU (nccl); auto: nccl wherever it can be."},
                  collectives, out.reduce.collectives);
    if (own.include("algorithm"))
        read_name(reader,
                  {"algorithm",
                   "ring is the algorithm of Horovod and NCCL; the bits of deterministic do not depend on buckets."},
                  algorithms, out.reduce.algorithm);
    if (own.include("first_bucket_mb"))
        reader.read({"first_bucket_mb",
                     "Size of the first bucket of gradients (2^20 bytes), small so that communication starts early."},
                    out.reduce.first_bucket_mb, above(0));
    if (own.include("bucket_mb"))
        reader.read({"bucket_mb", "Size of the other buckets of gradients (2^20 bytes)."}, out.reduce.bucket_mb, above(0));
}

// Before the keys that mean something in a group only.
void read_groups_of_mop(ObjectReader& reader, StrategyKeys const& own, StrategyConfig& out) {
    if (!own.include("group_size")) return;
    auto const* given = reader.take("group_size");
    out.auto_groups = given != nullptr && given->is_string() && given->string() == "auto";
    if (given == nullptr && reader.take("batch") != nullptr)
        reader.problem("batch", "needs strategy.group_size (one trainer alone takes the whole batch); leave it out");
    out.group_size = 1;
    read_word_or(reader,
                 {"group_size",
                  "This many trainers train a unit together; auto: a number that the first start of a run "
                  "chooses; 1: no groups."},
                 {"auto", "a number of trainers", 1}, out.group_size, at_least(1));
    if (out.group_size == 1 && !out.auto_groups) return;
    if (out.policy != StrategyConfig{}.policy)
        reader.problem("policy", fmt::format("\"{}\" does not know groups of trainers; use \"planned\", or leave group_size "
                                             "out",
                                             out.policy));
    if (reader.take("owners") != nullptr)
        reader.problem("owners", "has no meaning with strategy.group_size (bundles are dealt out equally); leave it out");
}

void read_server_keys(ObjectReader& reader, StrategyKeys const& own, StrategyConfig& out) {
    constexpr std::array<Name<ServerMode>, 4> modes{{{"sync", ServerMode::sync},
                                                     {"async", ServerMode::async},
                                                     {"ssp", ServerMode::ssp},
                                                     {"backup", ServerMode::backup}}};
    constexpr std::array<Name<ServerPlacement>, 2> placements{
        {{"colocated", ServerPlacement::colocated}, {"dedicated", ServerPlacement::dedicated}}};
    std::string mode;
    if (own.include("mode"))
        mode = read_name(reader,
                         {"mode", "When servers update: all workers, each worker, bounded staleness, or the first workers."},
                         modes, out.server.mode);
    if (own.include("servers"))
        reader.read({"servers",
                     "The number of servers; without the key: one on every trainer (colocated), one in all (dedicated)."},
                    out.server.count, at_least(1));
    if (own.include("placement"))
        read_name(reader, {"placement", "dedicated: the last trainers serve and own no shards."}, placements,
                  out.server.placement);
    if (own.include("part_mb"))
        reader.read({"part_mb", "No part of the parameters is larger (2^20 bytes)."}, out.server.part_mb, above(0));
    OwnKeys const of_mode(reader, mode, "mode");
    if (own.include("staleness") && of_mode.include("staleness", {"ssp"}))
        reader.read({"staleness", "A worker is never more than this many steps ahead of the slowest."}, out.server.staleness,
                    at_least(0));
    if (own.include("aggregate") && of_mode.include("aggregate", {"backup"}))
        reader.read(
            {"aggregate",
             "A step is complete with the gradients of this many workers, the first ones; without the key: all but one."},
            out.server.aggregate, at_least(1));
}

void read_averaging_keys(ObjectReader& reader, StrategyKeys const& own, StrategyConfig& out) {
    constexpr std::array<Name<SlotPolicy>, 3> policies{
        {{"local", SlotPolicy::local}, {"averaged", SlotPolicy::averaged}, {"reset", SlotPolicy::reset}}};
    constexpr std::array<Name<AverageVia>, 2> ways{{{"allreduce", AverageVia::allreduce}, {"master", AverageVia::master}}};
    if (own.include("every"))
        read_word_or(reader, {"every", "Steps between two means; epoch: one mean at the end of each epoch."},
                     {"epoch", "a number of steps", "epoch"}, out.averaging.every, at_least(1));
    if (own.include("momentum"))
        read_name(reader,
                  {"momentum", "The optimizer's slots at a mean: kept by each trainer, averaged too, or reset to zero."},
                  policies, out.averaging.momentum);
    if (own.include("via"))
        read_name(reader, {"via", "master: all trainers send to the first one, which sends the mean back."}, ways,
                  out.averaging.via);
    if (!own.include("outer") || (!reader.has("outer") && !reader.watched())) return;
    auto outer =
        reader.child({"outer", "An optimizer on the mean of the trainers' changes; without it, the mean itself is taken."});
    out.averaging.outer.emplace();
    outer.read({"lr", "The learning rate of the outer optimizer."}, out.averaging.outer->lr, above(0));
    outer.read({"momentum", "The momentum of the outer optimizer."}, out.averaging.outer->momentum,
               at_least_zero_below_one());
    outer.read({"nesterov", "Nesterov's form of the momentum; needs momentum > 0."}, out.averaging.outer->nesterov);
    if (out.averaging.outer->nesterov && out.averaging.outer->momentum <= 0)
        outer.problem("nesterov", "needs momentum > 0 (got 0); set momentum, or leave nesterov out");
    outer.finish();
}

// "name:key=value,key=value" as its numbers; empty if the text does not have this form.
struct Injection {
    std::string name;
    std::vector<std::pair<std::string, double>> values;
};

std::optional<Injection> parse_injection(std::string_view text) {
    auto const colon = text.find(':');
    if (colon == text.npos) return std::nullopt;
    Injection out{std::string(text.substr(0, colon)), {}};
    for (auto rest = text.substr(colon + 1); !rest.empty();) {
        auto const item = rest.substr(0, rest.find(','));
        rest.remove_prefix(std::min(rest.size(), item.size() + 1));
        auto const equals = item.find('=');
        if (equals == item.npos) return std::nullopt;
        double value = 0;
        auto const* const end = item.data() + item.size();
        auto const parsed = std::from_chars(item.data() + equals + 1, end, value);
        if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
        out.values.emplace_back(item.substr(0, equals), value);
    }
    return out;
}

bool has_keys(Injection const& injection, std::vector<std::string_view> const& keys) {
    return std::ranges::equal(injection.values, keys, {}, [](auto const& value) { return std::string_view(value.first); });
}

constexpr double k_most_slow = 1000, k_longest_delay_s = 3600;

// The reason why the values are refused, or empty. The comparisons are written so that NaN is refused.
std::string take_slow(Injection const& injection, InjectConfig& out) {
    auto const rank = injection.values[0].second, factor = injection.values[1].second;
    auto const after = injection.values.size() > 2 ? injection.values[2].second : 0;
    std::string_view const ranks = "trainers are ranks 1 and up";
    if (rank == 0) return fmt::format("names rank 0 (which schedules and does not train; {})", ranks);
    if (!(rank >= 1 && rank <= INT32_MAX) || rank != std::floor(rank))
        return fmt::format("names no trainer's rank ({})", ranks);
    if (!(factor >= 1 && factor <= k_most_slow)) return fmt::format("has a factor out of range (1 to {})", k_most_slow);
    if (!(after >= 0 && after <= INT32_MAX) || after != std::floor(after)) return "has no number of units (after)";
    out.slow.push_back({static_cast<int>(rank), factor, static_cast<std::int64_t>(after)});
    return "";
}

std::string take_injection(Injection const& injection, InjectConfig& out) {
    if (injection.name == "slow" &&
        (has_keys(injection, {"rank", "factor"}) || has_keys(injection, {"rank", "factor", "after"})))
        return take_slow(injection, out);
    if (injection.name != "delay" || !has_keys(injection, {"sync_s"}))
        return fmt::format(
            "is not a known fault; write \"slow:rank=3,factor=2\" (a trainer's rank, a factor of 1 to {}) or "
            "\"delay:sync_s=20\" (0 to {})",
            k_most_slow, k_longest_delay_s);
    out.sync_s = injection.values[0].second;
    if (out.sync_s >= 0 && out.sync_s <= k_longest_delay_s) return "";
    return fmt::format("has a delay out of range (0 to {} seconds)", k_longest_delay_s);
}

}  // namespace

StrategyConfig read_strategy(ObjectReader reader) {
    StrategyConfig out;
    read_choice(reader, {"name", "The strategy: `docs/strategies.md` describes each."}, out.name, strategy_names());
    StrategyKeys const own(reader, out.name);
    if (own.include("policy"))
        read_choice(reader, {"policy", "Which trainer trains which trial next: planned, or another for comparison."},
                    out.policy, {"planned", "lrtf", "random", "ring"});
    constexpr std::array<Name<Visits>, 2> visits{{{"balanced", Visits::balanced}, {"in_order", Visits::in_order}}};
    if (own.include("visits"))
        read_name(
            reader,
            {"visits",
             "balanced: trials go round the shards so that trainers have equal work; in_order: trial t begins at shard t."},
            visits, out.visits);
    constexpr std::array<Name<OwnersBy>, 3> owners{
        {{"shares", OwnersBy::shares}, {"whole", OwnersBy::whole}, {"equal", OwnersBy::equal}}};
    if (own.include("owners"))
        read_name(reader,
                  {"owners", "How shards are dealt out: shared by speed, whole by speed, or the same number to each."},
                  owners, out.owners);
    read_groups_of_mop(reader, own, out);
    read_group_batch(reader, own, out);
    read_group_keys(reader, own, out);
    read_server_keys(reader, own, out);
    read_averaging_keys(reader, own, out);
    constexpr std::array<Name<TaskData>, 2> data{{{"replicated", TaskData::replicated}, {"remote", TaskData::remote}}};
    if (own.include("data"))
        read_name(reader, {"data", "Every trainer fetches all shards once, or rows when they are needed."}, data, out.data);
    refuse_later_keys(reader, {"bundle"});
    reader.finish();
    return out;
}

void read_inject(ObjectReader& reader, InjectConfig& out) {
    reader.read({"inject", "Delays on purpose, for example \"slow:rank=3,factor=2\" or \"delay:sync_s=20\"."},
                out.as_written);
    for (auto const& text : out.as_written) {
        auto const refused = take_injection(parse_injection(text).value_or(Injection{}), out);
        if (!refused.empty()) reader.problem("inject", fmt::format("\"{}\" {}", text, refused));
    }
}

}  // namespace hopscotch
