// SPDX-License-Identifier: Apache-2.0
#include "job/live_control.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/fault.hpp"
#include "core/log.hpp"
#include "direct/director.hpp"
#include "experiment/reader.hpp"
#include "experiment/space.hpp"
#include "experiment/strategy_traits.hpp"
#include "job/earlier_jobs.hpp"
#include "job/model_files_of_run.hpp"
#include "job/prepared_run.hpp"
#include "job/recorder.hpp"
#include "model/trial/trial_model.hpp"
#include "model/trial/trial_state.hpp"
#include "model/trial/workspace.hpp"
#include "model/zoo/zoo.hpp"
#include "strategy/common/dispatcher.hpp"

namespace hopscotch {
namespace {

constexpr double k_look_s = 0.5;

std::string epochs_text(int epochs) { return fmt::format("{} epoch{}", epochs, epochs == 1 ? "" : "s"); }

// The assignment with these values, as the space has them; their paths may be new.
Assignment changed(Experiment const& experiment, Assignment assignment, Assignment const& changes) {
    for (auto const& [path, value] : changes) {
        auto const at = std::ranges::find(assignment, path, &Assignment::value_type::first);
        if (at == assignment.end())
            assignment.emplace_back(path, value);
        else
            at->second = value;
    }
    Problems told("");  // of the space: reported at the start
    return with_own_values(read_space(experiment, told), assignment);
}

double seconds_of(LapRecord const& record) {
    double out = validation_s_of(record);
    for (auto const& unit : record.units) out += unit.seconds;
    return out;
}

// A state of one can go on as a state of the other.
bool have_same_layout(TrialConfig const& first, TrialConfig const& second, Manifest const& manifest) {
    Workspace workspace("cpu", 1);
    auto const layout = [&](TrialConfig const& of) {
        return make_trial_model(of, manifest, workspace).state->layout().hash();
    };
    return layout(first) == layout(second);
}

}  // namespace

LiveControl::LiveControl(PreparedRun const& prepared, Recorder& recorder, Leave leave, Dispatcher& dispatcher)
    : prepared_(prepared),
      recorder_(recorder),
      leave_(std::move(leave)),
      dispatcher_(dispatcher),
      inbox_(prepared.inputs.experiment.run.dir),
      started_s_(monotonic_s()) {
    if (!prepared.inputs.earlier) return;
    waiting_ = prepared.inputs.earlier->journal.orders;
    has_ordered_ = !waiting_.empty() || std::ranges::any_of(prepared.inputs.earlier->journal.laps,
                                                            [](auto const& lap) { return !lap.orders.empty(); });
    for (auto const& order : waiting_)
        if (order.kind == Order::Kind::stop) left_.insert(order.trial);
}

void LiveControl::tick() {
    auto const now = monotonic_s();
    if (now < next_look_s_) return;
    next_look_s_ = now + k_look_s;
    for (auto const& letter : inbox_.take()) {
        auto const answer = letter.problem.empty() ? answer_to(letter.request)
                                                   : Answer{false, fmt::format("{}: {}", letter.name, letter.problem)};
        log_info(fmt::format("ctl: {}{}", answer.ok ? "" : "refused: ", answer.text));
        try {
            inbox_.answer(letter, answer);
        } catch (Error const& error) {  // the folder may be another user's
            log_warning(fmt::format("ctl: {} cannot be answered: {}", letter.name, error.what()));
        }
    }
}

Answer LiveControl::answer_to(LiveRequest const& request) {
    if (prepared_.director->finished()) return {false, "the run has finished; no lap is left that could bring the order"};
    if (request.kind == Order::Kind::finish) return finish();
    auto const& trials = prepared_.trials();
    if (request.trial.index() >= trials.size())
        return {false, fmt::format("there is no trial {} (there are {}: 0 to {})", request.trial.value, trials.size(),
                                   trials.size() - 1)};
    auto const& trial = trials[request.trial.index()];
    if (request.kind == Order::Kind::stop) return stop(trial);
    if (request.kind == Order::Kind::resume) return resume(trial);
    return clone(trial, request.changes);
}

Answer LiveControl::finish() {
    if (finishing()) return {true, "the run is finishing already"};
    give({.kind = Order::Kind::finish, .why = "finished by a user"});
    return {true, "the run finishes: no trial starts, and every trial ends at its next decision"};
}

Answer LiveControl::stop(TrialView const& trial) {
    if (has_ended(trial.status))
        return {false, fmt::format("trial {} has ended already: {}", trial.id.value, name_of(trial.status))};
    if (is_waiting(Order::Kind::stop, trial.id))
        return {true, fmt::format("trial {} is being stopped already", trial.id.value)};
    give({.kind = Order::Kind::stop, .trial = trial.id, .why = "stopped by a user"});
    if (trial.status == TrialStatus::running) leave(trial.id, "stopped by a user");
    return {true, fmt::format("trial {} stops", trial.id.value)};
}

Answer LiveControl::resume(TrialView const& trial) {
    auto const id = trial.id.value;
    int const epochs = trial.config->train.epochs;
    if (finishing()) return {false, "the run is finishing; no trial continues"};
    if (is_waiting(Order::Kind::stop, trial.id))
        return {false, fmt::format("trial {} is being stopped; try again when it has ended", id)};
    if (trial.status == TrialStatus::running || trial.status == TrialStatus::waiting)
        return {false,
                fmt::format("trial {} is {}; only paused and stopped trials can continue", id, name_of(trial.status))};
    if (trial.status == TrialStatus::failed || trial.status == TrialStatus::diverged)
        return {false, fmt::format("trial {} has {} ({}); it cannot continue", id, name_of(trial.status), trial.reason)};
    if (trial.epochs_done >= epochs)
        return {false, fmt::format("trial {} has been trained for all of its {}", id, epochs_text(epochs))};
    left_.erase(trial.id);  // an earlier request to leave a lap no longer counts
    give({.kind = Order::Kind::resume, .trial = trial.id, .why = "taken up by a user"});
    return {true, fmt::format("trial {} goes on after {}, up to {}", id, epochs_text(trial.epochs_done), epochs)};
}

Answer LiveControl::clone(TrialView const& trial, Assignment const& changes) {
    auto const id = trial.id.value;
    auto const& strategy = prepared_.inputs.experiment.strategy.name;
    if (strategy_traits(strategy).state_in_parts)
        return {false, fmt::format("{} keeps states in parts on several trainers; they cannot be cloned", strategy)};
    if (finishing()) return {false, "the run is finishing; no trial starts"};
    if (prepared_.inputs.experiment.search.copies.count() > 1)
        return {false,
                "a clone would belong to no configuration (search.repeats or search.folds is set); start a separate run"};
    auto const assignment = changed(prepared_.inputs.experiment, trial.assignment, changes);
    Problems problems(fmt::format("the clone of trial {}", id));
    auto const config = resolve(prepared_.inputs.experiment, assignment, problems);
    auto const file = new_file_of(prepared_, config.model);
    if (!file.empty()) problems.add(fmt::format("the run did not begin with the model file {}; start a separate run", file));
    if (problems.empty()) check_model(config, prepared_.inputs.schema, problems);
    if (!problems.empty()) return {false, problems.text()};
    if (!have_same_layout(config, *trial.config, prepared_.inputs.manifest))
        return {
            false,
            fmt::format(
                "the changes alter the layout of the state of trial {} (arguments of the model, the optimizer, or momentum "
                "from or to 0); leave them out",
                id)};
    auto const epoch = epoch_to_clone(trial);
    if (!epoch && has_ended(trial.status))
        return {false, fmt::format("trial {} has ended, and no file holds its state at the end of an epoch", id)};
    if (!epoch) return {false, fmt::format("trial {} has not begun; there is no state to clone", id)};
    if (*epoch + 1 >= config.train.epochs)
        return {false,
                fmt::format("trial {} has been trained for {}: nothing is left of the clone's {}; give it more train.epochs",
                            id, epochs_text(*epoch + 1), epochs_text(config.train.epochs))};
    give({.kind = Order::Kind::clone,
          .trial = trial.id,
          .epoch = *epoch,
          .assignment = assignment,
          .why = "cloned by a user"});
    if (recorder_.shelf().file_after(trial.id, *epoch) == nullptr) dispatcher_.keep_end({trial.id, *epoch});
    return {true, fmt::format("a clone of trial {} goes on after epoch {}{}", id, *epoch,
                              *epoch < trial.epochs_done ? "" : ", when that has ended")};
}

// The epoch after which a clone of this trial begins: the last one if a file holds its end or if the trial rests, else the
// epoch under way.
std::optional<int> LiveControl::epoch_to_clone(TrialView const& trial) const {
    auto const newest = recorder_.shelf().newest_boundary(trial.id);
    if (has_ended(trial.status)) return newest;
    int const last = trial.epochs_done - 1;
    bool const under_way = trial.status == TrialStatus::running && trial.epochs_released > trial.epochs_done;
    if (under_way && newest != last) return last + 1;
    return last < trial.first_epoch ? std::nullopt : std::optional(last);
}

std::set<LapId> LiveControl::sources_to_hold() const {
    auto out = prepared_.director->ordered_sources();
    for (auto const& order : waiting_)
        if (order.kind == Order::Kind::clone) out.insert({order.trial, order.epoch});
    return out;
}

std::vector<Order> LiveControl::orders_with(LapRecord const& record) {
    if (prepared_.director->finished()) return {};
    check_hours(record);
    return std::exchange(waiting_, {});
}

void LiveControl::check_hours(LapRecord const& record) {
    auto const& budget = prepared_.inputs.experiment.search.budget;
    auto const before_s = prepared_.inputs.earlier ? prepared_.inputs.earlier->journal.jobs.seconds : 0;
    if (budget.hours && !finishing() && before_s + monotonic_s() - started_s_ >= *budget.hours * 3600)
        give({.kind = Order::Kind::finish, .why = fmt::format("budget.hours {} are used up", *budget.hours)});
    auto const spent_s = recorder_.seconds_of(record.trial) + seconds_of(record);
    if (!budget.hours_per_trial || spent_s < *budget.hours_per_trial * 3600 || record.outcome != Outcome::finished) return;
    if (is_waiting(Order::Kind::stop, record.trial)) return;
    auto const why = fmt::format("budget.hours_per_trial {} are used up", *budget.hours_per_trial);
    give({.kind = Order::Kind::stop, .trial = record.trial, .why = why});
    leave(record.trial, why);
}

void LiveControl::give(Order order) {
    has_ordered_ = true;
    recorder_.ordered(order);
    fault_point("order.record");
    waiting_.push_back(std::move(order));
    recorder_.shelf().hold(sources_to_hold());
}

void LiveControl::leave(TrialId trial, std::string const& why) {
    left_.insert(trial);
    leave_(trial, why);
}

bool LiveControl::finishing() const {
    return !prepared_.director->finish_reason().empty() || is_waiting(Order::Kind::finish, {});
}

bool LiveControl::is_waiting(Order::Kind kind, TrialId trial) const {
    return std::ranges::any_of(waiting_, [&](Order const& order) { return order.kind == kind && order.trial == trial; });
}

}  // namespace hopscotch
