// SPDX-License-Identifier: Apache-2.0
#include "strategy/whole_laps/sequential.hpp"

#include "strategy/whole_laps/whole_laps.hpp"

namespace hopscotch {
namespace {

class Sequential : public WholeLaps {
public:
    explicit Sequential(Resources resources) : WholeLaps(std::move(resources)) {}

    void execute(Lap const& lap) override { resources_.courier.send(rank_of(home_of(lap)), MessageKind::lap, encode(lap)); }
};

}  // namespace

std::unique_ptr<Strategy> make_sequential(Resources resources) { return std::make_unique<Sequential>(std::move(resources)); }

}  // namespace hopscotch
