// SPDX-License-Identifier: Apache-2.0
// A directory that lives as long as this object.
#pragma once
#include <stdlib.h>

#include <filesystem>
#include <string>

#include "core/error.hpp"

namespace hopscotch {

class ScratchDirectory {
public:
    ScratchDirectory() : name_((std::filesystem::temp_directory_path() / "hopscotch-XXXXXX").string()) {
        if (mkdtemp(name_.data()) == nullptr)
            throw DataError(name_ + ": no temporary directory can be made here; set TMPDIR");
    }
    ~ScratchDirectory() {
        std::error_code ignored;
        std::filesystem::remove_all(name_, ignored);
    }
    ScratchDirectory(ScratchDirectory const&) = delete;
    ScratchDirectory& operator=(ScratchDirectory const&) = delete;
    std::filesystem::path path() const { return name_; }

private:
    std::string name_;
};

}  // namespace hopscotch
