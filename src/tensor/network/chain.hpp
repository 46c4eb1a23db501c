// SPDX-License-Identifier: Apache-2.0
// A network whose forward pass is a chain of stages: each reads the outputs of the stage before, and nothing else. Where the
// first stages are frozen, their outputs can be computed once (tail.hpp).
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "tensor/network/layers.hpp"

namespace hopscotch {

class ChainNetwork : public AutogradNetwork {
public:
    std::vector<Stage> const* stages() const override { return &stages_; }
    at::Tensor forward(at::Tensor const& x, Pass const& pass) override { return forward(0, stages_.size(), x, pass); }

    // Through the stages [first, end). x: the outputs of the stage before `first`, or images.
    at::Tensor forward(std::size_t first, std::size_t end, at::Tensor const& x, Pass const& pass);

protected:
    // The order in which the stages compute on images: as train.channels_last says, or always channels first.
    enum class Images { as_configured, channels_first };
    explicit ChainNetwork(Images images) : images_(images) {}

    // Of the layers that have been made since the stage before. It may not change x in place.
    using Compute = std::function<at::Tensor(at::Tensor const& x, Pass const& pass)>;
    void add_stage(std::vector<std::int64_t> shape, Compute compute);

private:
    Images images_;
    std::vector<Stage> stages_;
    std::vector<Compute> computes_;
};

}  // namespace hopscotch
