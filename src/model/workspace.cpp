// SPDX-License-Identifier: Apache-2.0
#include "model/workspace.hpp"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>

namespace hopscotch {
namespace {

at::Tensor grown(at::Tensor& buffer, std::int64_t n, at::TensorOptions const& options) {
    // A buffer that grows during inference serves autograd later, which refuses inference tensors.
    c10::InferenceMode const ordinary(false);
    if (!buffer.defined() || buffer.numel() < n) buffer = at::empty({n}, options);
    return buffer.narrow(0, 0, n);
}

at::TensorOptions host(at::Device device, at::ScalarType type) {
    return at::TensorOptions(at::kCPU).dtype(type).pinned_memory(!device.is_cpu());
}

}  // namespace

Workspace::Impl::Impl(std::string const& device_name, int threads)
    : device(device_name), noise(at::globalContext().defaultGenerator(device).clone()) {
    at::set_num_threads(threads);
    // Only matters on a GPU: the same algorithm on every trainer, and fp32 that is fp32.
    at::globalContext().setDeterministicCuDNN(true);
    at::globalContext().setBenchmarkCuDNN(false);
    at::globalContext().setAllowTF32CuDNN(false);
}

void Workspace::Impl::enter() const {
    thread_local bool entered = false;
    if (!entered) at::init_num_threads();
    entered = true;
}

at::Tensor Workspace::Impl::gradient(std::int64_t n) {
    return grown(gradient_, n, at::TensorOptions(device).dtype(at::kFloat));
}
at::Tensor Workspace::Impl::accumulated(std::int64_t n) {
    return grown(accumulated_, n, at::TensorOptions(device).dtype(at::kFloat));
}
at::Tensor Workspace::Impl::features(std::int64_t n) { return grown(features_, n, host(device, at::kFloat)); }
at::Tensor Workspace::Impl::labels(std::int64_t n) { return grown(labels_, n, host(device, at::kLong)); }
at::Tensor Workspace::Impl::targets(std::int64_t n) { return grown(targets_, n, host(device, at::kFloat)); }

Workspace::Workspace(std::string device, int threads) : impl_(std::make_unique<Impl>(device, threads)) {}
Workspace::~Workspace() = default;

}  // namespace hopscotch
