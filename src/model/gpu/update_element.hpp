// SPDX-License-Identifier: Apache-2.0
// The update of one parameter by any optimizer: the body of the kernel in step_kernels.cu, and of the loop of the lean step
// (model/lean/update.cpp). It equals torch's optimizers to 1e-6. The formulas are those of torch.optim. All numbers that a
// search may change are read from memory, so the kernel's arguments are the same for all trials of one structure.
#pragma once
#include <cmath>
#include <cstddef>

#include "model/gpu/step_block.hpp"

#ifdef __CUDACC__
#define HOPSCOTCH_BOTH __host__ __device__
#else
#define HOPSCOTCH_BOTH [[gnu::always_inline]]  // a file for AVX2 must leave no copy that others might call
#endif

namespace hopscotch {

enum class UpdateRule { sgd, adam, adamw, rmsprop, adagrad };

// Flat and equally long; null: this rule, or this trial, has none.
struct FlatUpdate {
    UpdateRule rule = UpdateRule::sgd;
    bool nesterov = false;
    float* parameters = nullptr;
    float const* gradient = nullptr;
    float* mean = nullptr;              // adam, adamw: exp_avg; rmsprop, centered: grad_avg
    float* square = nullptr;            // adam, adamw: exp_avg_sq; rmsprop: square_avg; adagrad: sum
    float* momentum = nullptr;          // sgd, rmsprop
    float* averaged = nullptr;          // train.ema
    std::size_t size = 0, decayed = 0;  // weight decay applies to the first `decayed` ones
    StepBlock const* block = nullptr;
};

// a + weight x (b - a), as torch rounds it.
HOPSCOTCH_BOTH inline float mixed(float a, float b, float weight) {
    return weight < 0.5F ? a + weight * (b - a) : b - (b - a) * (1.0F - weight);
}

// The numbers of one update, which a thread of the kernel reads once.
struct UpdateNow {
    UpdateNumbers numbers;
    StepEntry entry;
};
HOPSCOTCH_BOTH inline UpdateNow due_update(StepBlock const& block) {
    return {block.numbers, block.launch.steps[block.launch.step]};
}

HOPSCOTCH_BOTH inline float sgd_step(FlatUpdate const& u, std::size_t i, float gradient, UpdateNumbers const& n) {
    if (u.momentum == nullptr) return gradient;
    auto const velocity = n.momentum * u.momentum[i] + gradient;
    u.momentum[i] = velocity;
    return u.nesterov ? gradient + n.momentum * velocity : velocity;
}

HOPSCOTCH_BOTH inline float adam_step(FlatUpdate const& u, std::size_t i, float gradient, UpdateNow const& now) {
    auto const& n = now.numbers;
    auto const mean = n.beta1 * u.mean[i] + n.beta1_rest * gradient;
    auto const square = n.beta2 * u.square[i] + n.beta2_rest * gradient * gradient;
    u.mean[i] = mean;
    u.square[i] = square;
    return mean / now.entry.correction1 / (sqrtf(square) / now.entry.correction2_root + n.epsilon);
}

HOPSCOTCH_BOTH inline float rmsprop_step(FlatUpdate const& u, std::size_t i, float gradient, UpdateNumbers const& n) {
    auto const square = n.alpha * u.square[i] + n.alpha_rest * gradient * gradient;
    u.square[i] = square;
    auto variance = square;
    if (u.mean != nullptr) {
        auto const mean = mixed(u.mean[i], gradient, n.alpha_rest);
        u.mean[i] = mean;
        variance -= mean * mean;
    }
    auto const step = gradient / (sqrtf(variance) + n.epsilon);
    if (u.momentum == nullptr) return step;
    return u.momentum[i] = n.momentum * u.momentum[i] + step;
}

HOPSCOTCH_BOTH inline float adagrad_step(FlatUpdate const& u, std::size_t i, float gradient, UpdateNumbers const& n) {
    auto const sum = u.square[i] + gradient * gradient;
    u.square[i] = sum;
    return gradient / (sqrtf(sum) + n.epsilon);
}

HOPSCOTCH_BOTH inline void update_element(FlatUpdate const& u, std::size_t i, UpdateNow const& now, float decay) {
    auto const& n = now.numbers;
    auto const lr = now.entry.lr;
    auto parameter = u.parameters[i], gradient = u.gradient[i];
    if (decay != 0 && u.rule == UpdateRule::adamw)
        parameter -= lr * decay * parameter;
    else if (decay != 0)
        gradient += decay * parameter;
    auto step = 0.0F;
    switch (u.rule) {
        case UpdateRule::sgd: step = sgd_step(u, i, gradient, n); break;
        case UpdateRule::adam:
        case UpdateRule::adamw: step = adam_step(u, i, gradient, now); break;
        case UpdateRule::rmsprop: step = rmsprop_step(u, i, gradient, n); break;
        case UpdateRule::adagrad: step = adagrad_step(u, i, gradient, n); break;
    }
    parameter -= lr * step;
    u.parameters[i] = parameter;
    if (u.averaged != nullptr) u.averaged[i] = mixed(u.averaged[i], parameter, n.averaged_rest);
}

HOPSCOTCH_BOTH inline void update_element(FlatUpdate const& u, std::size_t i, UpdateNow const& now) {
    update_element(u, i, now, i < u.decayed ? now.numbers.weight_decay : 0.0F);
}

}  // namespace hopscotch

#undef HOPSCOTCH_BOTH
