// SPDX-License-Identifier: Apache-2.0
// The source of configurations: one half of a procedure; the other half is the rule. A sampler is asked for the
// configuration of the trial with the id history.size(). It sees the earlier proposals and their results.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "experiment/space.hpp"
#include "search/history.hpp"

namespace hopscotch {

class Sampler {
public:
    virtual ~Sampler() = default;

    // Never a forbidden configuration, nor one that the history has seen. None: no other configuration is left.
    virtual std::optional<Assignment> ask(History const& history) = 0;

    // Of the next trial, where the rule has several (Rule::next_rung).
    virtual void start_at_rung(int /*rung*/) {}

    virtual bool learns() const { return false; }  // from results; then it is asked as late as possible
    // Of a list: the number of configurations that the history has not seen.
    virtual std::optional<std::size_t> remaining(History const&) const { return std::nullopt; }
};

// Key of the random stream of the next trial: its draws do not depend on the order of events.
std::uint64_t sampler_key(Experiment const& experiment, History const& history);

// Draws until a configuration is new: at most 1000 times. Then it chooses among the rest of a finite space. Throws
// ConfigError if almost no configuration of the space is allowed.
class Fresh {
public:
    explicit Fresh(Space const& space) : space_(space) {}

    // draw: the next configuration, allowed or not; below(n): a number of 0..n-1.
    std::optional<Assignment> find(History const& history, std::function<Assignment()> const& draw,
                                   std::function<std::uint32_t(std::uint32_t)> const& below);

private:
    Space const& space_;
    std::optional<std::vector<Assignment>> left_;  // once 1000 draws were not enough
};

std::unique_ptr<Sampler> make_grid(Experiment const& experiment, Space const& space);
std::unique_ptr<Sampler> make_random(Experiment const& experiment, Space const& space);
std::unique_ptr<Sampler> make_sobol(Experiment const& experiment, Space const& space);
std::unique_ptr<Sampler> make_tpe(Experiment const& experiment, Space const& space);
std::unique_ptr<Sampler> make_gp(Experiment const& experiment, Space const& space);
std::unique_ptr<Sampler> make_cma_es(Experiment const& experiment, Space const& space);
std::unique_ptr<Sampler> make_priorband(Experiment const& experiment, Space const& space);
std::unique_ptr<Sampler> make_nsga2(Experiment const& experiment, Space const& space);
std::unique_ptr<Sampler> make_manual(Experiment const& experiment, Space const& space);
std::unique_ptr<Sampler> make_ablation(Experiment const& experiment, Space const& space);

}  // namespace hopscotch
