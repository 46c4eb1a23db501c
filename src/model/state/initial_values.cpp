// SPDX-License-Identifier: Apache-2.0
#include "model/state/initial_values.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <system_error>
#include <thread>
#include <vector>

#include "core/error.hpp"
#include "core/rng.hpp"
#include "core/unit_parts.hpp"
#include "experiment/config.hpp"
#include "model/state/layout.hpp"

namespace hopscotch {
namespace {

constexpr std::size_t k_values_a_piece = std::size_t{1} << 16;

// Values of one parameter, and the place in the stream where their draws begin.
struct Piece {
    Init const* init;
    std::span<float> values;
    Rng rng;
};

// Words of the stream that each value takes. None: the number varies, because a truncated value beyond 2 is drawn again.
// Narrow distributions never reach 2: normal() is below 8.6.
std::optional<std::uint64_t> words_a_value(Init const& init) {
    require(init.kind != Init::Kind::torch_linear && init.kind != Init::Kind::kaiming_fan_out, "an Init without its fan");
    switch (init.kind) {
        case Init::Kind::constant: return 0;
        case Init::Kind::uniform: return 2;
        case Init::Kind::normal: return 4;
        default: return init.value * 8.6 < 2 ? std::optional<std::uint64_t>(4) : std::nullopt;
    }
}

void draw(Init const& init, std::span<float> values, Rng& rng) {
    if (init.kind == Init::Kind::constant) {
        std::ranges::fill(values, static_cast<float>(init.value));
        return;
    }
    auto const next = [&]() -> double {
        switch (init.kind) {
            case Init::Kind::uniform: return init.value * (2.0 * rng.uniform() - 1.0);
            case Init::Kind::normal: return init.value * rng.normal();
            default:  // truncated
                for (;;)
                    if (double const x = init.value * rng.normal(); std::abs(x) <= 2) return x;
        }
    };
    for (auto& value : values) value = static_cast<float>(next());
}

// Adds the pieces of these values, and moves the stream past them.
void cut(Init const& init, std::span<float> values, std::uint64_t words, Rng& rng, std::vector<Piece>& pieces) {
    for (std::size_t at = 0; at < values.size(); at += k_values_a_piece) {
        auto const size = std::min(k_values_a_piece, values.size() - at);
        pieces.push_back({&init, values.subspan(at, size), rng});
        rng.skip(words * size);
    }
}

// Each thread takes the next piece until there is none.
void draw_all(std::vector<Piece>& pieces, int threads) {
    std::atomic<std::size_t> next = 0;
    auto const draw_some = [&] {
        for (auto i = next++; i < pieces.size(); i = next++) draw(*pieces[i].init, pieces[i].values, pieces[i].rng);
    };
    std::vector<std::jthread> others;
    try {
        for (int i = 1; i < std::min(threads, static_cast<int>(pieces.size())); ++i) others.emplace_back(draw_some);
    } catch (std::system_error const&) {  // no further thread is available: fewer threads draw the same values
    }
    draw_some();
}

std::span<float> floats_in(MutableBytes state, StateTensor const& tensor) {
    return {reinterpret_cast<float*>(state.data() + tensor.offset), tensor.bytes / sizeof(float)};
}

void draw_parameters(MutableBytes state, StateLayout const& layout, LayoutRequest const& request, Rng rng, int threads) {
    std::vector<Piece> pieces;
    for (std::size_t i = 0; i < request.parameters.size(); ++i) {
        auto const& spec = request.parameters[i];
        if (!request.frozen.empty() && request.frozen[i]) continue;
        bool const zero = spec.init.value == 0 && !std::signbit(spec.init.value);  // as the memory is
        if (spec.init.kind == Init::Kind::constant && zero) continue;
        auto const values = floats_in(state, layout.find(spec.name));
        if (auto const words = words_a_value(spec.init))
            cut(spec.init, values, *words, rng, pieces);
        else
            draw(spec.init, values, rng);
    }
    draw_all(pieces, threads);
}

void copy_to_averages(MutableBytes state, StateLayout const& layout, LayoutRequest const& request) {
    for (std::size_t i = 0; i < request.parameters.size(); ++i) {
        auto const& name = request.parameters[i].name;
        if (!request.frozen.empty() && request.frozen[i]) continue;
        std::ranges::copy(floats_in(state, layout.find(name)),
                          floats_in(state, layout.find(slot_name(name, k_ema_slot))).begin());
    }
}

}  // namespace

void initialise_state(MutableBytes state, StateLayout const& layout, LayoutRequest const& request, std::uint64_t key,
                      int threads) {
    PartTimer const timing(UnitPart::draw);
    check_block(state, layout);
    std::memset(state.data(), 0, state.size());
    draw_parameters(state, layout, request, Rng(key), threads);
    if (request.train.ema > 0) copy_to_averages(state, layout, request);
    for (auto const& buffer : request.buffers) {
        auto const& tensor = layout.find(buffer.name);
        if (buffer.element == Element::float32)
            std::ranges::fill(floats_in(state, tensor), static_cast<float>(buffer.value));
        else
            std::fill_n(reinterpret_cast<std::int64_t*>(state.data() + tensor.offset), tensor.bytes / sizeof(std::int64_t),
                        static_cast<std::int64_t>(buffer.value));
    }
    if (auto const counters = counters_of(state, layout); counters.plateau_best != nullptr)
        *counters.plateau_best = std::bit_cast<std::int64_t>(std::numeric_limits<double>::infinity());
}

}  // namespace hopscotch
