// SPDX-License-Identifier: Apache-2.0
#include "tensor/network/gradient_hook.hpp"

#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

namespace hopscotch {
namespace {

class Hook : public torch::autograd::PostAccumulateGradHook {
public:
    explicit Hook(std::function<void()> then) : then_(std::move(then)) {}
    // torch hands over the parameter, not its gradient.
    void operator()(torch::autograd::Variable const&) override { then_(); }

private:
    std::function<void()> then_;
};

}  // namespace

void on_accumulated(at::Tensor const& parameter, std::function<void()> then) {
    torch::autograd::impl::set_post_acc_grad_hooks(parameter, std::make_unique<Hook>(std::move(then)));
}

}  // namespace hopscotch
