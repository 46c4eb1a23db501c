// SPDX-License-Identifier: Apache-2.0
#include "rundir/unit_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>

#include "core/durable_file.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "rundir/journal_codec.hpp"

namespace hopscotch {
namespace {

static_assert(std::endian::native == std::endian::little, "unit files are little-endian");

using Magic = std::array<char, 8>;
constexpr Magic k_unit_magic{'H', 'O', 'P', 'U', 'N', 'I', 'T', '2'};
constexpr Magic k_gpu_magic{'H', 'O', 'P', 'U', 'N', 'I', 'T', '3'};      // also with gpu_use
constexpr Magic k_earlier_magic{'H', 'O', 'P', 'U', 'N', 'I', 'T', '1'};  // without cpu_s

struct BlockHead {
    Magic magic = k_unit_magic;
    std::int32_t trial = 0, epoch = 0, attempt = 0, units = 0;
};
static_assert(sizeof(BlockHead) == 24);

struct PackedUnit {
    std::int32_t shard = 0, trainer = 0;
    std::int64_t rows = 0;
    double loss_sum = 0, start_unix_s = 0, seconds = 0, wait_s = 0;
    std::uint64_t state_hash = 0;
    double cpu_s = -1;
    double gpu_use = -1;
};
static_assert(sizeof(PackedUnit) == 72);
constexpr std::size_t k_earlier_unit = 56, k_unit = 64;  // a shorter one lacks the last fields

PackedUnit packed(UnitRecord const& unit) {
    return {unit.shard.value, unit.trainer.value, unit.rows,       unit.loss_sum, unit.start_unix_s,
            unit.seconds,     unit.wait_s,        unit.state_hash, unit.cpu_s,    unit.gpu_use};
}

UnitRecord unpacked(PackedUnit const& unit) {
    if (unit.shard < 0 || unit.trainer < 0 || unit.trainer > k_most_trainers || unit.rows < 0)
        throw Error(fmt::format("shard {}, trainer {}, {} rows cannot be", unit.shard, unit.trainer, unit.rows));
    return {ShardId(unit.shard), TrainerId(unit.trainer), unit.rows,  unit.loss_sum, unit.start_unix_s, unit.seconds,
            unit.wait_s,         unit.state_hash,         unit.cpu_s, unit.gpu_use};
}

std::size_t bytes_of_unit(Magic const& magic) {
    if (magic == k_unit_magic) return k_unit;
    if (magic == k_gpu_magic) return sizeof(PackedUnit);
    if (magic == k_earlier_magic) return k_earlier_unit;
    throw Error("the block is damaged");
}

template <class T>
void append_bytes(std::string& out, T const& value) {
    out.append(reinterpret_cast<char const*>(&value), sizeof value);
}

}  // namespace

std::string unit_file_name(int job) { return fmt::format("units-{}.bin", job); }

bool is_unit_file_name(std::string_view name) {
    int job = 0;
    if (!name.starts_with("units-")) return false;
    std::from_chars(name.data() + std::string_view("units-").size(), name.data() + name.size(), job);
    return job > 0 && name == unit_file_name(job);
}

UnitWriter::UnitWriter(std::filesystem::path directory, int job) : directory_(std::move(directory)), job_(job) {}
UnitWriter::~UnitWriter() = default;

StoredUnits UnitWriter::append(LapRecord const& record) {
    if (!file_) {
        std::error_code ignored;
        std::filesystem::remove(directory_ / unit_file_name(job_), ignored);
        file_ = std::make_unique<AppendFile>(directory_ / unit_file_name(job_), AppendFile::Create::exclusively);
    }
    BlockHead head;
    head.trial = record.trial.value;
    head.epoch = record.epoch;
    head.attempt = record.attempt;
    head.units = static_cast<std::int32_t>(record.units.size());
    StoredUnits const out{{job_, bytes_}, totals_of(record)};
    if (out.totals.gpu_of_s > 0) head.magic = k_gpu_magic;
    auto const bytes_of_one = bytes_of_unit(head.magic);
    std::string block;
    block.reserve(sizeof head + record.units.size() * bytes_of_one + sizeof(std::uint64_t));
    append_bytes(block, head);
    for (auto const& unit : record.units) {
        auto const whole = packed(unit);
        block.append(reinterpret_cast<char const*>(&whole), bytes_of_one);
    }
    append_bytes(block, xxh3(std::as_bytes(std::span(block))));
    file_->append(block);
    bytes_ += block.size();
    return out;
}

void UnitWriter::sync() {
    if (file_) file_->sync();
}

// The block, without its checksum. Throws Error with the reason.
std::string UnitReader::read(UnitsAt const& at, std::int64_t units) {
    auto const path = directory_ / unit_file_name(at.job);
    auto const status = std::filesystem::status(path);
    if (exists(status) && !is_regular_file(status)) throw Error("it is not a file");
    if (job_ != at.job) file_.reset(std::fopen(path.c_str(), "rbe"));
    job_ = file_ ? at.job : 0;
    if (!file_) throw Error(std::strerror(errno));
    auto const size = std::filesystem::file_size(path);
    Magic magic{};
    if (size < at.offset || size - at.offset < sizeof magic) throw Error("the file is too short");
    if (std::fseek(file_.get(), static_cast<long>(at.offset), SEEK_SET) != 0 ||
        std::fread(magic.data(), sizeof magic, 1, file_.get()) != 1)
        throw Error(std::strerror(errno));
    auto const bytes = sizeof(BlockHead) + static_cast<std::size_t>(units) * bytes_of_unit(magic);
    std::uint64_t hash = 0;
    // Before memory is taken: the journal may name any number of units.
    if (size - at.offset < bytes + sizeof hash) throw Error("the file is too short");
    std::string block(bytes, '\0');
    std::memcpy(block.data(), magic.data(), sizeof magic);
    if (std::fread(block.data() + sizeof magic, bytes - sizeof magic, 1, file_.get()) != 1 ||
        std::fread(&hash, sizeof hash, 1, file_.get()) != 1)
        throw Error(std::strerror(errno));
    if (xxh3(std::as_bytes(std::span(block))) != hash) throw Error("the block is damaged");
    return block;
}

std::vector<UnitRecord> UnitReader::units_of(LapRecord const& record) {
    auto const& at = record.stored.at;
    if (at.job == 0) return record.units;
    try {
        auto const block = read(at, record.stored.totals.count);
        BlockHead head;
        std::memcpy(&head, block.data(), sizeof head);
        if (head.trial != record.trial.value || head.epoch != record.epoch || head.units != record.stored.totals.count)
            throw Error("another block is there");
        auto const bytes = bytes_of_unit(head.magic);
        std::vector<UnitRecord> out;
        out.reserve(static_cast<std::size_t>(head.units));
        for (auto from = block.begin() + sizeof head; from != block.end(); from += static_cast<std::ptrdiff_t>(bytes)) {
            PackedUnit unit;
            std::memcpy(&unit, &*from, bytes);
            out.push_back(unpacked(unit));
        }
        return out;
    } catch (std::exception const& error) {
        throw DataError(fmt::format("{}: the units of trial {}, epoch {} cannot be read ({}); restore the file",
                                    (directory_ / unit_file_name(at.job)).string(), record.trial.value, record.epoch,
                                    error.what()));
    }
}

LapRecord UnitReader::with_units(LapRecord record) {
    record.units = units_of(record);
    return record;
}

}  // namespace hopscotch
