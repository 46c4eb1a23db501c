// SPDX-License-Identifier: Apache-2.0
// units-N.bin: the units of the laps that job N of a run recorded, a block a lap. A line of the journal names the block, so
// the journal stays short however many shards there are. Little-endian:
//   "HOPUNIT2"   i32 trial   i32 epoch   i32 attempt   i32 units
//   each unit: i32 shard   i32 trainer   i64 rows   f64 loss_sum, start_unix_s, seconds, wait_s   u64 state_hash   f64 cpu_s
//   u64 xxh3 of the block so far (seed 0)
// "HOPUNIT3": the use of the GPU was measured in some unit of the block, and each unit ends with f64 gpu_use.
// Blocks of earlier versions begin with "HOPUNIT1", and their units have no cpu_s.
// Each job has a file of its own: a job that another one has replaced cannot write between the blocks of its successor.
#pragma once
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/lap.hpp"

namespace hopscotch {

class AppendFile;

class UnitWriter {
public:
    // job: 1 for the first of the run. The file is made with the first block; a file of that name is replaced.
    UnitWriter(std::filesystem::path directory, int job);
    ~UnitWriter();

    StoredUnits append(LapRecord const& record);  // one write; throws IoError
    void sync();
    std::filesystem::path const& directory() const { return directory_; }

private:
    std::filesystem::path directory_;
    int job_;
    std::unique_ptr<AppendFile> file_;
    std::uint64_t bytes_ = 0;
};

// Reads blocks one by one. Keeps the file of the last block open.
class UnitReader {
public:
    explicit UnitReader(std::filesystem::path directory) : directory_(std::move(directory)) {}

    // The record's own units, if it has them. Throws DataError that names the file, trial and epoch.
    std::vector<UnitRecord> units_of(LapRecord const& record);
    LapRecord with_units(LapRecord record);

private:
    std::string read(UnitsAt const& at, std::int64_t units);
    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    std::filesystem::path directory_;
    std::unique_ptr<std::FILE, Close> file_;
    int job_ = 0;  // whose file is open
};

std::string unit_file_name(int job);  // "units-1.bin"
bool is_unit_file_name(std::string_view name);

}  // namespace hopscotch
