// SPDX-License-Identifier: Apache-2.0
// The search space: dotted paths to distributions. Four types (float, int, choice, const); a list is a choice, a scalar a
// constant. Bounds are values and inclusive; a wrong word of another tool is refused with the right one in the message.
//   "train.optimizer.momentum": {"type": "float", "low": 0, "high": 0.99, "when": {"train.optimizer.name": "sgd"}}
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json_reader.hpp"
#include "experiment/config.hpp"

namespace hopscotch {

// One line of `when` or of a `forbid` entry: a path, and demands on its value. All given demands must hold.
struct Condition {
    std::string path;
    std::vector<Json> any_of;            // empty: no such demand
    std::optional<double> above, below;  // exclusive
    std::string above_key, below_key;    // likewise the value of that key; empty: no such demand
    Position at;

    std::vector<std::string> keys() const;  // path first
};

// Where good values are expected. Samplers draw there more often, and results outweigh it with time.
struct Prior {
    double guess = 0;             // ranges: normal around it, cut to the range; with log, in the logarithm
    double deviation = 0.25;      // likewise, as a share of the range
    std::vector<double> weights;  // choice: of each value, positive; they add up to 1
};

struct Parameter {
    enum class Type { real, integer, choice, constant };
    std::string path;
    Type type = Type::constant;
    double low = 0, high = 0;           // inclusive
    bool log = false;                   // uniform in the logarithm
    std::optional<double> step;         // low, low + step, ... up to high
    std::optional<std::int64_t> count;  // grid: this many points, endpoints included
    std::vector<Json> values;           // choice: the values; constant: the one; ranges: {low, high} as written
    std::vector<Condition> when;        // active only if all hold
    std::optional<Prior> prior;         // none: all values are equally likely
    StepValues step_values = StepValues::decimal;
    Position key_at, at;
};

bool is_range(Parameter const& parameter);  // of numbers: real, integer

struct Space {
    std::vector<Parameter> parameters;           // as declared
    std::vector<std::size_t> order;              // of parameters, parents of `when` before their children
    std::vector<std::vector<Condition>> forbid;  // an assignment that meets all conditions of one entry is not tried
    std::vector<Assignment> start_with;          // tried first, complete, in the order of the parameters
};

// Parses `space`, search.forbid and search.start_with. Wrong entries are reported and left out.
Space read_space(Experiment const& experiment, Problems& problems);

void describe_space(ObjectReader& reader, Problems& problems);  // for a watcher

// True of a setting that all trials share: it cannot be searched.
bool is_shared(std::string_view path);

// Reads the space, and checks that each key is a setting and that the reader accepts each bound and value. Part of
// read_experiment.
void check_space(Experiment const& experiment, Problems& problems);

std::string json_path(std::string_view dotted);                             // "train.epochs" -> "/train/epochs"
Json const* value_of(Assignment const& assignment, std::string_view path);  // null: not in it
bool holds(Condition const& condition, Assignment const& assignment);       // false if the path is not in the assignment
bool is_active(Parameter const& parameter, Assignment const& assignment);   // the parents' values are in the assignment
bool is_forbidden(Space const& space, Assignment const& assignment);

// Every active parameter with a value of its range (or list), no other key, and not forbidden.
bool is_in(Space const& space, Assignment const& assignment);

// Adds the paths of the assignment that are not in `paths`.
void add_new_paths(Assignment const& assignment, std::vector<std::string>& paths);

// With the values of the space in place of numbers that differ from them by rounding only, as in runs of earlier versions.
Assignment with_own_values(Space const& space, Assignment const& assignment);

// Puts the values in the order of the space.
Assignment in_order(Space const& space, Assignment const& assignment);

// Every value of a parameter, ascending. None if there are more than a million, as in a float range without step and
// count.
std::optional<std::vector<Json>> all_values(Parameter const& parameter);

}  // namespace hopscotch
