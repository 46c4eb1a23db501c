// SPDX-License-Identifier: Apache-2.0
#include "tensor/step/torch_part_update.hpp"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/linalg_vector_norm.h>

#include <vector>

#include "experiment/config.hpp"
#include "tensor/step/optimizer.hpp"

namespace hopscotch {
namespace {

class PartUpdateByTorch final : public TorchPartUpdate {
public:
    PartUpdateByTorch(TrainConfig const& train, TorchLibrary::Part part)
        : train_(train), optimizer_(train.optimizer), part_(part), values_(row(0)) {
        for (std::int64_t slot = 1; slot <= part.slots; ++slot) slots_.push_back(row(slot));
    }

    void update(std::span<float> gradient, double lr, std::int64_t step) override {
        thread_local bool entered = false;  // torch keeps its thread count per thread as well
        if (!entered) at::init_num_threads();
        entered = true;
        auto const g = at::from_blob(gradient.data(), {part_.size}, at::TensorOptions(at::kFloat));
        if (train_.clip.value) g.clamp_(-*train_.clip.value, *train_.clip.value);
        if (train_.clip.norm) g.mul_((*train_.clip.norm / (at::linalg_vector_norm(g, 2) + 1e-6)).clamp_max_(1.0));
        optimizer_.bind(values_, g, slots_, part_.decayed);
        optimizer_.update(lr, step);
    }

private:
    at::Tensor row(std::int64_t number) const {
        return at::from_blob(part_.values + number * part_.size, {part_.size}, at::TensorOptions(at::kFloat));
    }

    TrainConfig train_;
    Optimizer optimizer_;
    TorchLibrary::Part part_;
    at::Tensor values_;
    std::vector<at::Tensor> slots_;
};

}  // namespace

std::unique_ptr<TorchPartUpdate> make_part_update(TrainConfig const& train, TorchLibrary::Part part) {
    return std::make_unique<PartUpdateByTorch>(train, part);
}

}  // namespace hopscotch
