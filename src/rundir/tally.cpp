// SPDX-License-Identifier: Apache-2.0
#include "rundir/tally.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.hpp"
#include "experiment/config.hpp"

namespace hopscotch {

namespace {
constexpr std::size_t k_most_curve = 100'000;  // epochs: a damaged journal may name any
}

void DeviceUse::add(DeviceUse const& more) {
    busy_s += more.busy_s;
    wall_s += more.wall_s;
}

double DeviceUse::share() const { return is_known() ? busy_s / wall_s : k_no_score; }

std::optional<Percentiles> percentiles(Histogram const& values) {
    if (values.empty()) return std::nullopt;
    return Percentiles{values.at(0.50), values.at(0.99)};
}

Tally::Tally(std::string metric, Mode mode, int trainers, ComparedBy comparison)
    : metric_(std::move(metric)), mode_(mode), comparison_(comparison), busy_s_(static_cast<std::size_t>(trainers)) {}

Metrics const& Tally::add(LapRecord const& record, LossKind loss) {
    add_times(record);
    add_exchange(record);
    latest_ = metrics_of(record, loss);
    auto& trial = trials_[record.trial];
    if (record.outcome == Outcome::diverged || record.outcome == Outcome::failed) trial.failed = true;
    if (record.outcome != Outcome::finished) return latest_;
    trial.epochs = std::max(trial.epochs, record.epoch + 1);
    trial.last = latest_;
    trial.state_hash = record.state.hash;
    auto const value = metric_value(latest_, metric_);
    if (auto const epoch = static_cast<std::size_t>(record.epoch); epoch < k_most_curve) {
        trial.curve.resize(std::max(trial.curve.size(), epoch + 1), NAN);
        trial.curve[epoch] = static_cast<float>(value);
    }
    if (!std::isfinite(value)) trial.failed = true;
    if (std::isfinite(value) && (!trial.best || better(value, metric_value(*trial.best, metric_), mode_)))
        trial.best = latest_;
    return latest_;
}

namespace {

template <class T>
void add_each(std::vector<T>& sums, std::vector<T> const& more) {
    sums.resize(std::max(sums.size(), more.size()));
    for (std::size_t i = 0; i < more.size(); ++i) sums[i] += more[i];
}

}  // namespace

void Tally::add_exchange(LapRecord const& record) {
    add_each(exposed_s_, record.sync.exposed_s);
    add_each(staleness_, record.sync.staleness);
    sync_rounds_ += record.sync.rounds;
}

namespace {

// Seconds in which at least one unit of the lap was trained: their sum where they follow each other, as in a hop.
double covered_s(std::vector<UnitRecord> const& units) {
    std::vector<std::pair<double, double>> spans;  // start, seconds
    spans.reserve(units.size());
    for (auto const& unit : units) spans.emplace_back(unit.start_unix_s, unit.seconds);
    if (!std::ranges::is_sorted(spans)) std::ranges::sort(spans);
    double covered = 0, end = 0;
    for (auto const& [start, seconds] : spans) {
        auto const overlap = std::max(0.0, end - start);
        covered += std::max(0.0, seconds - overlap);
        end = std::max(end, start + seconds);
    }
    return covered;
}

}  // namespace

void Tally::add_times(LapRecord const& record) {
    pace_.add(record, 0);
    alone_s_[record.trial] += covered_s(record.units) + record.valid.seconds;
    auto& trial = trials_[record.trial];
    for (auto const& unit : record.units) {
        require(unit.trainer.value >= 0, "a unit's trainer is not of this run");
        if (unit.trainer.index() >= busy_s_.size()) busy_s_.resize(unit.trainer.index() + 1);  // an earlier job had more
        if (units_++ == 0 || unit.start_unix_s < first_unix_s_) first_unix_s_ = unit.start_unix_s;
        busy_s_[unit.trainer.index()] += unit.seconds;
        trial.train_s += unit.seconds;
        if (unit.cpu_s >= 0) trial.cpu.add({unit.cpu_s, unit.seconds});
        if (unit.gpu_use >= 0) trial.gpu.add({unit.gpu_use * unit.seconds, unit.seconds});
        if (unit.wait_s >= 0) gaps_s_.add(unit.wait_s);
    }
    if (record.valid.seconds > 0) {
        for (auto const trainer : validators_of(record)) {
            require(trainer.value >= 0, "a lap's home is not of this run");
            if (trainer.index() >= busy_s_.size()) busy_s_.resize(trainer.index() + 1);
            busy_s_[trainer.index()] += record.valid.seconds;
        }
        trial.valid_s += validation_s_of(record);
    }
    hops_ += record.hops.count;
    hop_bytes_ += static_cast<std::int64_t>(record.hops.bytes);
    last_unix_s_ = std::max(last_unix_s_, end_unix_s(record));
}

TrialTally const& Tally::of(TrialId trial) const {
    static TrialTally const nothing;
    auto const found = trials_.find(trial);
    return found == trials_.end() ? nothing : found->second;
}

double Tally::makespan_s() const {
    if (units_ == 0) return 0;
    double out = last_unix_s_ - first_unix_s_;
    for (auto const& [from, until] : pauses_)
        out -= std::max(0.0, std::min(until, last_unix_s_) - std::max(from, first_unix_s_));
    return std::max(0.0, out);
}

double Tally::busy_s() const { return std::accumulate(busy_s_.begin(), busy_s_.end(), 0.0); }

double Tally::utilisation() const {
    auto const available = static_cast<double>(busy_s_.size()) * makespan_s();
    return available > 0 ? busy_s() / available : 0;
}

double Tally::lower_bound_s() const {
    auto const trainers = busy_s_.size();
    auto const speed = pace_.speed(static_cast<int>(trainers)).value_or(std::vector<double>(trainers, 1.0));
    auto const work = std::inner_product(busy_s_.begin(), busy_s_.end(), speed.begin(), 0.0);
    auto const all = std::accumulate(speed.begin(), speed.end(), 0.0);
    double bound = all > 0 ? work / all : 0;
    auto const on_fastest = busy_s() > 0 ? work / busy_s() : 1;  // of the seconds on the trainers that there were
    for (auto const& [id, seconds] : alone_s_) bound = std::max(bound, seconds * on_fastest);
    return bound;
}

}  // namespace hopscotch
