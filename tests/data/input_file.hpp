// SPDX-License-Identifier: Apache-2.0
// Bytes as a file, since our readers take paths. It lies in memory: a case costs microseconds, and no disk is worn.
#pragma once
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

namespace hopscotch {

class InputFile {
public:
    explicit InputFile(std::string_view content) : file_(memfd_create("input", 0)) {
        if (file_ < 0 || write(file_, content.data(), content.size()) != static_cast<ssize_t>(content.size())) std::abort();
    }
    ~InputFile() { close(file_); }
    InputFile(InputFile const&) = delete;
    InputFile& operator=(InputFile const&) = delete;
    std::filesystem::path path() const { return "/proc/self/fd/" + std::to_string(file_); }

private:
    int file_;
};

}  // namespace hopscotch
