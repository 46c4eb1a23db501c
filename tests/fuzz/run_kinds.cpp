// SPDX-License-Identifier: Apache-2.0
// What --resume, replay, predict and compare read of a run directory: journal, checkpoints, experiment.json, server log.
#include <array>
#include <cstring>

#include "core/durable_file.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/json_reader.hpp"
#include "fuzz/kinds.hpp"
#include "fuzz/mutate.hpp"
#include "rundir/checkpoint.hpp"
#include "rundir/inbox.hpp"
#include "rundir/journal.hpp"
#include "rundir/journal_codec.hpp"
#include "rundir/journal_writer.hpp"
#include "rundir/records.hpp"
#include "rundir/run_directory.hpp"
#include "rundir/server_log.hpp"
#include "rundir/tally.hpp"

namespace hopscotch::fuzz {
namespace {

namespace fs = std::filesystem;
using testing::first_trial;
using testing::second_trial;
using testing::slurp;
using testing::write;

class Unexpected : public std::runtime_error {  // something that a reader must have refused
public:
    using std::runtime_error::runtime_error;
};

Checkpoint some_checkpoint() {
    Checkpoint out;
    out.run_id = "a-run";
    out.record = first_trial();
    out.place = {1, 2, 16};
    out.rows = 512;
    out.loss_sum = 0.5;
    out.layout_hash = 0xfedcba9876543210ULL;
    out.parts.assign(37, std::byte{7});
    return out;
}

std::vector<Order> some_orders() {
    return {{Order::Kind::stop, TrialId(1), -1, {}, "stopped by a user"},
            {Order::Kind::resume, TrialId(1), -1, {}, "taken up by a user"},
            {Order::Kind::clone, TrialId(0), 0, {{"train.optimizer.lr", Json(0.2)}}, "cloned by a user"},
            {Order::Kind::finish, {}, -1, {}, "budget.hours 2 are used up"}};
}

// As a base file: written by hopscotch itself, read back as text.
std::string written(std::string const& name, auto const& write_to) {
    testing::Scratch const scratch;
    write_to(scratch / name);
    return slurp(scratch / name);
}

std::string good_journal() {
    return written("journal.jsonl", [](fs::path const& path) {
        JournalWriter writer(path);
        for (int trial = 0; trial < 2; ++trial) {
            Lap lap;
            lap.trial = TrialId(trial);
            lap.remaining_cost = 1e9;
            lap.assignment = {{"train.optimizer.lr", Json(0.1)}, {"model.hidden", Json(Json::Array{16})}};
            writer.lap_released(lap);
        }
        for (auto const& order : some_orders()) writer.ordered(order);
        auto first = testing::exchanging(first_trial());
        first.orders = some_orders();
        writer.lap_done(first);
        writer.ordered(some_orders().front());
        writer.retried(first);
        auto const checkpoint = some_checkpoint();
        writer.checkpoint({TrialId(0), 1, 2, 16, checkpoint_name(checkpoint, 1)});
        writer.decided({Decision::Kind::clone, TrialId(1), 0, 2, {TrialId(0), 0}, "rank 2 of 2", 0.5});
        writer.run_resumed(2, 3);
        writer.lap_done(second_trial());
        TrialView trial;
        trial.id = TrialId(0);
        trial.status = TrialStatus::diverged;
        trial.reason = "loss";
        trial.epochs_done = 1;
        writer.trial_ended(trial);
        writer.run_ended("interrupted", "SIGTERM");
    });
}

std::vector<std::string> lines_of(std::string const& text) {
    std::vector<std::string> out;
    for (std::size_t start = 0, end; (end = text.find('\n', start)) != text.npos; start = end + 1)
        out.push_back(text.substr(start, end - start));
    return out;
}

// A line as JSON is damaged, or lines as a whole: swapped, doubled, lost, joined.
std::string mutated_lines(std::vector<std::string> lines, Rng& rng) {
    for (auto changes = 1 + below(rng, 3); changes > 0; --changes) {
        auto const at = below(rng, lines.size()), other = below(rng, lines.size());
        auto const place = lines.begin() + static_cast<std::ptrdiff_t>(at);
        switch (rng.below(8)) {
            case 0: std::swap(lines[at], lines[other]); break;
            case 1: lines.insert(place, lines[other]); break;
            case 2:
                if (lines.size() > 1) lines.erase(place);
                break;
            case 3: lines[at] += lines[other]; break;
            default: {
                Problems problems("");
                auto const json = parse_json(lines[at], problems);
                lines[at] = problems.empty() ? mutated_json(json, rng) : mutated_bytes(lines[at], rng);
            }
        }
    }
    std::string out;
    for (auto const& line : lines) out += line + "\n";
    return one_in(rng, 10) ? mutated_bytes(out, rng) : out;
}

class JournalKind : public Kind {
public:
    std::string name() const override { return "journal"; }
    std::string place() const override { return "journal.jsonl"; }
    void damage(fs::path const& folder, Rng& rng) override { write(folder / "journal.jsonl", mutated_lines(lines_, rng)); }
    void read(fs::path const& folder) override {
        auto const journal = read_journal(folder / "journal.jsonl");
        Tally tally("val_accuracy", Mode::max, 2);
        for (auto const& record : journal.laps) {
            if (!journal.assignments.contains(record.trial)) throw Unexpected("a lap of a trial that was never released");
            tally.add(record, LossKind::cross_entropy);
            (void)to_json(record).dump();
        }
        for (auto const& saved : journal.saved)
            if (!saved.file.starts_with("checkpoints/trial-") || saved.file.find('/', 12) != saved.file.npos ||
                !saved.file.ends_with(".ckpt"))
                throw Unexpected("a checkpoint's name leads elsewhere: " + saved.file);
        (void)tally.best_trial();
        (void)tally.utilisation();
    }

private:
    std::vector<std::string> lines_ = lines_of(good_journal());
};

class ServerLogKind : public Kind {
public:
    std::string name() const override { return "server_log"; }
    std::string place() const override { return "server_log.jsonl"; }
    void damage(fs::path const& folder, Rng& rng) override {
        write(folder / "server_log.jsonl", mutated_lines(lines_, rng));
    }
    void read(fs::path const& folder) override { read_server_log(folder / "server_log.jsonl"); }

private:
    std::vector<std::string> lines_ = lines_of(written("server_log.jsonl", [](fs::path const& path) {
        auto record = first_trial();
        record.sync.server_log = {{0, 1, 1, 0}, {1, 0, 0, 1}};
        append_server_log(path, record);
        append_server_log(path, record);
    }));
};

class RequestKind : public Kind {
public:
    std::string name() const override { return "request"; }
    std::string place() const override { return "0001-7"; }
    void damage(fs::path const& folder, Rng& rng) override {
        fs::remove_all(folder / "inbox");
        fs::create_directories(folder / "inbox");
        write(folder / "inbox" / "0001-7.json",
              one_in(rng, 4) ? mutated_bytes(good_.dump(), rng) : mutated_json(good_, rng));
    }
    void read(fs::path const& folder) override {
        auto const letters = Inbox(folder).take();
        if (fs::exists(folder / "inbox" / "0001-7.json")) throw Unexpected("a request that stays");
        for (auto const& letter : letters) {
            if (!letter.problem.empty()) throw DataError(letter.name + ": " + letter.problem);
            if (letter.request.kind != Order::Kind::finish && letter.request.trial.value < 0) throw Unexpected("no trial");
        }
    }

private:
    Json good_ = Json::object(
        {{"kind", "clone"}, {"trial", 3}, {"changes", Json::object({{"train.optimizer.lr", 0.1}})}, {"until_unix_s", 4e9}});
};

class FactsKind : public Kind {
public:
    std::string name() const override { return "run_facts"; }
    std::string place() const override { return "experiment.json"; }
    void damage(fs::path const& folder, Rng& rng) override { write(folder / "experiment.json", mutated_json(good_, rng)); }
    void read(fs::path const& folder) override {
        auto const facts = read_run_facts(folder);
        if (facts.trainers() < 1 || facts.trainers() > 1 << 20)
            throw Unexpected("this many trainers: " + std::to_string(facts.trainers()));
        for (auto const owner : facts.fleet.owners.owner)
            if (owner.value < 0 || owner.value >= facts.trainers()) throw Unexpected("an owner that is not a trainer");
        (void)to_json(facts).dump();
    }

private:
    static Json good() {
        RunFacts facts;
        facts.experiment = Json::object({{"name", "digits"}, {"data", Json::object({{"path", "d"}})}});
        facts.name = "digits";
        facts.build.version = "0.1.0";
        facts.build.git_hash = "abc";
        facts.build.libraries = Json::object({{"torch", "2.11.0"}});
        facts.dataset_hash = to_hex(7);
        facts.strategy = "mop";
        facts.fleet.hosts = {"a", "b"};
        facts.fleet.owners.trainers = 2;
        facts.fleet.owners.owner = {TrainerId(0), TrainerId(1), TrainerId(0)};
        facts.run_id = "a-run";
        facts.start_unix_s = 1763700000.5;
        return to_json(facts);
    }
    Json good_ = good();
};

// Header and lengths are damaged with their checksums put right, so that what lies behind the checksums is reached.
class CheckpointKind : public Kind {
public:
    std::string name() const override { return "checkpoint"; }
    std::string place() const override { return "c.ckpt"; }
    void damage(fs::path const& folder, Rng& rng) override {
        auto bytes = one_in(rng, 4)   ? mutated_bytes(good_, rng)
                     : one_in(rng, 3) ? with_other_lengths(rng)
                                      : with_other_header(rng);
        if (one_in(rng, 50)) bytes.clear();
        write(folder / "c.ckpt", bytes);
    }
    void read(fs::path const& folder) override {
        CheckpointFile const file(folder / "c.ckpt");
        auto const& about = file.about();
        if (about.place.epoch < 0 || about.place.step < 0 || about.place.batch < 0)
            throw Unexpected("a place before the beginning");
        if (about.record.trial.value < 0) throw Unexpected("a trial below 0");
        file.verify();
        (void)checkpoint_name(about, 1);
    }

private:
    static constexpr std::size_t k_preamble = 48;  // magic, then four u64

    static void put(std::string& bytes, std::size_t at, std::uint64_t value) {
        std::memcpy(bytes.data() + at, &value, sizeof value);
    }
    std::string header() const { return good_.substr(k_preamble, good_.size() - k_preamble - k_state); }
    std::string state() const { return good_.substr(good_.size() - k_state); }

    std::string with_other_header(Rng& rng) const {
        Problems problems("");
        auto const text = mutated_json(parse_json(header(), problems), rng);
        auto out = good_.substr(0, k_preamble) + text + state();
        put(out, 16, text.size());
        put(out, 32, xxh3(std::as_bytes(std::span(text))));
        return out;
    }
    std::string with_other_lengths(Rng& rng) const {
        auto out = good_;
        auto const field = 16 + 8 * below(rng, 4);
        std::uint64_t value = 0;
        std::memcpy(&value, out.data() + field, sizeof value);
        put(out, field, odd_number(value, rng));
        if (one_in(rng, 3)) put(out, 24, k_state + odd_number(0, rng));
        return out;
    }

    static constexpr std::size_t k_state = 640;
    std::string good_ = written("c.ckpt", [](fs::path const& path) {
        std::vector<std::byte> const state(k_state, std::byte{7});
        write_checkpoint(path, some_checkpoint(), state);
    });
};

}  // namespace

void add_run_kinds(std::vector<std::unique_ptr<Kind>>& out) {
    out.push_back(std::make_unique<JournalKind>());
    out.push_back(std::make_unique<CheckpointKind>());
    out.push_back(std::make_unique<FactsKind>());
    out.push_back(std::make_unique<ServerLogKind>());
    out.push_back(std::make_unique<RequestKind>());
}

}  // namespace hopscotch::fuzz
