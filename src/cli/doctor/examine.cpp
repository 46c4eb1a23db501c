// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/examine.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <map>
#include <thread>

#include "comm/codec.hpp"
#include "comm/courier.hpp"
#include "core/clock.hpp"
#include "core/error.hpp"
#include "job/build_info.hpp"
#include "model/gpu/device.hpp"
#include "model/trial/torch_library.hpp"
#include "strategy/common/devices.hpp"
#include "strategy/common/placement.hpp"
#include "strategy/common/roll_call_messages.hpp"

namespace hopscotch {

template <class A>
void fields(A& a, RankFacts& m) {
    a(m.rank, m.host, m.build, m.cpu, m.cores, m.own_cores, m.memory_bytes, m.shared_bytes, m.limits.open_files,
      m.limits.locked_bytes, m.limits.file_bytes, m.infiniband, m.gpu, m.training_error);
}

namespace {

namespace fs = std::filesystem;

constexpr double k_answer_s = 60, k_see_file_s = 5;
constexpr int k_pings = 5, k_pushes = 4, k_most_links = 16;
constexpr std::size_t k_push_bytes = 32 << 20;

enum class Wish : std::uint8_t { facts, time, folder, push, receipt, leave };

struct Ask {
    Wish wish = Wish::facts;
    std::string folder, content;  // folder: of the file "seen" with this content
    Rank to = Rank(0);            // push
};
template <class A>
void fields(A& a, Ask& m) {
    a(m.wish, m.folder, m.content, m.to);
}

struct Reply {
    RankFacts facts;
    DeviceInfo device;
    double number = 0;  // time: seconds since 1970; push: bytes/s
    std::string error;
};
template <class A>
void fields(A& a, Reply& m) {
    a(m.facts, m.device, m.number, m.error);
}

std::uint64_t limit(int resource) {
    rlimit found{};
    if (::getrlimit(resource, &found) != 0 || found.rlim_cur == RLIM_INFINITY) return UINT64_MAX;
    return found.rlim_cur;
}

std::uint64_t free_bytes(fs::path const& path) {
    struct statvfs found{};
    return ::statvfs(path.c_str(), &found) == 0 ? std::uint64_t{found.f_bavail} * found.f_frsize : 0;
}

// Empty: none.
template <class Work>
std::string error_of(Work const& work) try {
    work();
    return "";
} catch (Error const& error) {
    return error.what();
}

Reply facts_here(World const& world) {
    Reply out;
    auto& facts = out.facts;
    auto const& build = build_info();
    facts.rank = world.rank().value;
    facts.host = host_name();
    facts.build = build.version + " " + build.git;
    facts.cpu = cpu_kind();
    facts.cores = online_cores();
    facts.own_cores = allowed_cores();
    facts.memory_bytes = memory_bytes();
    facts.shared_bytes = free_bytes("/dev/shm");
    facts.limits.open_files = limit(RLIMIT_NOFILE);
    facts.limits.locked_bytes = limit(RLIMIT_MEMLOCK);
    facts.limits.file_bytes = limit(RLIMIT_FSIZE);
    std::error_code none;
    facts.infiniband = fs::exists("/sys/class/infiniband", none) && !fs::is_empty("/sys/class/infiniband", none);
    facts.training_error = error_of([] { torch_library(); });
    auto const device_error = error_of([&] {
        out.device = device_info(resolve_device("auto", world.number_on_host()));
        facts.gpu = out.device.is_gpu() ? out.device.model : "";
    });
    bool const trains = world.rank().value != 0 || world.size() == 1;
    if (trains && facts.training_error.empty()) facts.training_error = device_error;
    return out;
}

std::string content_of(fs::path const& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
}

// Empty: this rank sees rank 0's file, and has written one beside it. A shared file system may show a file late.
std::string folder_error(Ask const& ask, Rank rank) {
    auto const folder = fs::path(ask.folder);
    for (double const until_s = monotonic_s() + k_see_file_s; content_of(folder / "seen") != ask.content;) {
        if (monotonic_s() > until_s) return "is another folder there (rank 0's file is not in it)";
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    std::ofstream file(folder / fmt::format("rank-{}", rank.value));
    file << ask.content;
    file.close();
    return file ? "" : fmt::format("cannot be written there ({})", std::strerror(errno));
}

// One rank's end of all questions.
class Examined {
public:
    explicit Examined(World& world) : world_(world), courier_(world, {}) { courier_.pool().share_memory(); }

    void send(Rank to, Ask const& ask) { courier_.send(to, MessageKind::test, encode(ask)); }
    Incoming next(std::string const& from) {
        if (auto message = courier_.receive(k_answer_s)) return std::move(*message);
        throw CommError(fmt::format("{} did not answer within {:.0f} s; look at that host", from, k_answer_s));
    }
    // For the rank itself, or for rank 0. False: there are no more questions.
    bool answer_next();
    Courier& courier() { return courier_; }

private:
    double push(Rank to);
    World& world_;
    Courier courier_;
};

double Examined::push(Rank to) {
    double best = 0;
    for (int i = 0; i < k_pushes; ++i) {  // the first one opens the connection
        auto const start = monotonic_s();
        auto block = courier_.pool().acquire(k_push_bytes);
        std::memset(block.bytes().data(), i, block.bytes().size());
        courier_.push(to, {}, std::move(block));
        next(fmt::format("rank {}", to.value));
        if (i > 0) best = std::max(best, static_cast<double>(k_push_bytes) / (monotonic_s() - start));
    }
    return best;
}

bool Examined::answer_next() {
    auto const message = next("rank 0");
    if (message.kind == MessageKind::state) {
        send(message.from, {Wish::receipt, {}, {}, {}});
        return true;
    }
    auto const ask = decode<Ask>(message.body);
    Reply out;
    if (ask.wish == Wish::facts) out = facts_here(world_);
    if (ask.wish == Wish::time) out.number = unix_s();
    if (ask.wish == Wish::folder) out.error = folder_error(ask, world_.rank());
    if (ask.wish == Wish::push) out.number = push(ask.to);
    if (ask.wish == Wish::leave) courier_.leave_quietly();
    courier_.send(Rank(0), MessageKind::test, encode(out));
    return ask.wish != Wish::leave;
}

// Rank 0's questions.
class Examiner {
public:
    Examiner(World& world, fs::path const& folder) : world_(world), self_(world) { checkup_.folder = folder.string(); }
    Checkup all();
    void let_go();

private:
    std::map<Rank, Reply> ask_all(Ask const& ask);
    Reply ask_one(Rank rank, Ask const& ask);
    void hear_facts();
    void look_into_folder();
    void compare_clocks();
    void measure_links();

    World& world_;
    Examined self_;
    Checkup checkup_;
    std::map<Rank, HostDevice> devices_;
    std::map<Rank, Seating> seats_;
};

std::map<Rank, Reply> Examiner::ask_all(Ask const& ask) {
    for (int rank = 1; rank < world_.size(); ++rank) self_.send(Rank(rank), ask);
    std::map<Rank, Reply> out;
    while (std::ssize(out) + 1 < world_.size()) {
        auto const message = self_.next(fmt::format("one of {} ranks", world_.size() - 1 - std::ssize(out)));
        out[message.from] = decode<Reply>(message.body);
    }
    return out;
}

Reply Examiner::ask_one(Rank rank, Ask const& ask) {
    self_.send(rank, ask);
    return decode<Reply>(self_.next(fmt::format("rank {}", rank.value)).body);
}

void Examiner::hear_facts() {
    auto answers = ask_all({Wish::facts, {}, {}, {}});
    answers[Rank(0)] = facts_here(world_);
    for (auto& [rank, answer] : answers) {
        auto const& facts = answer.facts;
        bool const trains = rank != Rank(0) || world_.size() == 1;
        if (trains) seats_[rank] = {facts.host, facts.cores, facts.own_cores};
        if (trains) devices_[rank] = {facts.host, answer.device};
        checkup_.ranks.push_back(facts);
    }
    checkup_.advice = seating_advice(seats_, 1);
    for (auto& line : device_advice(devices_, "auto")) checkup_.advice.push_back(std::move(line));
}

void Examiner::look_into_folder() {
    std::string name = (fs::path(checkup_.folder) / ".hopscotch-doctor-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
        throw ConfigError(fmt::format("{}: cannot be written ({}); name the folder that will hold your run directories",
                                      checkup_.folder, std::strerror(errno)));
    std::ofstream(fs::path(name) / "seen") << name;
    auto const answers = ask_all({Wish::folder, fs::absolute(name).string(), name, {}});
    for (auto const& [rank, answer] : answers) {
        auto& error = checkup_.ranks[static_cast<std::size_t>(rank.value)].folder_error;
        error = answer.error;
        if (error.empty() && content_of(fs::path(name) / fmt::format("rank-{}", rank.value)) != name)
            error = "is another folder there (rank 0 does not see its file)";
    }
    std::error_code ignored;
    fs::remove_all(name, ignored);
    checkup_.folder_free_bytes = free_bytes(checkup_.folder);
}

void Examiner::compare_clocks() {
    for (int rank = 1; rank < world_.size(); ++rank) {
        auto& facts = checkup_.ranks[static_cast<std::size_t>(rank)];
        facts.clock.round_trip_s = k_answer_s;
        for (int i = 0; i < k_pings; ++i) {
            auto const sent_s = monotonic_s(), sent_unix_s = unix_s();
            auto const there_s = ask_one(Rank(rank), {Wish::time, {}, {}, {}}).number;
            auto const trip_s = monotonic_s() - sent_s;
            if (trip_s >= facts.clock.round_trip_s) continue;
            facts.clock.round_trip_s = trip_s;
            facts.clock.ahead_s = there_s - sent_unix_s - trip_s / 2;
        }
    }
}

// From the first trainer of each host to that of the next one; on one host from its first trainer to its second.
void Examiner::measure_links() {
    std::vector<RankFacts const*> ends;
    std::map<std::string, int> seen;
    for (auto const& facts : checkup_.ranks)
        if (facts.rank != 0 && seen[facts.host]++ == 0) ends.push_back(&facts);
    if (ends.size() == 1 && world_.size() > 2) ends.push_back(&checkup_.ranks[2]);
    if (ends.size() < 2) return;
    auto const links = ends.size() == 2 ? 1 : std::min<std::size_t>(ends.size(), k_most_links);
    for (std::size_t i = 0; i < links; ++i) {
        auto const &from = *ends[i], &to = *ends[(i + 1) % ends.size()];
        auto const speed = ask_one(Rank(from.rank), {Wish::push, {}, {}, Rank(to.rank)}).number;
        checkup_.links.push_back({from.host, to.host, speed, from.infiniband && to.infiniband});
    }
}

void Examiner::let_go() {
    self_.courier().leave_quietly();
    ask_all({Wish::leave, {}, {}, {}});
    self_.courier().close();
}

Checkup Examiner::all() {
    hear_facts();
    look_into_folder();
    compare_clocks();
    measure_links();
    return checkup_;
}

}  // namespace

Checkup examine(World& world, fs::path const& folder) {
    Examiner examiner(world, folder);
    try {
        auto out = examiner.all();
        examiner.let_go();
        return out;
    } catch (ConfigError const&) {
        examiner.let_go();
        throw;
    }
}

void be_examined(World& world) {
    Examined self(world);
    while (self.answer_next()) {
    }
    self.courier().close();
}

}  // namespace hopscotch
