// SPDX-License-Identifier: Apache-2.0
#include "tensor/gpu/cuda_capture.hpp"

#include <ATen/core/CachingHostAllocator.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/version.h>

#include <chrono>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "core/clock.hpp"
#include "core/error.hpp"
#include "tensor/gpu/device_allocator.hpp"

namespace hopscotch {
namespace {

#if TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR < 15
// Torch's graph, with recovery from a failed capture. capture_end() alone leaves generators in capture, so all later noise
// throws, and the allocator keeps deferring frees.
class TorchGraph : public at::cuda::CUDAGraph {
public:
    void register_noise(at::Generator const& noise) { register_generator_state(noise); }

    // Generators without draws: torch would launch two kernels for each before every replay. And all threads of the process
    // share torch's own generator, and may drop their graphs while another thread captures.
    void forget_idle_generators() {
        std::vector<c10::intrusive_ptr<at::CUDAGeneratorState>> idle;
        for (auto const& [state, increment] : captured_generator_states_)
            if (increment == 0) idle.push_back(state);
        for (auto const& state : idle) {
            state->registered_graphs_.erase(this);
            captured_generator_states_.erase(state);
        }
    }

    void abandon() noexcept {
        for (auto& [state, increment] : captured_generator_states_) state->capturing_ = false;
        if (capture_ended_ || mempool_id_ == c10::MempoolId_t{0, 0}) return;
        attempt([&] { c10::cuda::CUDACachingAllocator::endAllocateToPool(capture_dev_, mempool_id_); });
        attempt([&] { c10::cuda::CUDACachingAllocator::releasePool(capture_dev_, mempool_id_); });
        // The host's allocator would still ask this graph when it is gone, and refuse every later capture into the pool.
        attempt([&] { at::getHostAllocator(at::kCUDA)->end_allocate_to_pool(mempool_id_); });
        attempt([&] { at::getHostAllocator(at::kCUDA)->release_pool(mempool_id_); });
        static_cast<void>(cudaGetLastError());  // it has been reported; otherwise the next launch would be blamed
    }

private:
    template <class Work>
    static void attempt(Work const& work) noexcept {
        try {
            work();
        } catch (std::exception const&) {  // it was done already
        }
    }
};
#else
// A graph registers a generator when something is drawn from it, and finds its own way back from a capture that failed.
class TorchGraph : public at::cuda::CUDAGraph {
public:
    void register_noise(at::Generator const&) {}
    void forget_idle_generators() {}
    void abandon() noexcept {
        reset();
        static_cast<void>(cudaGetLastError());  // it has been reported; otherwise the next launch would be blamed
    }
};
#endif

// One pool of memory for all graphs: they run one after the other and keep nothing in it. When the last one has gone torch
// drops the pool, so the next graph begins another.
struct Pool {
    c10::MempoolId_t id{};
    int graphs = 0;
};

class CapturedGraph final : public Graph {
public:
    explicit CapturedGraph(std::shared_ptr<Pool> pool) : pool_(std::move(pool)) { ++pool_->graphs; }
    ~CapturedGraph() override { --pool_->graphs; }
    void replay() override { graph.replay(); }

private:
    struct Change {
        ~Change() { graphs_have_changed(); }
    };
    Change change_;  // at its end the graph has given its memory back

public:
    TorchGraph graph;

private:
    std::shared_ptr<Pool> pool_;
};

constexpr double k_idle_within_s = 10;

// Every capture also registers torch's own generator, which all threads of the process share, so only one capture may happen
// at a time.
std::mutex& one_at_a_time() {
    static std::mutex mutex;
    return mutex;
}

// On the workspace's own stream, where the steps before ran: libraries keep workspaces for each stream, and gradients belong
// to the stream of their forward pass.
class CudaCapturer final : public GraphCapturer {
public:
    CudaCapturer(at::Device device, at::Generator noise) : device_(device), noise_(std::move(noise)) {}

    std::unique_ptr<Graph> capture(std::function<void()> const& work) override {
        std::lock_guard const alone(one_at_a_time());
        c10::cuda::CUDAGuard const device(device_);
        if (pool_->graphs == 0) pool_->id = at::cuda::graph_pool_handle();
        auto captured = std::make_unique<CapturedGraph>(pool_);
        auto& graph = captured->graph;
        try {
            graph.register_noise(noise_);
            // Of this thread: trainers that are threads of one process may allocate meanwhile.
            graph.capture_begin(pool_->id, cudaStreamCaptureModeThreadLocal);
        } catch (...) {
            graph.abandon();
            throw;
        }
        finish(graph, work);
        graphs_have_changed();
        graph.forget_idle_generators();
        return captured;
    }

    // The driver waits for all of the device, without a deadline.
    void give_back_memory() override {
        std::lock_guard const alone(one_at_a_time());
        c10::cuda::CUDAGuard const device(device_);
        auto const deadline = monotonic_s() + k_idle_within_s;
        while (!c10::cuda::getCurrentCUDAStream(device_.index()).query()) {
            if (monotonic_s() > deadline)
                throw Error(
                    "memory is short, and the GPU's work has not ended within 10 s; see whether nvidia-smi answers there");
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        c10::cuda::CUDACachingAllocator::emptyCache();
    }

private:
    // Ends the capture of the stream, whatever the work throws.
    static void finish(TorchGraph& graph, std::function<void()> const& work) {
        std::exception_ptr thrown;
        try {
            work();
        } catch (...) {
            thrown = std::current_exception();
        }
        try {
            graph.capture_end();
        } catch (...) {
            if (!thrown) thrown = std::current_exception();  // otherwise it is a consequence
        }
        if (!thrown) return;
        graph.abandon();
        std::rethrow_exception(thrown);
    }

    at::Device device_;
    at::Generator noise_;
    std::shared_ptr<Pool> pool_ = std::make_shared<Pool>();
};

}  // namespace

std::unique_ptr<GraphCapturer> make_cuda_capturer(at::Device device, at::Generator const& noise) {
    return std::make_unique<CudaCapturer>(device, noise);
}

}  // namespace hopscotch
