// SPDX-License-Identifier: Apache-2.0
#include "tensor/feed/workspace_impl.hpp"

#include <ATen/Context.h>
#include <ATen/Parallel.h>

#include "model/gpu/device.hpp"
#include "tensor/feed/device_feed.hpp"
#include "tensor/feed/torch_warnings.hpp"
#include "tensor/gpu/copy_device.hpp"
#include "tensor/gpu/norm_device.hpp"
#include "tensor/gpu/state_slots.hpp"
#include "tensor/gpu/step_graphs.hpp"
#include "tensor/gpu/step_numbers.hpp"

#ifdef HOPSCOTCH_CUDA
#include "core/log.hpp"
#include "tensor/gpu/cuda_capture.hpp"
#endif

namespace hopscotch {
namespace {

at::Device begun(std::string const& device) {
    begin_with_device(device);
    return at::Device(device);
}

template <class User>
std::unique_ptr<User> with_device(at::Device device) {
    auto gpu = make_feed_device(device);
    return gpu ? std::make_unique<User>(std::move(gpu)) : nullptr;
}

#ifdef HOPSCOTCH_CUDA
// deterministic: the same algorithm on every trainer and no atomic additions. Other operators throw, and torch's text names
// them.
void set_arithmetic(GpuMode const& mode) {
    prepare_process();  // tests have a main of their own
    auto& torch = at::globalContext();
    torch.setDeterministicCuDNN(mode.deterministic);
    torch.setBenchmarkCuDNN(false);  // Workspace::Impl::expect
    auto const precision = mode.tf32 ? at::Float32Precision::TF32 : at::Float32Precision::IEEE;
    for (auto const operation : {at::Float32Op::CONV, at::Float32Op::RNN, at::Float32Op::MATMUL})
        torch.setFloat32Precision(at::Float32Backend::CUDA, operation, precision);
    torch.setDeterministicAlgorithms(mode.deterministic, /*warn_only=*/false);
    torch.setDeterministicFillUninitializedMemory(false);  // all memory is written before it is read
}
#endif

}  // namespace

Workspace::Impl::Impl(WorkspaceSettings const& settings)
    : device(begun(settings.device)),
      stream(make_compute_stream(device)),
      old_views(device.is_cpu() ? OldViews::stay : OldViews::end),
      benchmark(!device.is_cpu() && settings.mode.benchmark),
      noise(at::globalContext().defaultGenerator(device).clone()),
      batches(at::TensorOptions(at::kCPU)),
      features{settings.feature_bytes, nullptr} {
    auto const& mode = settings.mode;
    gpu.device_feed = with_device<DeviceFeed>(device);
    gpu.slots = with_device<StateSlots>(device);
    if (mode.fused_norm) gpu.norm = make_norm_device(device);
    gpu.copies = make_copy_device(device);
    use_stream();
    if (auto allocator = make_device_allocator(device.str()))
        gpu.admission = std::make_unique<Admission>(std::move(allocator), device.str(),
                                                    [this](std::int64_t bytes) { make_room(bytes); });
    gpu.numbers = make_step_numbers(device);
    at::set_num_threads(settings.threads);
#ifdef HOPSCOTCH_CUDA
    if (device.is_cpu()) return;
    set_arithmetic(mode);
    if (!mode.graphs) return;
    auto const agreement = mode.deterministic ? Agreement::bits : Agreement::rounding;
    gpu.graphs = std::make_unique<StepGraphs>(make_cuda_capturer(device, noise.generator()), agreement,
                                              [](std::string const& text) { log_info(text); });
#endif
}

Workspace::Impl::~Impl() = default;

void Workspace::Impl::use_stream() const {
    if (stream) stream->enter();
}

void Workspace::Impl::expect(Shape shape) const {
    auto& torch = at::globalContext();  // of the process: among threads that train side by side, the last setting counts
    bool const wanted = shape == Shape::common;
    if (benchmark && torch.benchmarkCuDNN() != wanted) torch.setBenchmarkCuDNN(wanted);
}

void Workspace::Impl::steps_gather(AnswerGather const& first_batch, std::uint32_t stride) const {
    gpu.numbers->gather_from(first_batch, stride);
}

void Workspace::Impl::enter() const {
    use_stream();
    thread_local bool entered = false;
    if (entered) return;
    at::init_num_threads();
    log_torch_warnings();
    entered = true;
}

at::Tensor Workspace::Impl::block(at::Tensor& buffer, std::int64_t floats) {
    bool const moves = old_views == OldViews::end && buffer.defined() && buffer.numel() < floats;
    if (moves) ++moves_;
    if (moves && gpu.graphs) gpu.graphs->cache.drop();  // they name the old block
    return grown(buffer, floats, at::TensorOptions(device).dtype(at::kFloat), old_views);
}

at::Tensor Workspace::Impl::gradient(std::int64_t n) { return block(blocks_.gradient, n); }
at::Tensor Workspace::Impl::accumulated(std::int64_t n) { return block(blocks_.accumulated, n); }
at::Tensor Workspace::Impl::outputs(std::int64_t n) { return block(blocks_.outputs, n); }
at::Tensor Workspace::Impl::state(std::int64_t n) { return block(blocks_.state, n); }

at::Tensor Workspace::Impl::shared(std::string const& name, std::function<at::Tensor()> const& make) {
    if (auto const known = shared_.find(name); known != shared_.end())
        if (auto tensor = known->second.lock()) return at::Tensor(std::move(tensor));
    std::erase_if(shared_, [](auto const& entry) { return entry.second.expired(); });
    auto made = make();
    shared_.insert_or_assign(name, c10::weak_intrusive_ptr<at::TensorImpl, at::UndefinedTensorImpl>(made.getIntrusivePtr()));
    return made;
}

void Workspace::Impl::admit(std::int64_t state, std::int64_t gradient, BatchKind const& kind) {
    if (!gpu.admission) return;
    auto const bytes = [](std::int64_t floats) { return floats * static_cast<std::int64_t>(sizeof(float)); };
    auto const there = [](at::Tensor const& buffer) { return buffer.defined() ? buffer.numel() : 0; };
    auto const missing = [&](at::Tensor const& buffer, std::int64_t n) { return there(buffer) >= n ? 0 : bytes(n); };
    gpu.admission->admit({missing(blocks_.state, state), missing(blocks_.gradient, gradient), 0, kind.rows},
                         bytes(there(blocks_.state) + there(blocks_.gradient)), kind.model);
}

// Memory that does not belong to the trial: slots, shards, and graphs, which keep the memory of their steps.
void Workspace::Impl::make_room(std::int64_t bytes) {
    if (gpu.slots) gpu.slots->make_room(bytes);
    if (gpu.device_feed) gpu.device_feed->make_room(bytes);
    if (gpu.graphs && bytes == Admission::k_everything) gpu.graphs->cache.drop();
}

StepGraphCounts Workspace::Impl::graphs() const {
    if (!gpu.graphs) return {};
    return {gpu.graphs->cache.graphs(), gpu.graphs->cache.reasons()};
}

}  // namespace hopscotch
