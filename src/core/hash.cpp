// SPDX-License-Identifier: Apache-2.0
#include "core/hash.hpp"

#include <fmt/format.h>
#include <xxhash.h>
#ifdef HOPSCOTCH_XXHASH_DISPATCHES
#include <xxh_x86dispatch.h>  // the same names, for the widest vectors of this CPU
#endif

#include <charconv>

#include "core/error.hpp"

namespace hopscotch {

std::uint64_t xxh3(ByteView bytes, std::uint64_t seed) { return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed); }
std::uint64_t xxh64(ByteView bytes) { return XXH64(bytes.data(), bytes.size(), 0); }

struct Xxh64Stream::State {
    XXH64_state_t* raw = XXH64_createState();
    State() = default;
    ~State() { XXH64_freeState(raw); }
    State(State const&) = delete;
    State& operator=(State const&) = delete;
};

Xxh64Stream::Xxh64Stream() : state_(std::make_unique<State>()) { XXH64_reset(state_->raw, 0); }
Xxh64Stream::~Xxh64Stream() = default;
void Xxh64Stream::update(ByteView bytes) { XXH64_update(state_->raw, bytes.data(), bytes.size()); }
std::uint64_t Xxh64Stream::digest() const { return XXH64_digest(state_->raw); }

struct Xxh3Stream::State {
    XXH3_state_t* raw = XXH3_createState();
    State() = default;
    ~State() { XXH3_freeState(raw); }
    State(State const&) = delete;
    State& operator=(State const&) = delete;
};

Xxh3Stream::Xxh3Stream(std::uint64_t seed) : state_(std::make_unique<State>()) {
    XXH3_64bits_reset_withSeed(state_->raw, seed);
}
Xxh3Stream::~Xxh3Stream() = default;
void Xxh3Stream::update(ByteView bytes) { XXH3_64bits_update(state_->raw, bytes.data(), bytes.size()); }
std::uint64_t Xxh3Stream::digest() const { return XXH3_64bits_digest(state_->raw); }

std::string to_hex(std::uint64_t value) { return fmt::format("{:016x}", value); }

std::uint64_t from_hex(std::string_view text) {
    std::uint64_t value = 0;
    auto const [end, code] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    require(code == std::errc{} && text.size() == 16 && end == text.data() + text.size(),
            fmt::format("'{}' is not a hash (a hash has sixteen hex digits)", text));
    return value;
}

}  // namespace hopscotch
