// SPDX-License-Identifier: Apache-2.0
// Independent draws, each from the stream of its own trial, so that no order of events changes a configuration. In a finite
// space the search ends when all have been tried.
#include "core/rng.hpp"
#include "search/draw.hpp"
#include "search/sampler.hpp"

namespace hopscotch {
namespace {

class Random : public Sampler {
public:
    Random(Experiment const& experiment, Space const& space) : experiment_(experiment), space_(space), fresh_(space) {}

    std::optional<Assignment> ask(History const& history) override {
        Rng rng(sampler_key(experiment_, history));
        return fresh_.find(
            history, [&] { return draw(space_, [&] { return rng.uniform(); }); },
            [&](std::uint32_t n) { return rng.below(n); });
    }

private:
    Experiment const& experiment_;
    Space const& space_;
    Fresh fresh_;
};

}  // namespace

std::unique_ptr<Sampler> make_random(Experiment const& experiment, Space const& space) {
    return std::make_unique<Random>(experiment, space);
}

}  // namespace hopscotch
