// SPDX-License-Identifier: Apache-2.0
// The kernels of a step, on the host. late: they run when finish() is called, in order, as on a stream that is behind the
// host.
#pragma once
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "model/gpu/update_element.hpp"
#include "tensor/gpu/step_device.hpp"

namespace hopscotch::testing {

class HostStepDevice final : public StepDevice {
public:
    enum class When { at_once, late };
    explicit HostStepDevice(When when = When::at_once) : when_(when) {}

    void write(void* to, ByteView values) override {
        require(values.size() <= k_most_written, "more than a kernel's arguments hold");
        launch([to, copy = Bytes(values.begin(), values.end())] { std::memcpy(to, copy.data(), copy.size()); });
    }
    void gather(StepBlock const* block, GatherSize const& size) override {
        launch([block, size] {
            auto const g = due_batch(*block, size.rows);
            auto const& f = g.features;
            require(f.row_size == size.row_size && g.width == size.answers, "a launch of another shape");
            for (std::uint32_t i = 0; i < size.rows; ++i) {
                for (std::uint32_t e = 0; e < f.row_size; ++e) f.out[std::size_t{i} * f.row_size + e] = feature_at(f, i, e);
                for (std::uint32_t a = 0; a < g.width; ++a) write_answer(g, i, a);
            }
        });
    }
    void update(FlatUpdate const& update) override {
        launch([update] {
            auto const now = due_update(*update.block);
            for (std::size_t i = 0; i < update.size; ++i) update_element(update, i, now);
        });
    }
    void advance(StepBlock* block) override {
        launch([block] { ++block->launch.step; });
    }
    void finish() {
        for (auto const& work : std::exchange(queued_, {})) work();
    }
    int launches() const { return launches_; }

private:
    void launch(std::function<void()> work) {
        ++launches_;
        if (when_ == When::late) return queued_.push_back(std::move(work));
        work();
    }
    When when_;
    int launches_ = 0;
    std::vector<std::function<void()>> queued_;
};

}  // namespace hopscotch::testing
