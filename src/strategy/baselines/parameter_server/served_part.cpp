// SPDX-License-Identifier: Apache-2.0
#include "strategy/baselines/parameter_server/served_part.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "model/trial/lr_schedule.hpp"

namespace hopscotch {
namespace {

std::span<float> floats_of(Buffer const& buffer) {
    auto const bytes = buffer.bytes();
    return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
}

}  // namespace

double ServedLap::share(int worker, std::int64_t step) const {
    return config.server.mode == ServerMode::async ? 1 : plan.share(worker, step);
}

std::int64_t ServedLap::last_version() const {
    if (config.server.mode != ServerMode::async) return plan.steps();
    std::int64_t gradients = 0;
    for (int worker = 0; worker < plan.trainers(); ++worker) gradients += plan.own_steps(worker);
    return gradients;
}

std::int64_t ServedLap::needed_version(int worker, std::int64_t step) const {
    if (step + 1 >= plan.own_steps(worker)) return last_version();
    switch (config.server.mode) {
        case ServerMode::async: return 0;
        case ServerMode::ssp: return std::max<std::int64_t>(0, step + 1 - config.server.staleness);
        case ServerMode::sync:
        case ServerMode::backup: break;
    }
    return step + 1;
}

std::int64_t ServedLap::gradients_of(std::int64_t step) const {
    std::int64_t all = 0;
    for (int worker = 0; worker < plan.trainers(); ++worker) all += plan.rows(worker, step) > 0 ? 1 : 0;
    if (config.server.mode != ServerMode::backup) return all;
    auto const first = config.server.aggregate > 0 ? config.server.aggregate : std::max(1, plan.trainers() - 1);
    return std::min<std::int64_t>(all, first);
}

void ServedPart::begin(std::shared_ptr<ServedLap const> lap) {
    require(gradients_.empty() && waiting_.empty(), "a lap of a served part begins before the one before it has ended");
    lap_ = std::move(lap);
    version_ = 0;
    samples_ = lap_->samples;
    read_.assign(static_cast<std::size_t>(lap_->plan.trainers()), 0);
    order_.clear();
}

std::vector<ServedPart::Answer> ServedPart::take(int worker, std::int64_t step, Buffer gradient) {
    require(lap_ && lap_->plan.rows(worker, step) > 0, "a gradient that belongs to no step of this lap");
    require(floats_of(gradient).size() == values_.range().size, "the length of a gradient is not that of its part");
    if (!complete()) order_.push_back(static_cast<std::uint16_t>(worker));
    bool const at_once = lap_->config.server.mode == ServerMode::async;
    auto const staleness = (at_once ? version_ : step) - read_[static_cast<std::size_t>(worker)];
    waiting_.push_back({{worker, step, 0, staleness}, lap_->needed_version(worker, step)});
    if (at_once) {
        update(floats_of(gradient), lap_->plan.rows(worker, step));
    } else if (step >= version_) {  // otherwise backup: its step was complete without the gradient
        gradients_[step].emplace(worker, std::move(gradient));
        combine();
    }
    return answer();
}

std::vector<ServedPart::Answer> ServedPart::ask(int worker) {
    waiting_.push_back({{worker, -1, 0, 0}, lap_->last_version()});
    return answer();
}

// Steps in their order, each summed in the order of workers: ((g0 + g1) + g2) ..., as the deterministic all-reduce does.
void ServedPart::combine() {
    for (auto found = gradients_.find(version_); found != gradients_.end(); found = gradients_.find(version_)) {
        auto& come = found->second;
        if (static_cast<std::int64_t>(come.size()) < lap_->gradients_of(version_)) return;
        auto const sum = floats_of(come.begin()->second);
        std::int64_t rows = 0;
        for (auto const& [worker, gradient] : come) {
            rows += lap_->plan.rows(worker, version_);
            if (worker == come.begin()->first) continue;
            auto const terms = floats_of(gradient);
            for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += terms[i];
        }
        auto const all = lap_->plan.total(version_);
        auto const scale = static_cast<float>(static_cast<double>(all) / static_cast<double>(rows));
        for (std::size_t i = 0; rows != all && i < sum.size(); ++i) sum[i] *= scale;
        update(sum, all);
        gradients_.erase(found);
    }
}

void ServedPart::update(std::span<float> gradient, std::int64_t rows) {
    auto const lr = scheduled_lr(lap_->train, lap_->train_rows, samples_, rows, lap_->reductions);
    values_.update(gradient, lr, lap_->steps + ++version_);
    samples_ += rows;
}

std::vector<ServedPart::Answer> ServedPart::answer() {
    std::vector<Answer> out;
    for (auto& waiting : waiting_) {
        if (version_ < waiting.needed) continue;
        waiting.answer.version = version_;
        read_[static_cast<std::size_t>(waiting.answer.worker)] = version_;
        out.push_back(waiting.answer);
    }
    std::erase_if(waiting_, [this](Waiting const& waiting) { return version_ >= waiting.needed; });
    return out;
}

}  // namespace hopscotch
