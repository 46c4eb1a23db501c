// SPDX-License-Identifier: Apache-2.0
#include "core/log.hpp"

#include <fmt/format.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <deque>
#include <mutex>

#include "core/characters.hpp"

namespace hopscotch {
namespace {

spdlog::level::level_enum to_spdlog(LogLevel level) {
    switch (level) {
        case LogLevel::debug: return spdlog::level::debug;
        case LogLevel::info: return spdlog::level::info;
        case LogLevel::warning: return spdlog::level::warn;
        case LogLevel::error: return spdlog::level::err;
        case LogLevel::off: break;
    }
    return spdlog::level::off;
}

spdlog::logger& logger() {
    static auto instance = [] {
        auto made = spdlog::stderr_logger_mt("hopscotch");
        made->set_pattern("%H:%M:%S %l %v");
        return made;
    }();
    return *instance;
}

std::string& pattern() {
    static std::string text = "%H:%M:%S %l %v";
    return text;
}

class Warnings {
public:
    void add(std::string_view text) {
        std::lock_guard const lock(mutex_);
        texts_.emplace_back(text);
        if (texts_.size() > k_kept) texts_.pop_front();
    }
    std::vector<std::string> last(std::size_t most) {
        std::lock_guard const lock(mutex_);
        auto const first = texts_.size() - std::min(most, texts_.size());
        return {texts_.begin() + static_cast<std::ptrdiff_t>(first), texts_.end()};
    }

private:
    static constexpr std::size_t k_kept = 16;
    std::mutex mutex_;
    std::deque<std::string> texts_;
};

Warnings& warnings() {
    static Warnings all;
    return all;
}

}  // namespace

void log_setup(std::string_view who, LogLevel level) {
    pattern() = who.empty() ? "%H:%M:%S %l %v" : "%H:%M:%S %l [" + std::string(who) + "] %v";
    logger().set_pattern(pattern());
    logger().set_level(to_spdlog(level));
    logger().flush_on(spdlog::level::debug);
}

void log_above_a_view() { logger().set_pattern("\x1b[J" + pattern()); }

std::vector<std::string> last_warnings(std::size_t most) { return warnings().last(most); }

std::string printable(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        auto const size = shown_bytes(text);
        if (size == 0)
            out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
        else
            out += text.substr(0, size);
        text.remove_prefix(std::max<std::size_t>(1, size));
    }
    return out;
}

void log_debug(std::string_view message) { logger().debug(printable(message)); }
void log_info(std::string_view message) { logger().info(printable(message)); }
void log_warning(std::string_view message) {
    warnings().add(printable(message));
    logger().warn(printable(message));
}
void log_error(std::string_view message) {
    warnings().add(printable(message));
    logger().error(printable(message));
}

}  // namespace hopscotch
