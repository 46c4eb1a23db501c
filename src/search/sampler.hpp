// SPDX-License-Identifier: Apache-2.0
// Where configurations come from: one half of a procedure, the other is its rule. A sampler is asked for the configuration
// of the trial with the id history.size(); it sees what was proposed before and what came of it.
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

    // Never a forbidden configuration nor one that the history has seen. None: there is no other left.
    virtual std::optional<Assignment> ask(History const& history) = 0;

    virtual bool learns() const { return false; }  // from results: then it is asked late
    // Of a list: how many the history has not seen.
    virtual std::optional<std::size_t> left(History const&) const { return std::nullopt; }
};

// A stream of a trial's own, so that no order of events changes what is drawn for it.
std::uint64_t sampler_key(Experiment const& experiment, History const& history);

// Draws until something new comes: at most 1000 times, then chooses among what is left, if that can be listed. Throws
// ConfigError if the space has next to nothing that is allowed.
class Fresh {
public:
    explicit Fresh(Space const& space) : space_(space) {}

    // draw: the next one, allowed or not; below(n): a number of 0..n-1.
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
std::unique_ptr<Sampler> make_manual(Experiment const& experiment, Space const& space);
std::unique_ptr<Sampler> make_ablation(Experiment const& experiment, Space const& space);

}  // namespace hopscotch
