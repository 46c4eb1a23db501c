// SPDX-License-Identifier: Apache-2.0
// Graphs on a CPU: the fake capturer keeps the work, and a replay does it again, on the memory that it was captured with.
#pragma once
#include <c10/util/Exception.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "model/host_step_device.hpp"
#include "model/late_device.hpp"
#include "tensor/feed/device_feed.hpp"
#include "tensor/feed/workspace_impl.hpp"
#include "tensor/gpu/step_graphs.hpp"
#include "tensor/gpu/step_numbers.hpp"

namespace hopscotch::testing {

struct Watched {
    int captures = 0, replays = 0, given_back = 0, out_of_memory = 0;  // the last: this many captures find no memory
    std::vector<std::string> said;
    std::function<void()> harm;  // after each replay
};

struct FakeGraph final : Graph {
    FakeGraph(Watched& watched, std::function<void()> work) : watched_(watched), work_(std::move(work)) {}
    void replay() override {
        ++watched_.replays;
        work_();
        if (watched_.harm) watched_.harm();
    }
    Watched& watched_;
    std::function<void()> work_;
};

struct FakeCapturer final : GraphCapturer {
    explicit FakeCapturer(Watched& watched) : watched_(watched) {}
    std::unique_ptr<Graph> capture(std::function<void()> const& work) override {
        ++watched_.captures;
        if (watched_.out_of_memory > 0) {
            --watched_.out_of_memory;
            throw c10::OutOfMemoryError({__func__, __FILE__, __LINE__}, "CUDA out of memory. Tried to allocate 2.00 MiB.");
        }
        return std::make_unique<FakeGraph>(watched_, work);
    }
    void give_back_memory() override { ++watched_.given_back; }
    Watched& watched_;
};

// Numbers come from memory, as on a GPU, and steps are launched kernel by kernel.
inline std::shared_ptr<Workspace> with_numbers() {
    auto workspace = std::make_shared<Workspace>("cpu", 1);
    workspace->impl().gpu.numbers = std::make_unique<StepNumbers>(std::make_unique<HostStepDevice>(), at::kCPU);
    return workspace;
}

// The same, and shards lie on the device.
inline std::shared_ptr<Workspace> with_shards() {
    auto workspace = with_numbers();
    constexpr std::int64_t plenty = std::int64_t{1} << 30;
    auto device = std::make_unique<LateDevice>(DeviceMemory{plenty, plenty}, /*eager=*/1, 1);
    workspace->impl().gpu.device_feed = std::make_unique<DeviceFeed>(std::move(device));
    return workspace;
}

inline std::shared_ptr<Workspace> captured_in(std::shared_ptr<Workspace> workspace, Watched& watched,
                                              Agreement agreement = Agreement::bits) {
    workspace->impl().gpu.graphs = std::make_unique<StepGraphs>(
        std::make_unique<FakeCapturer>(watched), agreement, [&](std::string const& text) { watched.said.push_back(text); });
    return workspace;
}

inline std::shared_ptr<Workspace> with_graphs(Watched& watched, Agreement agreement = Agreement::bits) {
    return captured_in(with_numbers(), watched, agreement);
}

}  // namespace hopscotch::testing
