// SPDX-License-Identifier: Apache-2.0
// The rules of matchmaker.hpp.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "core/rng.hpp"
#include "schedule/matchmaker.hpp"

namespace hopscotch {
namespace {

constexpr double k_patience = 0.1;  // of a unit: a trainer waits this long for the better trial
constexpr int k_critical = 8;       // trials for which a trainer may be kept

class Lrtf : public Matchmaker {
public:
    explicit Lrtf(OwnerTable const& owners)
        : Matchmaker(owners),
          by_next_(static_cast<std::size_t>(owners.trainers)),
          free_at_(static_cast<std::size_t>(owners.trainers)) {}

protected:
    void list(Entry& entry) override {
        (entry.match ? running_ : waiting_).insert(key(entry));
        if (entry.match) free_at_[entry.match->trainer.index()] = entry.ends();
        if (entry.next.value >= 0) by_next_[owner(entry.next).index()].insert(key(entry));
    }
    void unlist(Entry& entry) override {
        (entry.match ? running_ : waiting_).erase(key(entry));
        if (entry.next.value >= 0) by_next_[owner(entry.next).index()].erase(key(entry));
    }

    // The most work left first, then the fewest trials to choose from.
    void sort(std::vector<TrainerId>& trainers) override {
        std::ranges::sort(trainers, {},
                          [&](TrainerId each) { return std::tuple(-load(each).cost, load(each).units, each); });
    }

    std::optional<Choice> choose(TrainerId trainer, double now) override {
        if (waiting_.empty()) return std::nullopt;
        auto const kept = kept_for(trainer, now);
        for (auto const& [minus, trial] : waiting_) {
            auto& longest = entry(trial);
            auto const shard = open_shard(longest, trainer);
            bool const fits = now + longest.lap.unit <= kept.from || now + longest.lap.remaining >= kept.finish;
            if (!shard) continue;
            auto const choice = fits ? rather_on_ring({&longest, *shard}, trainer, now) : std::nullopt;
            if (!choice) waits_for_better(trainer);
            if (fits) return choice;
        }
        return std::nullopt;
    }

private:
    using Key = std::pair<double, TrialId>;
    static Key key(Entry const& entry) { return {-entry.lap.remaining, entry.lap.id.trial}; }

    // A trainer must be free from then on for a trial that will finish at `finish`.
    struct Kept {
        double from = std::numeric_limits<double>::infinity(), finish = from;
    };

    // For trials that limit the makespan more than this trainer does, and that will find no other trainer free.
    Kept kept_for(TrainerId trainer, double now) {
        Kept out;
        int looks = 0;
        for (auto const& [minus, trial] : running_) {
            auto& each = entry(trial);
            double const finish = each.ends() + each.lap.remaining - k_patience * each.lap.unit;
            if (++looks > k_critical || finish <= now + load(trainer).cost) break;
            bool const comes = now <= each.ends() + k_patience * each.lap.unit;
            if (!comes || each.ends() >= out.from || !open_shard(each, trainer) || finds_other(each, trainer)) continue;
            out = {each.ends(), finish};
        }
        return out;
    }

    bool finds_other(Entry const& each, TrainerId trainer) {
        for (int s = 0; s < shards(); ++s) {
            auto const other = owner(ShardId(s));
            if (other != trainer && free_at_[other.index()] <= each.ends() && is_open(each, ShardId(s))) return true;
        }
        return false;
    }

    std::optional<Choice> rather_on_ring(Choice const& longest, TrainerId trainer, double now) {
        auto* own = next_on_ring(trainer, longest.entry->lap.remaining, now);
        if (own == nullptr) return longest;
        if (!own->match) return Choice{own, own->next};
        // It comes soon. The other trial may be the only one of its own next trainer, which then would have none.
        auto const& others = by_next_[owner(longest.entry->next).index()];
        bool const spare = std::ranges::any_of(others, [&](Key const& each) {
            auto const& other = entry(each.second);
            return &other != longest.entry && (!other.match || comes_soon(other, now));
        });
        return spare ? std::optional(longest) : std::nullopt;
    }

    static bool comes_soon(Entry const& entry, double now) {
        return std::abs(now - entry.ends()) <= k_patience * entry.lap.unit;
    }

    // The trial with as much left that comes to this trainer next on the ring: one that waits, or else one that comes soon.
    Entry* next_on_ring(TrainerId trainer, double remaining, double now) {
        Entry* soon = nullptr;
        for (auto const& [minus, trial] : by_next_[trainer.index()]) {
            if (-minus < remaining) break;
            look();
            auto& each = entry(trial);
            if (!each.match) return &each;
            if (soon == nullptr && comes_soon(each, now)) soon = &each;
        }
        return soon;
    }

    std::set<Key> waiting_, running_;     // the longest first
    std::vector<std::set<Key>> by_next_;  // by trainer: all laps whose next shard on the ring it owns
    std::vector<double> free_at_;         // by trainer, expected
};

class Random : public Matchmaker {
public:
    Random(OwnerTable const& owners, std::uint64_t seed) : Matchmaker(owners), seed_(seed) {}

protected:
    void list(Entry& entry) override {
        if (entry.match) return;
        auto& trials = waiting_[entry.lap.id.epoch];
        entry.place = trials.size();
        trials.push_back(entry.lap.id.trial);
    }
    void unlist(Entry& changed) override {
        if (changed.match) return;
        auto const found = waiting_.find(changed.lap.id.epoch);
        auto& trials = found->second;
        entry(trials.back()).place = changed.place;
        trials[changed.place] = trials.back();
        trials.pop_back();
        if (trials.empty()) waiting_.erase(found);
    }

    void sort(std::vector<TrainerId>& trainers) override {
        std::ranges::sort(trainers);
        if (trainers.size() > 1) draw().shuffle(std::span(trainers));
    }

    std::optional<Choice> choose(TrainerId trainer, double) override {
        auto rng = draw();
        for (auto const& [epoch, trials] : waiting_)
            if (auto const found = any_of(trials, trainer, rng)) return found;
        return std::nullopt;
    }

private:
    Rng draw() { return Rng(stream_key(seed_, Purpose::schedule, {draws_++})); }

    // Uniform, because each try is uniform, and so is the list.
    std::optional<Choice> any_of(std::vector<TrialId> const& trials, TrainerId trainer, Rng& rng) {
        auto const size = [](auto const& list) { return static_cast<std::uint32_t>(list.size()); };
        for (std::size_t i = 0; i < trials.size(); ++i) {
            auto& drawn = entry(trials[rng.below(size(trials))]);
            if (auto const shard = open_shard(drawn, trainer)) return Choice{&drawn, *shard};
        }
        std::vector<Choice> all;
        for (auto const trial : trials)
            if (auto const shard = open_shard(entry(trial), trainer)) all.push_back({&entry(trial), *shard});
        return all.empty() ? std::nullopt : std::optional(all[rng.below(size(all))]);
    }

    std::uint64_t seed_;
    std::int64_t draws_ = 0;
    std::map<int, std::vector<TrialId>> waiting_;  // by epoch
};

class Ring : public Matchmaker {
public:
    Ring(OwnerTable const& owners, std::uint64_t seed)
        : Matchmaker(owners), seed_(seed), to_train_(static_cast<std::size_t>(owners.trainers)) {}

protected:
    void list(Entry& entry) override {
        auto const& lap = entry.lap.id;
        if (!entry.match && !group_.contains(lap)) waiting_[lap.epoch].insert(lap.trial);
    }
    void unlist(Entry& entry) override {
        auto const found = waiting_.find(entry.lap.id.epoch);
        if (found == waiting_.end()) return;
        found->second.erase(entry.lap.id.trial);
        if (found->second.empty()) waiting_.erase(found);
    }
    bool asks_for(Entry const&, TrainerId) override { return false; }  // prepare() asks everyone
    void unit_over(LapId const& lap) override { training_.erase(lap); }

    // After the last unit of a step all move on.
    void prepare() override {
        if (!training_.empty()) return;
        while (training_.empty()) {
            bool const next = !group_.empty() && ++step_ < shards();
            if (!next && !form()) return;
            begin_step();
        }
        ask_everyone();
    }

    std::optional<Choice> choose(TrainerId trainer, double) override {
        auto& mine = to_train_[trainer.index()];
        while (!mine.empty()) {
            auto const [lap, shard] = mine.back();
            mine.pop_back();
            if (training_.contains(lap)) return Choice{&entry(lap.trial), shard};
        }
        return std::nullopt;
    }

private:
    // A lap that is continued has visited some of the shards: it stays where it is, and waits.
    void begin_step() {
        for (auto const& [lap, slot] : group_) {
            ShardId const shard((slot + step_) % shards());
            if (!has(lap.trial) || entry(lap.trial).lap.id != lap || !is_open(entry(lap.trial), shard)) continue;
            training_.insert(lap);
            to_train_[owner(shard).index()].emplace_back(lap, shard);
        }
    }

    // Members of the group before that have shards left wait with the others.
    bool form() {
        for (auto const& [lap, slot] : std::exchange(group_, {}))
            if (has(lap.trial) && entry(lap.trial).lap.id == lap) list(entry(lap.trial));
        if (waiting_.empty()) return false;
        auto const& trials = waiting_.begin()->second;
        auto const most = static_cast<std::size_t>(shards());
        if (trials.size() < most && expected() > 0) return false;
        std::vector<TrialId> drawn(trials.begin(), trials.end());
        Rng(stream_key(seed_, Purpose::schedule, {groups_++})).shuffle(std::span(drawn));
        drawn.resize(std::min(drawn.size(), most));
        for (auto const trial : drawn) {
            unlist(entry(trial));
            group_.emplace(entry(trial).lap.id, static_cast<int>(group_.size()));
        }
        step_ = 0;
        return true;
    }

    std::uint64_t seed_;
    std::int64_t groups_ = 0;
    std::map<int, std::set<TrialId>> waiting_;                      // by epoch
    std::map<LapId, int> group_;                                    // slot: where it begins
    std::set<LapId> training_;                                      // in this step, or about to
    std::vector<std::vector<std::pair<LapId, ShardId>>> to_train_;  // by trainer, in this step
    int step_ = 0;
};

}  // namespace

std::unique_ptr<Matchmaker> make_lrtf(OwnerTable const& owners, std::uint64_t) { return std::make_unique<Lrtf>(owners); }

std::unique_ptr<Matchmaker> make_random(OwnerTable const& owners, std::uint64_t seed) {
    return std::make_unique<Random>(owners, seed);
}

std::unique_ptr<Matchmaker> make_ring(OwnerTable const& owners, std::uint64_t seed) {
    return std::make_unique<Ring>(owners, seed);
}

}  // namespace hopscotch
