// SPDX-License-Identifier: Apache-2.0
// Owns one handle of a C library (hid_t, MPI_Comm, a stream). A moved-from handle is empty and closes nothing.
#pragma once
#include <utility>

namespace hopscotch {

// Deleter: struct with `static Handle null()` and `void operator()(Handle) noexcept`.
template <class Handle, class Deleter>
class UniqueHandle {
public:
    UniqueHandle() = default;
    explicit UniqueHandle(Handle handle) : handle_(handle) {}
    UniqueHandle(UniqueHandle&& other) noexcept : handle_(std::exchange(other.handle_, Deleter::null())) {}
    UniqueHandle& operator=(UniqueHandle&& other) noexcept {
        if (this != &other) {
            reset();
            handle_ = std::exchange(other.handle_, Deleter::null());
        }
        return *this;
    }
    UniqueHandle(UniqueHandle const&) = delete;
    UniqueHandle& operator=(UniqueHandle const&) = delete;
    ~UniqueHandle() { reset(); }

    Handle const& handle() const { return handle_; }
    explicit operator bool() const { return handle_ != Deleter::null(); }
    void reset() noexcept {
        if (handle_ != Deleter::null()) Deleter{}(std::exchange(handle_, Deleter::null()));
    }

private:
    Handle handle_ = Deleter::null();
};

}  // namespace hopscotch
