// SPDX-License-Identifier: Apache-2.0
// The live view: whole screens at three sizes, the way in which it is redrawn, and its file.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "core/error.hpp"
#include "view/run_view.hpp"
#include "view/screen.hpp"

namespace hopscotch {
namespace run_view_test {

using Lines = std::vector<std::string>;

RunView half_way(int trainers) {
    RunView view;
    view.name = "digits";
    view.label = "grid, mop, 12 shards";
    auto& progress = view.progress;
    progress.elapsed_s = 30;
    progress.done = 460;
    progress.total = 1000;
    progress.busy = progress.trainers = trainers;
    progress.trials_done = 7;
    progress.trials = 16;
    progress.metric = "val_accuracy";
    progress.best = BestSoFar{TrialId(3), 0.97222};
    view.in_flight = 8;
    view.waiting = 1;
    view.failed = 1;
    view.epochs = 120;
    view.state_bytes_per_s = 1.2e6;
    for (int t = 0; t < trainers; ++t)
        view.trainers.push_back({false, 0.1 * (t % 11), t, 3, 5, t == 1 ? "validating" : "computing", 41.3});
    for (int l = 0; l < 2; ++l)
        view.leaders.push_back({TrialId(3 + l), 0.97222 - l * 0.1, 5, "lr=0.1 hidden=[128]", {0.5, 0.7, 0.9 - l * 0.1}});
    view.warnings = {"trial 5 diverged: its loss is not finite (epoch 0, shard 3, batch 17)"};
    return view;
}

std::string text_of(Lines const& lines) {
    std::string out = "\n";
    for (auto const& line : lines) out += line + "\n";
    return out;
}

TEST(RunView, At80x24) {
    auto view = half_way(3);
    view.trainers[2].lost = true;
    EXPECT_EQ(text_of(view_lines(view, {80, 24}, Glyphs::ascii)), R"(
digits: grid, mop, 12 shards
[===========>            ]  46%  ETA 36s  busy 3/3  trials 7/16
30s, 8 in flight, 1 waiting, 1 failed, 5 % busy, 120 epochs, 1.2 MB/s of states

trainer 0   ..........   0 %  trial 0, epoch 3, shard 5, 41.3 batches/s
trainer 1   #.........  10 %  trial 1, epoch 3, validating, shard 5
trainer 2   lost

trial  val_accuracy epoch  curve         config
    3        0.9722     5  .=#           lr=0.1 hidden=[128]
    4        0.8722     5  .=*           lr=0.1 hidden=[128]

! trial 5 diverged: its loss is not finite (epoch 0, shard 3, batch 17)
)");
}

TEST(RunView, At40x20) {
    EXPECT_EQ(text_of(view_lines(half_way(2), {40, 20}, Glyphs::ascii)), R"(
digits: grid, mop, 12 shards
[======>       ]  46%  ETA 36s  busy 2/2
30s, 8 in flight, 1 waiting, 1 failed

trainer 0   ..........   0 %  trial 0
trainer 1   #.........  10 %  trial 1

trial  val_accuracy epoch  config
    3        0.9722     5  lr=0.1 hidd..
    4        0.8722     5  lr=0.1 hidd..

! trial 5 diverged: its loss is not fi..
)");
}

TEST(RunView, At200x50WithBars) {
    auto const lines = view_lines(half_way(2), {200, 50}, Glyphs::blocks);
    EXPECT_EQ(lines[1],
              "[===========>            ]  46%  ETA 36s  busy 2/2  trials 7/16  best val_accuracy 0.9722 (trial 3)");
    EXPECT_EQ(lines[5], "trainer 1   █░░░░░░░░░  10 %  trial 1, epoch 3, validating, shard 5, 41.3 batches/s");
    EXPECT_EQ(lines[8], "    3        0.9722     5  ▁▄█           lr=0.1 hidden=[128]");
}

// A cell for each where lines have no room.
TEST(RunView, ManyTrainersAreABand) {
    auto const lines = view_lines(half_way(64), {80, 24}, Glyphs::ascii);
    std::string const ten = ".::--=++**#";  // trainer t was busy for t mod 11 tenths of the time
    EXPECT_EQ(lines[4], "trainers     0 " + ten + ten + ten + ten + ten + ten.substr(0, 5));
    EXPECT_EQ(lines[5], "            60 " + ten.substr(5, 4));
    EXPECT_EQ(lines[6], "");
    auto const tall = view_lines(half_way(64), {200, 90}, Glyphs::ascii);
    EXPECT_TRUE(tall[4 + 63].starts_with("trainer 63"));
    auto const thousand = view_lines(half_way(1000), {40, 20}, Glyphs::ascii);
    EXPECT_EQ(thousand.size(), 20u);
    EXPECT_EQ(std::ranges::count(thousand, "... 1000 trainers in all"), 1);
}

std::size_t columns_of(std::string const& line) {
    std::size_t out = 0;
    for (char const c : line) out += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
    return out;
}

TEST(RunView, FitsEveryWindow) {
    for (int const trainers : {0, 1, 2, 64, 1000})
        for (int columns = 1; columns < 130; columns += 3)
            for (int rows = 1; rows < 60; rows += 2)
                for (auto const glyphs : {Glyphs::ascii, Glyphs::blocks}) {
                    auto const lines = view_lines(half_way(trainers), {columns, rows}, glyphs);
                    ASSERT_LE(lines.size(), static_cast<std::size_t>(rows));
                    for (auto const& line : lines) ASSERT_LE(columns_of(line), static_cast<std::size_t>(columns)) << line;
                }
}

TEST(RunView, ForeignNamesMoveNoCursor) {
    auto view = half_way(1);
    view.name = "a\x1b[2Jb\nc\xc3\xa9";
    view.leaders[0].config = "name=\x1b]0;t\x07";
    auto const text = text_of(view_lines(view, {80, 24}, Glyphs::ascii));
    EXPECT_EQ(text.find('\x1b'), text.npos);
    EXPECT_EQ(text.find('\x07'), text.npos);
    EXPECT_NE(text.find("a\\x1b[2Jb c?: grid"), text.npos) << text;
    EXPECT_NE(text_of(view_lines(view, {80, 24}, Glyphs::blocks)).find("c\xc3\xa9: grid"), std::string::npos);
}

TEST(RunView, CurvesAreThinned) {
    std::vector<float> curve;
    for (int e = 0; e < 1000; ++e) curve.push_back(static_cast<float>(e));
    auto const thin = thinned_curve(curve);
    EXPECT_EQ(thin.size(), k_curve_points);
    EXPECT_EQ(thin.front(), 0);
    EXPECT_EQ(thin.back(), 999);
}

class File {
public:
    File() : path_(std::filesystem::temp_directory_path() / "hopscotch-run-view-test") {
        std::filesystem::remove_all(path_);
        std::filesystem::create_directory(path_);
    }
    ~File() { std::filesystem::remove_all(path_); }
    void write(std::string const& text) const { std::ofstream(path_ / "live.json") << text; }
    std::filesystem::path const& folder() const { return path_; }

private:
    std::filesystem::path path_;
};

TEST(LiveFile, ShowsTheSame) {
    File const file;
    EXPECT_FALSE(read_run_view(file.folder()));
    auto view = half_way(5);
    view.leaders[0].curve = {0.5, NAN, 0.7};
    view.trainers[3].lost = true;
    view.unix_s = 1234.5;
    view.progress.done *= 1e20, view.progress.total *= 1e20, view.progress.done_before *= 1e20;  // FLOPs
    file.write(to_json(view).dump());
    auto const read = read_run_view(file.folder());
    ASSERT_TRUE(read);
    for (ViewSize const size : {ViewSize{80, 24}, ViewSize{200, 50}})
        EXPECT_EQ(view_lines(*read, size, Glyphs::blocks), view_lines(view, size, Glyphs::blocks));
    EXPECT_EQ(read->unix_s, 1234.5);
}

TEST(LiveFile, DamagedOnesAreNamed) {
    File const file;
    auto const whole = to_json(half_way(2)).dump();
    for (auto const& text : {std::string("{}"), std::string("[1]"), whole.substr(0, whole.size() / 2), std::string()}) {
        file.write(text);
        EXPECT_THROW(read_run_view(file.folder()), DataError) << text;
    }
}

// As much of a terminal as Screen needs. Text that is longer than a row goes on in the next one.
class Terminal {
public:
    Terminal(std::size_t columns, std::size_t rows) : columns_(columns), rows_(rows), text_(rows) {}

    void write(std::string_view bytes) {
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            if (bytes[i] == '\x1b')
                i = escape(bytes, i + 2);
            else if (bytes[i] == '\r')
                x_ = 0;
            else if (bytes[i] == '\n')
                line_end();
            else
                put(bytes[i]);
        }
    }
    // Every row that has ever scrolled away, and those of the window without empty ones at its end.
    Lines all() const {
        auto out = gone_;
        out.insert(out.end(), text_.begin(), text_.end());
        while (!out.empty() && out.back().empty()) out.pop_back();
        return out;
    }

private:
    std::size_t escape(std::string_view bytes, std::size_t at) {
        std::size_t number = 0;
        for (; bytes[at] == '?' || std::isdigit(bytes[at]); ++at)
            if (bytes[at] != '?') number = number * 10 + static_cast<std::size_t>(bytes[at] - '0');
        if (bytes[at] == 'A') y_ -= std::min(y_, number);
        if (bytes[at] == 'K' || bytes[at] == 'J') text_[y_].resize(std::min(text_[y_].size(), x_));
        for (std::size_t y = y_ + 1; bytes[at] == 'J' && y < rows_; ++y) text_[y].clear();
        if (bytes[at] == 'l' || bytes[at] == 'h') wraps_ = bytes[at] == 'h';
        return at;
    }
    void line_end() {
        if (++y_ < rows_) return;
        gone_.push_back(text_.front());
        text_.erase(text_.begin());
        text_.emplace_back();
        y_ = rows_ - 1;
    }
    void put(char c) {
        if (x_ == columns_ && !wraps_) return;
        if (x_ == columns_) x_ = 0, line_end();
        text_[y_].resize(std::max(text_[y_].size(), x_ + 1), ' ');
        text_[y_][x_++] = c;
    }

    std::size_t columns_, rows_, x_ = 0, y_ = 0;
    bool wraps_ = true;
    Lines text_, gone_;
};

TEST(Screen, DrawsInPlace) {
    Terminal terminal(20, 6);
    terminal.write("one\r\ntwo\r\nthree\r\n");
    {
        Screen screen([&](std::string_view text) { terminal.write(text); });
        screen.draw({"aaaa", "bbbb", "cccc"});  // scrolls
        screen.draw({"a", "bb", "c"});
        EXPECT_EQ(terminal.all(), (Lines{"one", "two", "three", "", "a", "bb", "c"}));
        screen.draw({"only"});
        EXPECT_EQ(terminal.all(), (Lines{"one", "two", "three", "", "only"}));
        screen.draw({std::string(50, 'x'), "y"});  // wider than it was counted
        EXPECT_EQ(terminal.all(), (Lines{"one", "two", "three", "", std::string(20, 'x'), "y"}));
    }
    terminal.write("end\r\n");
    EXPECT_EQ(terminal.all(), (Lines{"one", "two", "three", "end"}));
}

// Other processes know nothing of the view.
TEST(Screen, OtherOutputStays) {
    Terminal terminal(20, 6);
    Screen screen([&](std::string_view text) { terminal.write(text); });
    for (auto const* said : {"first", "second", "third", "fourth"}) {
        screen.draw({"view", "below"});
        terminal.write(std::string(said) + "\r\n");
    }
    terminal.write("\x1b[Jour own log line that is longer\r\n");  // log_above_a_view()
    screen.draw({"view", "below"});
    EXPECT_EQ(terminal.all(),
              (Lines{"first", "second", "third", "fourth", "our own log line tha", "t is longer", "", "view", "below"}));
}

TEST(Screen, OneWriteEachTime) {
    int writes = 0;
    Screen screen([&](std::string_view) { ++writes; });
    screen.draw({"a", "b"});
    screen.draw({"a", "c"});
    EXPECT_EQ(writes, 2);
    screen.erase();
    screen.erase();
    EXPECT_EQ(writes, 3);
}

}  // namespace run_view_test
}  // namespace hopscotch
