// SPDX-License-Identifier: Apache-2.0
#include "run/unit_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "run/journal_codec.hpp"

namespace hopscotch {
namespace {

static_assert(std::endian::native == std::endian::little, "unit files are little-endian");

constexpr std::array<char, 8> k_magic{'H', 'O', 'P', 'U', 'N', 'I', 'T', '1'};

struct BlockHead {
    std::array<char, 8> magic = k_magic;
    std::int32_t trial = 0, epoch = 0, attempt = 0, units = 0;
    std::uint64_t hash = 0;
};
static_assert(sizeof(BlockHead) == 32);

struct PackedUnit {
    std::int32_t shard = 0, trainer = 0;
    std::int64_t rows = 0;
    double loss_sum = 0, start_unix_s = 0, seconds = 0, wait_s = 0;
    std::uint64_t state_hash = 0;
};
static_assert(sizeof(PackedUnit) == 56);

PackedUnit packed(UnitRecord const& unit) {
    return {unit.shard.value,  unit.trainer.value, unit.rows,   unit.loss_sum,
            unit.start_unix_s, unit.seconds,       unit.wait_s, unit.state_hash};
}

UnitRecord unpacked(PackedUnit const& unit) {
    if (unit.shard < 0 || unit.trainer < 0 || unit.trainer > k_most_trainers || unit.rows < 0)
        throw Error(fmt::format("shard {}, trainer {}, {} rows cannot be", unit.shard, unit.trainer, unit.rows));
    return {ShardId(unit.shard), TrainerId(unit.trainer), unit.rows, unit.loss_sum, unit.start_unix_s, unit.seconds,
            unit.wait_s,         unit.state_hash};
}

}  // namespace

std::string unit_file_name(int job) { return fmt::format("units-{}.bin", job); }

bool is_unit_file_name(std::string_view name) {
    int job = 0;
    if (!name.starts_with("units-")) return false;
    std::from_chars(name.data() + std::string_view("units-").size(), name.data() + name.size(), job);
    return job > 0 && name == unit_file_name(job);
}

UnitsAt UnitWriter::append(LapRecord const& record) {
    if (!file_) {
        std::error_code ignored;
        std::filesystem::remove(directory_ / unit_file_name(job_), ignored);
        file_ = std::make_unique<AppendFile>(directory_ / unit_file_name(job_));
    }
    std::vector<PackedUnit> units;
    units.reserve(record.units.size());
    std::ranges::transform(record.units, std::back_inserter(units), packed);
    auto const body = std::as_bytes(std::span(units));
    BlockHead head;
    head.trial = record.trial.value;
    head.epoch = record.epoch;
    head.attempt = record.attempt;
    head.units = static_cast<std::int32_t>(units.size());
    head.hash = xxh3(body);
    std::string block;
    block.reserve(sizeof head + body.size());
    for (auto const part : {std::as_bytes(std::span(&head, 1)), body})
        block.append(reinterpret_cast<char const*>(part.data()), part.size());
    file_->append(block);
    UnitsAt const out{job_, bytes_};
    bytes_ += block.size();
    return out;
}

void UnitWriter::sync() {
    if (file_) file_->sync();
}

std::vector<UnitRecord> UnitReader::units_of(LapRecord const& record) {
    auto const& at = record.units_at;
    if (at.job == 0) return record.units;
    auto const path = directory_ / unit_file_name(at.job);
    auto const refuse = [&](std::string_view why) -> std::vector<UnitRecord> {
        throw DataError(fmt::format("{}: the units of trial {}, epoch {} cannot be read ({}); restore the file",
                                    path.string(), record.trial.value, record.epoch, why));
    };
    if (job_ != at.job) file_.reset(std::fopen(path.c_str(), "rbe"));
    job_ = file_ ? at.job : 0;
    if (!file_) return refuse(std::strerror(errno));
    BlockHead head;
    bool const found = std::fseek(file_.get(), static_cast<long>(at.offset), SEEK_SET) == 0 &&
                       std::fread(&head, sizeof head, 1, file_.get()) == 1;
    if (!found) return refuse("the file is too short");
    if (head.magic != k_magic || head.trial != record.trial.value || head.epoch != record.epoch ||
        head.units != record.of_units.count)
        return refuse("another block is there");
    std::vector<PackedUnit> units(static_cast<std::size_t>(head.units));
    if (std::fread(units.data(), sizeof(PackedUnit), units.size(), file_.get()) != units.size())
        return refuse("the file is too short");
    if (xxh3(std::as_bytes(std::span(units))) != head.hash) return refuse("the block is damaged");
    std::vector<UnitRecord> out;
    out.reserve(units.size());
    try {
        std::ranges::transform(units, std::back_inserter(out), unpacked);
    } catch (Error const& error) {
        return refuse(error.what());
    }
    return out;
}

LapRecord UnitReader::with_units(LapRecord record) {
    record.units = units_of(record);
    return record;
}

}  // namespace hopscotch
