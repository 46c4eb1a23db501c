// SPDX-License-Identifier: Apache-2.0
#include "view/event_record.hpp"

#include <array>
#include <bit>

namespace hopscotch {
namespace {

constexpr auto k_crc_table = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < 256; ++i) {
        table[i] = i;
        for (int bit = 0; bit < 8; ++bit) table[i] = (table[i] >> 1) ^ ((table[i] & 1) != 0 ? 0x82f63b78U : 0U);
    }
    return table;
}();

std::uint32_t masked(std::uint32_t crc) { return std::rotr(crc, 15) + 0xa282ead8U; }

template <class T>
void put_little_endian(std::string& out, T value) {
    for (std::size_t i = 0; i < sizeof value; ++i) out += static_cast<char>(value >> (8 * i));
}

// Protobuf's wire format.
class ProtoMessage {
public:
    ProtoMessage& varint(unsigned field, std::uint64_t value) {
        key(field, 0);
        put_varint(value);
        return *this;
    }
    ProtoMessage& real64(unsigned field, double value) {
        key(field, 1);
        put_little_endian(bytes_, std::bit_cast<std::uint64_t>(value));
        return *this;
    }
    ProtoMessage& real32(unsigned field, float value) {
        key(field, 5);
        put_little_endian(bytes_, std::bit_cast<std::uint32_t>(value));
        return *this;
    }
    ProtoMessage& text(unsigned field, std::string_view value) {
        key(field, 2);
        put_varint(value.size());
        bytes_ += value;
        return *this;
    }
    ProtoMessage& message(unsigned field, ProtoMessage const& value) { return text(field, value.bytes_); }

    std::string const& bytes() const { return bytes_; }

private:
    void key(unsigned field, unsigned type) { put_varint(field << 3 | type); }
    void put_varint(std::uint64_t value) {
        for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
        bytes_ += static_cast<char>(value);
    }

    std::string bytes_;
};

// Field numbers of TensorFlow's event.proto, summary.proto and tensor.proto, and of plugin_data.proto of TensorBoard.
namespace event_field {
constexpr unsigned wall_time = 1, step = 2, file_version = 3, summary = 5, session_log = 7;
}
namespace value_field {
constexpr unsigned tag = 1, simple_value = 2, tensor = 8, metadata = 9;
}
namespace session_field {
constexpr unsigned start_info = 3, end_info = 4;
}

std::string framed(ProtoMessage const& message) {
    std::string out;
    put_little_endian<std::uint64_t>(out, message.bytes().size());
    put_little_endian(out, masked(crc32c(out)));
    out += message.bytes();
    put_little_endian(out, masked(crc32c(message.bytes())));
    return out;
}

ProtoMessage event_at(double unix_s) {
    ProtoMessage out;
    out.real64(event_field::wall_time, unix_s);
    return out;
}

// The HParams tab reads the metadata alone, but a value must have a tensor: of float32, with no elements.
std::string session_event(double unix_s, std::string_view tag, ProtoMessage const& content) {
    auto const plugin_data = ProtoMessage().text(1, "hparams").text(2, content.bytes());
    auto const no_elements = ProtoMessage().varint(1, 1).message(2, ProtoMessage().message(2, ProtoMessage()));
    auto const of_tag = ProtoMessage()
                            .text(value_field::tag, tag)
                            .message(value_field::tensor, no_elements)
                            .message(value_field::metadata, ProtoMessage().message(1, plugin_data));
    return framed(event_at(unix_s).message(event_field::summary, ProtoMessage().message(1, of_tag)));
}

// google.protobuf.Value
ProtoMessage parameter_value(Json const& json) {
    if (json.is_number()) return ProtoMessage().real64(2, json.number());
    if (json.is_bool()) return ProtoMessage().varint(4, json.boolean() ? 1 : 0);
    return ProtoMessage().text(3, json.is_string() ? json.string() : json.dump());
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
    std::uint32_t crc = ~0U;
    for (char const c : bytes) crc = (crc >> 8) ^ k_crc_table[(crc ^ static_cast<unsigned char>(c)) & 0xff];
    return ~crc;
}

std::string first_events(double unix_s) {
    constexpr std::uint64_t k_start = 1;
    return framed(event_at(unix_s).text(event_field::file_version, "brain.Event:2")) +
           framed(event_at(unix_s).message(event_field::session_log, ProtoMessage().varint(1, k_start)));
}

std::string scalars_event(double unix_s, std::int64_t step, std::span<EventScalar const> scalars) {
    ProtoMessage summary;
    for (auto const& scalar : scalars)
        summary.message(1, ProtoMessage()
                               .text(value_field::tag, scalar.tag)
                               .real32(value_field::simple_value, static_cast<float>(scalar.value)));
    auto out = event_at(unix_s);
    if (step != 0) out.varint(event_field::step, static_cast<std::uint64_t>(step));  // protobuf leaves zeros out
    return framed(out.message(event_field::summary, summary));
}

std::string trial_start_event(double unix_s, Assignment const& assignment, std::string_view group) {
    ProtoMessage info;
    for (auto const& [path, json] : assignment)
        info.message(1, ProtoMessage().text(1, path).message(2, parameter_value(json)));
    if (!group.empty()) info.text(4, group);
    info.real64(5, unix_s);
    return session_event(unix_s, "_hparams_/session_start_info", ProtoMessage().message(session_field::start_info, info));
}

std::string trial_end_event(double unix_s, EventStatus status) {
    auto const info = ProtoMessage().varint(1, static_cast<std::uint64_t>(status)).real64(2, unix_s);
    return session_event(unix_s, "_hparams_/session_end_info", ProtoMessage().message(session_field::end_info, info));
}

}  // namespace hopscotch
