// SPDX-License-Identifier: Apache-2.0
// live.json: a RunView as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "core/file.hpp"
#include "core/log.hpp"
#include "rundir/journal_codec.hpp"
#include "view/run_view.hpp"

namespace hopscotch {
namespace {

constexpr std::int64_t k_most = 1'000'000'000'000;
constexpr double k_most_work = 1e40;

Json to_json(TrainerNow const& trainer) {
    return Json::object({{"lost", trainer.lost},
                         {"busy", trainer.busy},
                         {"trial", trainer.trial},
                         {"epoch", trainer.epoch},
                         {"shard", trainer.shard},
                         {"doing", trainer.doing},
                         {"batches_per_s", trainer.batches_per_s}});
}

Json to_json(Leader const& leader) {
    return Json::object({{"trial", leader.trial.value},
                         {"value", leader.value},
                         {"epoch", leader.epoch},
                         {"config", leader.config},
                         {"curve", leader.curve}});
}

Json to_json(ProgressState const& state) {
    auto out = Json::object({{"elapsed_s", state.elapsed_s},
                             {"done", state.done},
                             {"total", state.total},
                             {"done_before", state.done_before},
                             {"busy", state.busy},
                             {"trainers", state.trainers},
                             {"trials_done", state.trials_done},
                             {"trials", state.trials},
                             {"metric", state.metric}});
    if (state.best) out["best"] = Json::object({{"trial", state.best->trial.value}, {"value", state.best->value}});
    return out;
}

int small(Json const& json, std::string_view key, int low) { return static_cast<int>(integer_in(json, key, low, 1 << 30)); }

// Any user may have written the file, and a terminal shows it.
std::string text_in(Json const& json) {
    auto out = printable(json.string());
    std::ranges::replace_if(out, [](char c) { return c == '\n' || c == '\t'; }, ' ');
    return out;
}

double bounded(Json const& json, std::string_view key) {
    return std::clamp(json.at(key).number(), 0.0, static_cast<double>(k_most));
}

// Before the first lap has ended, work is counted in FLOPs.
double work_in(Json const& json, std::string_view key) { return std::clamp(json.at(key).number(), 0.0, k_most_work); }

TrainerNow trainer_from(Json const& json) {
    return {.lost = json.at("lost").boolean(),
            .busy = bounded(json, "busy"),
            .trial = small(json, "trial", -1),
            .epoch = small(json, "epoch", -1),
            .shard = small(json, "shard", -1),
            .doing = text_in(json.at("doing")),
            .batches_per_s = bounded(json, "batches_per_s")};
}

double number_or_nan(Json const& json) { return json.is_null() ? NAN : json.number(); }

Leader leader_from(Json const& json) {
    Leader out{TrialId(small(json, "trial", 0)),
               number_or_nan(json.at("value")),
               small(json, "epoch", 0),
               text_in(json.at("config")),
               {}};
    for (auto const& value : json.at("curve").array()) out.curve.push_back(number_or_nan(value));
    return out;
}

ProgressState progress_from(Json const& json) {
    ProgressState out;
    out.elapsed_s = bounded(json, "elapsed_s");
    out.done = work_in(json, "done");
    out.total = work_in(json, "total");
    out.done_before = work_in(json, "done_before");
    out.busy = small(json, "busy", 0);
    out.trainers = small(json, "trainers", 0);
    out.trials_done = integer_in(json, "trials_done", 0, k_most);
    out.trials = integer_in(json, "trials", 0, k_most);
    out.metric = text_in(json.at("metric"));
    if (auto const* best = json.find("best"))
        out.best = BestSoFar{TrialId(small(*best, "trial", 0)), number_or_nan(best->at("value"))};
    return out;
}

RunView view_from(Json const& json) {
    RunView out;
    out.name = text_in(json.at("name"));
    out.label = text_in(json.at("label"));
    out.status = text_in(json.at("status"));
    out.unix_s = bounded(json, "unix_s");
    out.progress = progress_from(json.at("progress"));
    out.in_flight = integer_in(json, "in_flight", 0, k_most);
    out.waiting = integer_in(json, "waiting", 0, k_most);
    out.failed = integer_in(json, "failed", 0, k_most);
    out.epochs = integer_in(json, "epochs", 0, k_most);
    out.state_bytes_per_s = bounded(json, "state_bytes_per_s");
    for (auto const& trainer : json.at("trainers").array()) out.trainers.push_back(trainer_from(trainer));
    for (auto const& leader : json.at("leaders").array()) out.leaders.push_back(leader_from(leader));
    for (auto const& warning : json.at("warnings").array()) out.warnings.push_back(text_in(warning));
    return out;
}

template <class T>
Json array_of(std::vector<T> const& values) {
    Json::Array out;
    for (auto const& value : values) out.push_back(to_json(value));
    return Json(std::move(out));
}

}  // namespace

Json to_json(RunView const& view) {
    return Json::object({{"name", view.name},
                         {"label", view.label},
                         {"status", view.status},
                         {"unix_s", view.unix_s},
                         {"progress", to_json(view.progress)},
                         {"in_flight", view.in_flight},
                         {"waiting", view.waiting},
                         {"failed", view.failed},
                         {"epochs", view.epochs},
                         {"state_bytes_per_s", view.state_bytes_per_s},
                         {"trainers", array_of(view.trainers)},
                         {"leaders", array_of(view.leaders)},
                         {"warnings", view.warnings}});
}

std::optional<RunView> read_run_view(std::filesystem::path const& run_dir) {
    auto const file = run_dir / "live.json";
    if (std::error_code error; !std::filesystem::exists(file, error)) return std::nullopt;
    auto const json = parse_json_or_throw(read_whole(file), file.string());
    try {
        return view_from(json);
    } catch (Error const& error) {  // adds the file, which at() cannot know
        throw DataError(fmt::format("{}: {} (not written by this hopscotch?)", file.string(), error.what()));
    }
}

}  // namespace hopscotch
