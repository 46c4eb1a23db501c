// SPDX-License-Identifier: Apache-2.0
#include "model/workspace.hpp"

#include <ATen/Context.h>
#include <ATen/Parallel.h>

namespace hopscotch {
namespace {

std::unique_ptr<DeviceFeed> make_device_feed(at::Device device) {
    auto gpu = make_feed_device(device);
    return gpu ? std::make_unique<DeviceFeed>(std::move(gpu)) : nullptr;
}

}  // namespace

Workspace::Impl::Impl(std::string const& device_name, int threads)
    : device(device_name), noise(at::globalContext().defaultGenerator(device).clone()),
      batches(at::TensorOptions(at::kCPU)),
      device_feed(make_device_feed(device)) {
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

Workspace::Workspace(std::string device, int threads) : impl_(std::make_unique<Impl>(device, threads)) {}
Workspace::~Workspace() = default;

}  // namespace hopscotch
