// SPDX-License-Identifier: Apache-2.0
// What a search costs rank 0: microseconds of next() and of report(), on average over a whole search of 10,000 trials (tpe
// and bohb: of each key's kernels). No test: build the target search_bench and run it.
#include <fmt/format.h>

#include <time.h>

#include <cmath>
#include <string>

#include "experiment/reader.hpp"
#include "search/search.hpp"

namespace hopscotch {
namespace {

// Of this thread's CPU, so that others on the machine do not count.
double now_us() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) * 1e-3;
}

struct Cost {
    std::int64_t calls = 0;
    double total_us = 0;
    double us() const { return calls == 0 ? 0 : total_us / static_cast<double>(calls); }
};

template <class Call>
auto timed(Cost& cost, Call const& call) {
    double const start = now_us();
    auto result = call();
    cost.total_us += now_us() - start;
    ++cost.calls;
    return result;
}

struct Alive {
    TrialId trial;
    int epochs = 0, until = 0;
};

double loss_of(TrialId trial, int epochs) {
    double const place = std::fmod(trial.value * 0.6180339887498949, 1.0);
    return place + 1.0 / epochs;
}

void measure(std::string const& name, std::string const& search_text) {
    Problems problems("bench");
    auto const experiment = read_experiment(
        R"({"data": {"path": "d"}, "model": {"name": "mlp"}, "run": {"dir": "r"}, "train": {"epochs": 27}, "search": )" +
            search_text +
            R"(, "space": {"train.optimizer.lr": {"type": "float", "low": 1e-5, "high": 0.1, "log": true},
                           "train.batch_size": {"type": "int", "low": 8, "high": 512, "log": true},
                           "train.optimizer.weight_decay": {"type": "float", "low": 0, "high": 0.01},
                           "train.schedule.warmup_epochs": [0, 1, 2, 3]}})",
        {}, problems);
    problems.throw_if_any();
    auto const search = make_search(experiment);
    Cost next, report;
    std::vector<Alive> alive;
    std::vector<int> epochs(20'000, 0);
    for (std::size_t turn = 0;; ++turn) {
        while (alive.size() < 32) {
            auto const proposal = timed(next, [&] { return search->next(); });
            if (!proposal) break;
            alive.push_back({proposal->trial, epochs[proposal->trial.index()], proposal->until_epoch});
        }
        if (alive.empty()) break;
        auto& each = alive[turn % alive.size()];
        auto const loss = loss_of(each.trial, each.epochs + 1);
        auto const verdict = timed(report, [&] { return search->report({each.trial, each.epochs, loss}); });
        epochs[each.trial.index()] = ++each.epochs;
        if (each.epochs < each.until) continue;
        bool const on = verdict.kind == Verdict::Kind::go_on || verdict.kind == Verdict::Kind::clone;
        each.until = verdict.until_epoch;
        if (!on || each.until <= each.epochs) alive.erase(alive.begin() + static_cast<std::ptrdiff_t>(turn % alive.size()));
    }
    fmt::print("{:<28} {:>8} next {:>9.2f} us {:>9} reports {:>7.2f} us\n", name, next.calls, next.us(), report.calls,
               report.us());
    std::fflush(stdout);
}

}  // namespace
}  // namespace hopscotch

int main() {
    using hopscotch::measure;
    std::string const many = R"("trials": 10000})";
    measure("random", R"({"procedure": "random", )" + many);
    measure("sobol", R"({"procedure": "sobol", )" + many);
    measure("asha", R"({"procedure": "asha", )" + many);
    measure("asha stop", R"({"procedure": "asha", "variant": "stop", )" + many);
    measure("successive_halving", R"({"procedure": "successive_halving", )" + many);
    measure("hyperband", R"({"procedure": "hyperband", )" + many);
    measure("median", R"({"procedure": "median", )" + many);
    measure("pbt, 1000 members", R"({"procedure": "pbt", "population": 1000})");
    measure("tpe", R"({"procedure": "tpe", )" + many);
    measure("tpe, each key alone", R"({"procedure": "tpe", "multivariate": false, )" + many);
    measure("bohb", R"({"procedure": "bohb", )" + many);
    return 0;
}
