// SPDX-License-Identifier: Apache-2.0
// The encoder of all messages: fixed-width little-endian numbers; strings and vectors with their length in front. A struct
// lists its fields once for both directions: `template <class Archive> void fields(Archive& archive, S& s) { archive(s.a,
// s.b); }`.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "core/byte_view.hpp"
#include "core/error.hpp"
#include "core/ids.hpp"

namespace hopscotch {

template <class T>
concept Plain = std::is_arithmetic_v<T> || std::is_enum_v<T>;

class Encoder {
public:
    template <class... Fields>
    void operator()(Fields&... values) {
        (put(values), ...);
    }
    Bytes take() {
        bytes_.resize(end_);
        return std::move(bytes_);
    }

private:
    void raw(void const* data, std::size_t size) {
        if (size == 0) return;
        if (bytes_.size() - end_ < size) grow(size);
        std::memcpy(bytes_.data() + end_, data, size);
        end_ += size;
    }
    void grow(std::size_t size);
    template <Plain T>
    void put(T& value) {
        raw(&value, sizeof value);
    }
    template <class Tag>
    void put(Id<Tag>& id) {
        put(id.value);
    }
    void put(std::string& text) {
        auto size = static_cast<std::uint64_t>(text.size());
        put(size);
        raw(text.data(), text.size());
    }
    template <class T>
    void put(std::vector<T>& items) {
        auto size = static_cast<std::uint64_t>(items.size());
        put(size);
        if constexpr (Plain<T> || std::is_same_v<T, std::byte>)
            raw(items.data(), items.size() * sizeof(T));
        else
            for (auto& item : items) put(item);
    }
    template <class T>
        requires std::is_class_v<T>
    void put(T& value) {
        fields(*this, value);
    }

    Bytes bytes_;  // with room behind the end
    std::size_t end_ = 0;
};

// Throws CommError on a message that is too short, or has a truth value other than 0 and 1.
class Decoder {
public:
    explicit Decoder(ByteView bytes) : bytes_(bytes) {}
    template <class... Fields>
    void operator()(Fields&... values) {
        (get(values), ...);
    }
    bool empty() const { return bytes_.empty(); }  // all has been read

private:
    void raw(void* data, std::size_t size) {
        if (size > bytes_.size()) throw_too_short();
        if (size > 0) std::memcpy(data, bytes_.data(), size);
        bytes_ = bytes_.subspan(size);
    }
    [[noreturn]] static void throw_too_short();
    std::size_t length(std::size_t item_bytes);
    template <Plain T>
    void get(T& value) {
        raw(&value, sizeof value);
    }
    void get(bool& value);  // no byte but 0 and 1 may ever lie in a bool
    template <class Tag>
    void get(Id<Tag>& id) {
        get(id.value);
    }
    void get(std::string& text) {
        text.resize(length(1));
        raw(text.data(), text.size());
    }
    template <class T>
    void get(std::vector<T>& items) {
        items.resize(length(Plain<T> ? sizeof(T) : 1));
        if constexpr (Plain<T> || std::is_same_v<T, std::byte>)
            raw(items.data(), items.size() * sizeof(T));
        else
            for (auto& item : items) get(item);
    }
    template <class T>
        requires std::is_class_v<T>
    void get(T& value) {
        fields(*this, value);
    }

    ByteView bytes_;
};

template <class T>
Bytes encode(T const& value) {
    Encoder encoder;
    encoder(const_cast<T&>(value));  // an Encoder only reads the fields
    return encoder.take();
}

template <class T>
T decode(ByteView bytes) {
    T value{};
    Decoder decoder(bytes);
    decoder(value);
    return value;
}

}  // namespace hopscotch
