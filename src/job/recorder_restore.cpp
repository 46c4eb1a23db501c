// SPDX-License-Identifier: Apache-2.0
// The records of earlier jobs, when a run goes on.
#include <fmt/format.h>

#include <utility>

#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/log.hpp"
#include "experiment/reader.hpp"
#include "job/recorder.hpp"
#include "rundir/journal_writer.hpp"
#include "rundir/unit_file.hpp"
#include "view/trace.hpp"

namespace hopscotch {
namespace {

// Times of units are for the summary and the trace alone: a run goes on without unreadable ones.
class LenientReader {
public:
    explicit LenientReader(std::filesystem::path const& directory) : units_(directory) {}

    LapRecord with_units(LapRecord const& lap) {
        try {
            return units_.with_units(lap);
        } catch (DataError const& error) {
            if (!std::exchange(told_, true))
                log_warning(fmt::format("{}; the run goes on, its summary and trace leave these units out", error.what()));
            return lap;
        }
    }

private:
    UnitReader units_;
    bool told_ = false;
};

}  // namespace

void Recorder::restore(Journal const& journal) {
    incarnation_ = journal.jobs.count + 1;
    lost_ = journal.jobs.lost;
    moved_ = journal.jobs.moved;
    retries_ = journal.retries;
    journal_->run_resumed(incarnation_, facts_.trainers());
    shelf_.restore(journal);
    for (auto const& lap : journal.released) known_[{lap.trial, lap.epoch}] = lap.clone_of;
    auto const losses = losses_of(experiment_, journal.assignments);
    for (auto const& mark : journal.marks) trace_->add(mark);
    LenientReader units(directory_);
    for (auto const& lap : journal.laps) {
        auto const record = units.with_units(lap);
        tally_.tell_configuration(record.trial, journal.assignments.at(record.trial));
        auto const metrics = tally_.add(record, losses.at(record.trial));
        append_metrics(record, metrics, journal.assignments.at(record.trial));
        trace_->add(record);
    }
    for (auto const& [from, until] : journal.jobs.pauses) tally_.pause(from, until);
    if (journal.jobs.last_unix_s > 0) tally_.pause(journal.jobs.last_unix_s, unix_s());
    decisions_.assign(journal.decisions.begin(), journal.decisions.end());
    for (auto const& end : journal.ended) had_ended(end);
}

}  // namespace hopscotch
