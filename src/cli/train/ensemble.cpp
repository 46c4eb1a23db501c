// SPDX-License-Identifier: Apache-2.0
#include "cli/train/ensemble.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <span>

#include "core/counted.hpp"
#include "core/error.hpp"
#include "core/file.hpp"
#include "core/json_reader.hpp"
#include "data/batches/shard_source.hpp"
#include "data/dataset/shard.hpp"
#include "model/trial/evaluation.hpp"
#include "model/trial/evaluator.hpp"
#include "model/trial/trial_state.hpp"
#include "rundir/metrics.hpp"

namespace hopscotch {
namespace {

struct Ranked {
    TrialId trial;
    double of_group = 0, value = 0;
};

// Of a summary.json.
std::vector<Ranked> ranked_trials(Json const& summary) {
    auto const mode = summary.at("mode").string() == "max" ? Mode::max : Mode::min;
    auto const& metric = summary.at("metric").string();
    std::map<std::int64_t, double> of_group;
    if (auto const* groups = summary.find("groups"))
        for (auto const& group : groups->array())
            for (auto const& trial : group.at("trials").array())
                of_group[trial.integer()] =
                    group.at("mean").is_null() ? std::numeric_limits<double>::quiet_NaN() : group.at("mean").number();
    std::vector<Ranked> out;
    for (auto const& trial : summary.at("trials").array()) {
        if (trial.at("best").is_null()) continue;
        auto const id = trial.at("id").integer();
        auto const* value = trial.at("best").find(metric);
        if (value == nullptr || !value->is_number()) continue;
        auto const group = of_group.find(id);
        out.push_back(
            {TrialId(static_cast<int>(id)), group == of_group.end() ? value->number() : group->second, value->number()});
    }
    std::stable_sort(out.begin(), out.end(), [&](Ranked const& a, Ranked const& b) {
        if (better(a.of_group, b.of_group, mode)) return true;
        if (better(b.of_group, a.of_group, mode)) return false;
        return better(a.value, b.value, mode);
    });
    return out;
}

double log_sum_exp(std::span<double const> values) {
    auto const top = *std::ranges::max_element(values);
    if (!std::isfinite(top)) return top;
    double sum = 0;
    for (auto const value : values) sum += std::exp(value - top);
    return top + std::log(sum);
}

double log_sigmoid(double x) { return std::min(x, 0.0) - std::log1p(std::exp(-std::abs(x))); }

// One row of each member.
using MemberRows = std::vector<std::span<float const>>;

void add_classes(MemberRows const& rows, std::vector<float>& out) {
    auto const width = rows.front().size();
    std::vector<double> logits(width), shares(rows.size()), normalisers;
    for (auto const& row : rows) {
        std::ranges::copy(row, logits.begin());
        normalisers.push_back(log_sum_exp(logits));
    }
    for (std::size_t i = 0; i < width; ++i) {
        for (std::size_t m = 0; m < rows.size(); ++m) shares[m] = rows[m][i] - normalisers[m];
        out.push_back(static_cast<float>(log_sum_exp(shares) - std::log(static_cast<double>(rows.size()))));
    }
}

void add_labels(MemberRows const& rows, std::vector<float>& out) {
    std::vector<double> yes(rows.size()), no(rows.size());
    for (std::size_t i = 0; i < rows.front().size(); ++i) {
        for (std::size_t m = 0; m < rows.size(); ++m) {
            yes[m] = log_sigmoid(rows[m][i]);
            no[m] = log_sigmoid(-static_cast<double>(rows[m][i]));
        }
        out.push_back(static_cast<float>(log_sum_exp(yes) - log_sum_exp(no)));
    }
}

void add_values(MemberRows const& rows, std::vector<float>& out) {
    for (std::size_t i = 0; i < rows.front().size(); ++i) {
        double sum = 0;
        for (auto const& row : rows) sum += row[i];
        out.push_back(static_cast<float>(sum / static_cast<double>(rows.size())));
    }
}

}  // namespace

std::vector<TrialId> best_trials(std::filesystem::path const& run_dir, int count) {
    auto const file = run_dir / "summary.json";
    if (!std::filesystem::exists(file))
        throw ConfigError(
            fmt::format("{}: has no summary.json (did the run finish?); run the experiment to its end", run_dir.string()));
    std::vector<Ranked> ranked;
    auto const summary = parse_json_or_throw(read_whole(file), file.string());
    try {
        ranked = ranked_trials(summary);
    } catch (Error const& error) {  // adds the file
        throw DataError(fmt::format("{}: {} (not written by this hopscotch?)", file.string(), error.what()));
    }
    if (static_cast<std::size_t>(count) > ranked.size())
        throw ConfigError(fmt::format("--ensemble {}: {} has only {} with a finite {}; ask for fewer", count,
                                      run_dir.string(), counted(static_cast<std::int64_t>(ranked.size()), "trial"),
                                      summary.at("metric").string()));
    std::vector<TrialId> out;
    for (int i = 0; i < count; ++i) out.push_back(ranked[static_cast<std::size_t>(i)].trial);
    return out;
}

std::vector<float> mean_answer(std::vector<std::vector<float>> const& outputs, Task task, std::size_t width) {
    if (outputs.size() == 1) return outputs.front();
    std::vector<float> out;
    out.reserve(outputs.front().size());
    MemberRows rows(outputs.size());
    for (std::size_t at = 0; at < outputs.front().size(); at += width) {
        for (std::size_t m = 0; m < outputs.size(); ++m) rows[m] = std::span(outputs[m]).subspan(at, width);
        if (has_labels(task))
            add_classes(rows, out);
        else if (task == Task::multilabel)
            add_labels(rows, out);
        else
            add_values(rows, out);
    }
    return out;
}

Ensemble::Ensemble(std::vector<TrainedTrial> members) : members_(std::move(members)) {
    if (members_.size() > 1 && manifest().task == Task::language)
        throw ConfigError("--ensemble: this is a language model (its scores are means over tokens); leave the option out");
}

Ensemble::~Ensemble() = default;

void Ensemble::read_as(Manifest const& data, Workspace& workspace) {
    for (auto& member : members_) {
        member.model = make_trial_model(member.config, data, workspace);
        member.model.state->bind(member.state.bytes());
    }
}

std::int64_t Ensemble::batches(std::int64_t rows) const {
    return members_.front().model.evaluation->evaluation_batches(rows);
}

std::vector<float> Ensemble::predict(ShardSource& source, std::int64_t batch) {
    std::vector<std::vector<float>> outputs;
    for (auto& member : members_) outputs.push_back(member.model.evaluation->predict(source, {batch, 1}));
    return mean_answer(outputs, manifest().task, static_cast<std::size_t>(manifest().outputs));
}

ValidationScores Ensemble::scores(Evaluation const& sums) const { return members_.front().model.evaluation->scores(sums); }

void Ensemble::evaluate(ShardSource& source, Shard const& answers, Evaluation& into) {
    if (members_.size() == 1) return members_.front().model.evaluation->evaluate(source, {0, batches(answers.rows)}, into);
    auto const width = static_cast<std::size_t>(manifest().outputs);
    std::size_t row = 0;
    for (std::int64_t batch = 0; batch < batches(answers.rows); ++batch) {
        auto const outputs = predict(source, batch);
        auto const rows = outputs.size() / width;
        bool const labelled = has_labels(manifest().task);
        auto const labels = labelled ? std::span(answers.labels).subspan(row, rows) : std::span<std::int64_t const>();
        auto const targets =
            labelled ? std::span<float const>() : std::span(answers.targets).subspan(row * width, rows * width);
        if (labelled)
            into.add_labels(outputs, labels);
        else
            into.add_targets(outputs, targets, target_loss(config().train, manifest().targets.stddev));
        members_.front().model.evaluation->add_own(outputs, labels, targets, into);
        row += rows;
    }
}

}  // namespace hopscotch
