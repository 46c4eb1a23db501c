// SPDX-License-Identifier: Apache-2.0
#include "analysis/forecast/gantt.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace hopscotch {
namespace {

constexpr int k_most_lines = 40;
constexpr std::string_view k_letters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

char letter_of(SimulatedUnit const& task, int shards) {
    if (task.step >= shards) return '+';
    return k_letters[task.trial.index() % k_letters.size()];
}

using Cell = std::map<char, double>;  // time by letter, in cells

// Adds a task to the cells that it covers. per_cell: time of a cell.
void add_task(std::vector<Cell>& line, SimulatedUnit const& task, char letter, double per_cell) {
    double const start = task.start / per_cell, end = task.end / per_cell;
    auto const first = static_cast<std::size_t>(start);
    for (auto cell = first; cell < line.size() && static_cast<double>(cell) < end; ++cell) {
        double const from = std::max(start, static_cast<double>(cell));
        line[cell][letter] += std::min(end, static_cast<double>(cell + 1)) - from;
    }
}

char busiest(Cell const& cell) {
    double used = 0;
    std::pair<char, double> most{'.', 0};
    for (auto const& [letter, time] : cell) {
        used += time;
        if (time > most.second) most = {letter, time};
    }
    return 1 - used > most.second ? '.' : most.first;
}

}  // namespace

std::string gantt_text(std::vector<SimulatedUnit> const& tasks, GanttFrame const& frame) {
    int const lines = std::min(frame.trainers, k_most_lines);
    auto const names = fmt::format("trainer {}", frame.trainers - 1).size();
    auto const width = std::max<std::size_t>(frame.columns, 30) - names - 2;
    double const per_cell = frame.makespan / static_cast<double>(width);
    if (per_cell <= 0) return "";
    std::vector<std::vector<Cell>> cells(static_cast<std::size_t>(lines), std::vector<Cell>(width));
    for (auto const& task : tasks)
        if (task.trainer.value < lines) add_task(cells[task.trainer.index()], task, letter_of(task, frame.shards), per_cell);
    std::string out;
    for (int t = 0; t < lines; ++t) {
        std::string line;
        for (auto const& cell : cells[static_cast<std::size_t>(t)]) line += busiest(cell);
        out += fmt::format("{:<{}}  {}\n", fmt::format("trainer {}", t), names, line);
    }
    if (lines < frame.trainers) out += fmt::format("({} more trainers)\n", frame.trainers - lines);
    return out;
}

}  // namespace hopscotch
