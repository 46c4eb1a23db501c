// SPDX-License-Identifier: Apache-2.0
// Trains convolutions of many shapes in both layouts, with guarded memory, and compares them with double precision. It finds
// the shapes that tensor/network/image_layout.cpp must list.
//   convolution_sweep [--bare]     --bare: by LibTorch alone, without the choice of a layout
// HOPSCOTCH_LONG: 15,360 shapes instead of 396. Child processes run the cases, so that a case that ends its process is one
// finding of several.
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "guarded_memory.hpp"
#include "tensor/network/layers.hpp"

namespace hopscotch::testing {
namespace {

constexpr double k_largest_error = 1e-5;  // of the largest value. All numbers are positive, so no sum is small by chance

enum class Way { product, bare };

struct Case {
    std::int64_t rows, in, out, side, kernel, stride, groups;
    bool channels_last;

    void print(char const* finding) const {
        std::printf("%s: rows %lld, channels %lld to %lld, image %lld, kernel %lld, stride %lld, groups %lld, %s\n", finding,
                    static_cast<long long>(rows), static_cast<long long>(in), static_cast<long long>(out),
                    static_cast<long long>(side), static_cast<long long>(kernel), static_cast<long long>(stride),
                    static_cast<long long>(groups), channels_last ? "channels last" : "channels first");
        std::fflush(stdout);
    }
};

std::vector<std::int64_t> channels(bool all) {
    std::vector<std::int64_t> out;
    for (std::int64_t c = 1; c <= 33; ++c)
        if (all || c <= 9 || c == 12 || c == 16 || c == 17 || c == 32 || c == 33) out.push_back(c);
    return out;
}

// One convolution over all channels, one for each channel, and one for each half of the channels.
std::vector<std::int64_t> groups_of(std::int64_t in) {
    std::vector<std::int64_t> out{1};
    if (in > 1) out.push_back(in);
    if (in > 2 && in % 2 == 0) out.push_back(2);
    return out;
}

std::vector<Case> cases(bool all) {
    using Sizes = std::vector<std::int64_t>;
    std::vector<Case> out;
    for (bool const last : {true, false})
        for (std::int64_t const kernel : all ? Sizes{1, 3, 5, 7} : Sizes{1, 3, 5})
            for (std::int64_t const stride : all ? Sizes{1, 2, 3} : Sizes{1, 2})
                for (auto const in : channels(all))
                    for (auto const groups : groups_of(in))
                        for (std::int64_t const per_group : all ? Sizes{1, 4, 8, 20} : Sizes{4})
                            for (std::int64_t const side : all ? Sizes{7, 16} : Sizes{16})
                                out.push_back(
                                    {14, in, groups == in ? in : per_group * groups, side, kernel, stride, groups, last});
    return out;
}

struct Tensors {
    at::Tensor images, weights;
};
using Results = std::array<at::Tensor, 3>;  // outputs, gradient of the images, gradient of the weights

at::Tensor as_layout(at::Tensor const& x, bool channels_last) {
    return channels_last ? x.contiguous(at::MemoryFormat::ChannelsLast) : x;
}

at::Tensor convolved(Case const& c, Way way, at::Tensor const& images, at::Tensor const& weights) {
    Conv const geometry{
        .out = c.out, .kernel = c.kernel, .stride = c.stride, .padding = c.kernel / 2, .groups = c.groups, .bias = false};
    Modules modules;
    ImageShape shape{c.in, c.side, c.side};
    Conv2d layer(Scope{modules, ""}, shape, geometry);
    layer.weight = &weights;
    if (way == Way::bare) layer.channels_last_is_safe = true;
    return layer(images);
}

Results trained(Case const& c, Way way, Tensors const& tensors) {
    auto const images = as_layout(tensors.images, c.channels_last).detach().clone().requires_grad_();
    auto const weights = tensors.weights.detach().clone().requires_grad_();
    auto const outputs = convolved(c, way, images, weights);
    outputs.backward(as_layout(at::ones(outputs.sizes(), outputs.options()), c.channels_last));
    return {outputs.detach(), images.grad(), weights.grad()};
}

// The largest error of outputs and gradients, as a part of the largest value.
double error_of(Case const& c, Way way) {
    at::manual_seed(1);
    Tensors const tensors{at::rand({c.rows, c.in, c.side, c.side}), at::rand({c.out, c.in / c.groups, c.kernel, c.kernel})};
    auto const found = trained(c, way, tensors);
    auto in_double = c;
    in_double.channels_last = false;
    auto const exact = trained(in_double, Way::bare, {tensors.images.to(at::kDouble), tensors.weights.to(at::kDouble)});
    double worst = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
        auto const difference = found[i].to(at::kDouble).sub(exact[i]).abs().max().item<double>();
        auto const error = difference / exact[i].abs().max().item<double>();
        worst = error <= worst ? worst : error;  // NaN is the worst
    }
    return worst;
}

// What the child processes tell.
struct Progress {
    std::size_t next = 0, wrong = 0;
};

// Guarded memory takes each address but once, so a child ends before it has used them up.
constexpr std::size_t k_cases_of_child = 2000;

void run_some(Progress& progress, std::vector<Case> const& all, Way way) {
    auto const end = std::min(all.size(), progress.next + k_cases_of_child);
    for (; progress.next < end; ++progress.next) {
        if (error_of(all[progress.next], way) <= k_largest_error) continue;
        ++progress.wrong;
        all[progress.next].print("wrong values");
    }
}

int sweep(std::vector<Case> const& all, Way way) {
    auto& progress = *static_cast<Progress*>(
        ::mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    std::size_t ended = 0;
    while (progress.next < all.size()) {
        auto const begun = progress.next;
        auto const child = ::fork();
        if (child == 0) {
            run_some(progress, all, way);
            ::_exit(0);
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        if (progress.next == std::min(all.size(), begun + k_cases_of_child)) continue;
        ++ended;
        all[progress.next++].print(WIFSIGNALED(status) ? ::strsignal(WTERMSIG(status)) : "the process ended");
    }
    std::printf("%zu convolutions: %zu ended the process, %zu had wrong values\n", all.size(), ended, progress.wrong);
    return ended + progress.wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace hopscotch::testing

int main(int argc, char** argv) {
    using namespace hopscotch::testing;
    auto way = Way::product;
    bool const all = std::getenv("HOPSCOTCH_LONG") != nullptr;
    for (int i = 1; i < argc; ++i) {
        std::string_view const argument = argv[i];
        if (argument != "--bare") return std::fprintf(stderr, "unknown argument %s\n", argv[i]), 2;
        way = Way::bare;
    }
    if (!memory_is_guarded()) return std::fprintf(stderr, "the memory is not guarded: posix_memalign is another\n"), 2;
    at::set_num_threads(1);
    return sweep(cases(all), way);
}
