// SPDX-License-Identifier: Apache-2.0
#include "comm/courier.hpp"
#include "comm/codec.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <future>
#include <map>
#include <numeric>
#include <set>
#include <thread>

#include "both_worlds.hpp"
#include "comm/courier_messages.hpp"
#include "comm/exchange.hpp"
#include "comm/peers.hpp"
#include "comm/shared_world.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/rng.hpp"
#include "test_clock.hpp"

namespace hopscotch {
namespace courier_test {

using testing::barrier;
using testing::on_every_rank;
using testing::TestClock;

constexpr double k_patience_s = 30;

Bytes number(std::int64_t value) {
    Encoder encoder;
    encoder(value);
    return encoder.take();
}

std::int64_t number(Bytes const& bytes) {
    std::int64_t value = 0;
    Decoder decoder(bytes);
    decoder(value);
    return value;
}

// One rank's end of a test. MPI may call a send complete before it is received, so a rank leaves only when everyone has
// said the last word.
class Post {
public:
    Post(World& world, CourierOptions options) : courier(world, options) {}

    Incoming next() {
        while (true) {
            auto message = courier.receive(k_patience_s);
            if (!message) throw CommError("no message came");
            if (message->kind != MessageKind::goodbye) return std::move(*message);
            ++goodbyes_;  // from a rank that already has all it waits for
        }
    }

    void leave() {
        auto& world = courier.world();
        courier.leave_quietly();
        for (int rank = 0; rank < world.size(); ++rank)
            if (Rank(rank) != world.rank()) courier.send(Rank(rank), MessageKind::goodbye, {});
        for (; goodbyes_ < world.size() - 1; ++goodbyes_) {
            auto const message = courier.receive(k_patience_s);
            ASSERT_TRUE(message && message->kind == MessageKind::goodbye);
        }
        courier.close();
        barrier(world);
    }

    Courier courier;

private:
    int goodbyes_ = 0;
};

void fill(MutableBytes bytes, std::uint64_t key) {
    Rng rng(key);
    for (std::size_t i = 0; i + 4 <= bytes.size(); i += 4) {
        auto const word = rng.next_u32();
        std::memcpy(bytes.data() + i, &word, 4);
    }
}

TEST(Courier, MessagesOfEverySizeArriveInOrder) {
    on_every_rank(3, [](World& world) {
        Post post(world, {});
        auto& courier = post.courier;
        auto const next_rank = Rank((world.rank().value + 1) % world.size());
        constexpr int count = 200;
        for (int i = 0; i < count; ++i) {
            auto body = number(i);
            if (i % 7 == 0) body.resize(100000);  // a rendezvous among eager ones
            courier.send(next_rank, MessageKind::test, std::move(body));
        }
        for (int i = 0; i < count; ++i) EXPECT_EQ(number(post.next().body), i);
        post.leave();
        EXPECT_GT(courier.bytes_sent(Traffic::control), 29U * 100000U);
        EXPECT_EQ(courier.bytes_sent(Traffic::state), 0U);
    });
}

// Which ranks hand memory over, and take it.
enum class Sharing { none, odd_ranks, everybody };
constexpr auto k_sharings = {Sharing::none, Sharing::odd_ranks, Sharing::everybody};

void let_share(Courier& courier, Sharing sharing) {
    if (sharing == Sharing::everybody || (sharing == Sharing::odd_ranks && courier.world().rank().value % 2 == 1))
        courier.pool().share_memory();
}

void expect_states_of_any_size(Sharing sharing) {
    on_every_rank(3, [sharing](World& world) {
        Post post(world, {.piece_bytes = 4096});
        auto& courier = post.courier;
        let_share(courier, sharing);
        std::vector<std::size_t> const sizes = {64, 4096, 4160, 100032, 1000000};
        auto const next_rank = Rank((world.rank().value + 1) % world.size());
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            auto state = courier.pool().acquire(sizes[i]);
            fill(state.bytes(), i);
            courier.push(next_rank, number(static_cast<std::int64_t>(i)), std::move(state));
        }
        std::vector<bool> seen(sizes.size());
        for (std::size_t n = 0; n < sizes.size(); ++n) {
            auto const message = post.next();
            ASSERT_EQ(message.kind, MessageKind::state);
            auto const i = static_cast<std::size_t>(number(message.body));
            seen[i] = true;
            std::vector<std::byte> expected(sizes[i]);
            fill(expected, i);
            ASSERT_EQ(message.state.bytes().size(), sizes[i]);
            EXPECT_EQ(xxh3(message.state.bytes()), xxh3(expected));
        }
        EXPECT_EQ(std::count(seen.begin(), seen.end(), true), static_cast<long>(sizes.size()));
        post.leave();
        EXPECT_EQ(courier.bytes_sent(Traffic::state), std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}));
    });
}

TEST(Courier, StatesOfAnySizeArriveWholeWithTheirHeaders) {
    for (auto const sharing : k_sharings) expect_states_of_any_size(sharing);
}

// A state of each rank goes round, and every rank adds one to all of it: no one works on memory that is another's. They may
// overtake each other, so their headers say how often they have hopped.
TEST(Courier, StatesThatGoRoundAreWholeEverywhere) {
    for (auto const sharing : k_sharings)
        on_every_rank(4, [sharing](World& world) {
            Post post(world, {.piece_bytes = 1 << 16});
            auto& courier = post.courier;
            let_share(courier, sharing);
            constexpr std::size_t bytes = 400000;
            auto const next = Rank((world.rank().value + 1) % world.size());
            auto mine = courier.pool().acquire(bytes);
            std::ranges::fill(mine.bytes(), std::byte{0});
            std::int64_t hops = 0;
            constexpr int rounds = 40;
            for (int round = 0; round < rounds; ++round) {
                courier.push(next, number(hops + 1), std::move(mine));
                auto message = post.next();
                hops = number(message.body);
                mine = std::move(message.state);
                for (auto& b : mine.bytes()) b = static_cast<std::byte>(static_cast<int>(b) + 1);
                EXPECT_TRUE(std::ranges::all_of(mine.bytes(), [&](std::byte b) {
                    return b == static_cast<std::byte>(hops);
                })) << hops;
            }
            mine = Buffer();
            post.leave();
            EXPECT_EQ(courier.bytes_sent(Traffic::state), world.size() == 1 ? 0 : rounds * bytes);
        });
}

// Everyone pushes to everyone at once: receives depend on the receiver's own progress only, so nothing locks up.
void expect_no_deadlock(Sharing sharing) {
    on_every_rank(4, [sharing](World& world) {
        Post post(world, {.piece_bytes = 1 << 16});
        auto& courier = post.courier;
        let_share(courier, sharing);
        int const others = world.size() - 1;
        for (int round = 0; round < 5; ++round)
            for (int offset = 1; offset <= others; ++offset)
                courier.push(Rank((world.rank().value + offset) % world.size()), number(round),
                             courier.pool().acquire(300000));
        for (int n = 0; n < 5 * others; ++n) EXPECT_EQ(post.next().state.bytes().size(), 300000U);
        post.leave();
    });
}

TEST(Courier, CrossingPushesDoNotDeadlock) {
    for (auto const sharing : k_sharings) expect_no_deadlock(sharing);
}

TEST(Courier, HeartbeatsCarryTheActivity) {
    on_every_rank(2, [](World& world) {
        Post post(world, {.heartbeat_s = 0.01});
        auto& courier = post.courier;
        if (world.rank() == Rank(0)) {
            for (int rank = 1; rank < world.size(); ++rank) EXPECT_EQ(number(post.next().body), 1);
            for (int rank = 1; rank < world.size(); ++rank) {
                std::optional<Heartbeat> beat;
                while (!beat || beat->batches != 42) beat = courier.peers().last_heartbeat(Rank(rank));
                EXPECT_EQ(beat->trial, TrialId(7));
            }
            for (int rank = 1; rank < world.size(); ++rank) courier.send(Rank(rank), MessageKind::test, number(2));
        } else {
            courier.activity().batches = 42;
            courier.activity().trial = 7;
            courier.send(Rank(0), MessageKind::test, number(1));
            EXPECT_EQ(number(post.next().body), 2);  // it beats until then
        }
        post.leave();
    });
}

// Threads only, as below. A loss is news, once; then that rank is dead: nothing goes to it, nothing comes from it.
TEST(Courier, ASilentTrainerIsLostAndBuriedWhereTheJobSurvives) {
    if (testing::mpi_world()) return;  // a silent MPI rank could not leave in good order
    auto const hub = make_thread_hub(3);
    auto const world = make_thread_world(hub, Rank(0)), silent = make_thread_world(hub, Rank(1)),
               other = make_thread_world(hub, Rank(2));
    TestClock clock;
    Courier courier(*world, {.clock = clock.reader()}), alive(*other, {});
    courier.peers().survive_losses();
    auto block = courier.pool().acquire(100);
    courier.push(Rank(1), {}, std::move(block));  // it will never take it
    courier.peers().watch({.deadline_s = 1e6, .silence_s = 2});
    std::optional<Incoming> news;
    do {  // time passes only when rank 2 has been heard, in steps that are shorter than a nap
        clock.advance(0.4);
        clock.await_readings(20);  // without traffic: the courier has looked for silent ranks
        alive.send(Rank(0), MessageKind::test, {});
        news = courier.receive(k_patience_s);
        ASSERT_TRUE(news);
    } while (news->kind == MessageKind::test);
    ASSERT_EQ(news->kind, MessageKind::lost);
    EXPECT_EQ(decode<Lost>(news->body).rank, Rank(1));
    EXPECT_TRUE(courier.peers().is_lost(Rank(1)));
    EXPECT_EQ(courier.peers().living(), std::vector<Rank>{Rank(2)});
    EXPECT_FALSE(courier.pushes_delivered());
    courier.bury(Rank(1));
    EXPECT_TRUE(courier.pushes_delivered());
    Courier awake(*silent, {});  // it wakes, and talks
    awake.send(Rank(0), MessageKind::test, {});
    alive.send(Rank(0), MessageKind::test, {std::byte{7}});
    auto next = courier.receive(k_patience_s);
    while (next && next->from == Rank(2) && next->body.empty()) next = courier.receive(k_patience_s);  // of the loop
    ASSERT_TRUE(next);
    EXPECT_EQ(next->from, Rank(2));
    EXPECT_THROW(while (true) awake.receive(1), CommError) << "it hears that the job goes on without it";
}

// Threads only: a rank that says nothing (it has no courier) must be named, with the seconds.
TEST(Courier, ASilentTrainerIsNamedWithinTheDeadline) {
    if (testing::mpi_world()) return;  // a silent MPI rank could not leave in good order
    auto const hub = make_thread_hub(2);
    auto const world = make_thread_world(hub, Rank(0));
    TestClock clock(0.05);  // some readings a look: less than a nap
    Courier courier(*world, {.clock = clock.reader()});
    courier.peers().set_name(Rank(1), "rank 1 (node9)");
    courier.peers().watch({.silence_s = 2});
    try {
        while (true) courier.receive(1);
    } catch (CommError const& error) {
        EXPECT_NE(std::string(error.what()).find("rank 1 (node9) has been silent for"), std::string::npos) << error.what();
    }
}

TEST(Courier, APushThatNobodyTakesFailsWithinTheDeadline) {
    if (testing::mpi_world()) return;  // a silent MPI rank could not leave in good order
    auto const hub = make_thread_hub(2);
    auto const world = make_thread_world(hub, Rank(0));
    TestClock clock(1);
    Courier courier(*world, {.clock = clock.reader()});
    courier.push(Rank(1), {}, courier.pool().acquire(100));
    try {
        while (true) courier.receive(1);
    } catch (CommError const& error) {
        EXPECT_NE(std::string(error.what()).find("rank 1 took no piece of a state"), std::string::npos) << error.what();
    }
}

// After rank 0's shutdown others may have left already: what was pushed to them holds no one up, a last word to rank 0
// arrives.
TEST(Courier, AfterTheShutdownNobodyWaitsForWhoHasLeft) {
    if (testing::mpi_world()) return;  // its order of events needs threads
    std::promise<void> left;
    run_thread_ranks(3, [&](World& world) {
        Courier courier(world, {});
        auto const next = [&] {
            auto message = courier.receive(k_patience_s);
            return message ? message->kind : MessageKind::test;
        };
        if (world.rank() == Rank(0)) {
            for (int const rank : {1, 2}) courier.send(Rank(rank), MessageKind::shutdown, {});
            EXPECT_EQ(next(), MessageKind::goodbye);
            return courier.close();
        }
        EXPECT_EQ(next(), MessageKind::shutdown);
        if (world.rank() == Rank(2)) {
            courier.close();
            return left.set_value();
        }
        left.get_future().wait();
        courier.push(Rank(2), {}, courier.pool().acquire(100), MessageKind::parameters);
        courier.send(Rank(2), MessageKind::share, {});
        courier.send(Rank(0), MessageKind::goodbye, {});
        courier.close();
    });
}

// Rank 0 may be gone as soon as its farewell has been taken. A heartbeat that no one takes would hold the trainer up.
TEST(Courier, AfterTheFarewellNoHeartFollows) {
    if (testing::mpi_world()) return;  // its order of events needs threads
    auto const hub = make_thread_hub(2);
    auto const world = make_thread_world(hub, Rank(0)), other = make_thread_world(hub, Rank(1));
    TestClock clock;
    Courier trainer(*other, {.clock = clock.reader()});
    {
        Courier scheduler(*world, {});
        scheduler.stop_beating();
        scheduler.send(Rank(1), MessageKind::farewell, {});
        scheduler.close();
    }
    auto const message = trainer.receive(k_patience_s);
    ASSERT_TRUE(message && message->kind == MessageKind::farewell);
    clock.advance(10);         // many hearts are due
    clock.await_readings(20);  // at most four a turn: the trainer's thread has had its chance to send them
    trainer.leave_quietly();
    clock.step_at_each_reading(1);  // a heart that is never taken costs looks, not a minute
    EXPECT_NO_THROW(trainer.close());
}

// Making, mapping or page-locking the memory of a large state takes seconds. Meanwhile messages and heartbeats go their way.
TEST(Courier, MessagesFlowWhileTheMemoryForAStateIsMade) {
    if (testing::mpi_world()) return;  // its order of events needs threads
    for (auto const sharing : {Sharing::none, Sharing::everybody}) {
        auto const hub = make_thread_hub(2);
        auto const world = make_thread_world(hub, Rank(0)), other = make_thread_world(hub, Rank(1));
        Courier sender(*world, {}), receiver(*other, {});
        std::promise<void> begun, heard;
        receiver.pool().set_pinning({[&](void*, std::size_t) {
                                         begun.set_value();
                                         heard.get_future().wait();
                                         return false;
                                     },
                                     [](void*) {}});
        for (auto* courier : {&sender, &receiver}) let_share(*courier, sharing);
        constexpr std::size_t bytes = 20 << 20;
        auto state = sender.pool().acquire(bytes);
        fill(state.bytes(), 3);
        auto const hash = xxh3(state.bytes());
        sender.push(Rank(1), number(3), std::move(state));
        begun.get_future().wait();
        sender.send(Rank(1), MessageKind::test, {});
        auto message = receiver.receive(k_patience_s);
        heard.set_value();
        ASSERT_TRUE(message && message->kind == MessageKind::test) << "the courier waits for the memory";
        message = receiver.receive(k_patience_s);
        ASSERT_TRUE(message && message->kind == MessageKind::state);
        EXPECT_EQ(number(message->body), 3);
        EXPECT_EQ(xxh3(message->state.bytes()), hash);
    }
}

// Another world, some of whose answers differ.
class Wrapped : public World {
public:
    explicit Wrapped(World& inner) : inner_(inner) {}
    Rank rank() const override { return inner_.rank(); }
    int size() const override { return inner_.size(); }
    std::string name() const override { return inner_.name(); }
    int number_on_host() const override { return inner_.number_on_host(); }
    int trainers_on_host() const override { return inner_.trainers_on_host(); }
    Request send(Rank to, int tag, ByteView bytes) override { return inner_.send(to, tag, bytes); }
    Request receive(Rank from, int tag, MutableBytes into) override { return inner_.receive(from, tag, into); }
    bool done(Request request) override { return inner_.done(request); }
    void cancel(Request request) override { inner_.cancel(request); }
    std::optional<Arrival> probe(int tag) override { return inner_.probe(tag); }
    bool set_bell(std::function<void()> bell) override { return inner_.set_bell(std::move(bell)); }
    void vanish() override { inner_.vanish(); }
    void abort(int exit_code) override { inner_.abort(exit_code); }

private:
    World& inner_;
};

// As if ULFM had ruined the sends of pieces: they are not done, although the peer has them.
class RuinedPieces : public Wrapped {
public:
    using Wrapped::Wrapped;
    Request send(Rank to, int tag, ByteView bytes) override {
        auto const request = Wrapped::send(to, tag, bytes);
        tag == 0 ? pieces_.erase(request.slot) : pieces_.insert(request.slot).second;
        return request;
    }
    bool done(Request request) override { return !(ruined && pieces_.contains(request.slot)) && Wrapped::done(request); }
    std::atomic<bool> ruined = true;

private:
    std::set<std::size_t> pieces_;
};

TEST(Courier, APieceThatIsNeverDoneHoldsNobodyUp) {
    if (testing::mpi_world()) return;  // its pieces need an order that only threads can have
    auto const hub = make_thread_hub(2);
    auto const inner = make_thread_world(hub, Rank(0)), other = make_thread_world(hub, Rank(1));
    RuinedPieces world(*inner);
    Courier sender(world, {}), receiver(*other, {});
    sender.push(Rank(1), {}, sender.pool().acquire(1000));
    ASSERT_TRUE(receiver.receive(k_patience_s));
    receiver.send(Rank(0), MessageKind::test, {});  // behind the receipt
    EXPECT_TRUE(sender.receive(k_patience_s)) << "the courier waits for the piece";
    world.ruined = false;
    while (!sender.pushes_delivered()) std::this_thread::yield();
}

// As MPI may: completes a cancelled request all the same.
class LateWorld : public Wrapped {
public:
    using Wrapped::Wrapped;
    Request send(Rank to, int tag, ByteView bytes) override {
        auto const request = Wrapped::send(to, tag, bytes);
        reads_[request.slot] = {bytes, Bytes(bytes.begin(), bytes.end())};
        writes_.erase(request.slot);
        return request;
    }
    Request receive(Rank from, int tag, MutableBytes into) override {
        auto const request = Wrapped::receive(from, tag, into);
        writes_[request.slot] = into;
        reads_.erase(request.slot);
        return request;
    }
    void cancel(Request request) override {
        if (auto const read = reads_.find(request.slot); read != reads_.end()) late_reads.push_back(read->second);
        if (auto const write = writes_.find(request.slot); write != writes_.end()) late_writes.push_back(write->second);
        Wrapped::cancel(request);
    }

    struct Read {
        ByteView bytes;
        Bytes then;
    };
    std::vector<Read> late_reads;
    std::vector<MutableBytes> late_writes;

private:
    std::map<std::size_t, Read> reads_;  // by slot
    std::map<std::size_t, MutableBytes> writes_;
};

// Takes nothing, and offers states whose pieces do not come.
class NeverReady : public Wrapped {
public:
    using Wrapped::Wrapped;
    Request send(Rank to, int tag, ByteView bytes) override { return tag == 0 ? Wrapped::send(to, tag, bytes) : never_; }
    bool done(Request request) override { return request.slot != never_.slot && Wrapped::done(request); }
    std::optional<Arrival> probe(int) override { return std::nullopt; }

private:
    Request never_{std::size_t{1} << 40};
};

// The courier is gone, but MPI moves bytes until MPI_Finalize.
TEST(Courier, MemoryOfCancelledRequestsLastsAsLongAsTheWorld) {
    if (testing::mpi_world()) return;  // its order of events needs threads
    constexpr std::size_t pushed = 100'000, offered = 200'000, exchanged = 400'000;
    auto const hub = make_thread_hub(3);
    auto const first = make_thread_world(hub, Rank(0)), inner = make_thread_world(hub, Rank(1)),
               other = make_thread_world(hub, Rank(2));
    LateWorld world(*inner);
    NeverReady never(*other);
    Courier scheduler(*first, {}), peer(never, {});
    auto courier = std::make_unique<Courier>(world, CourierOptions{});
    auto const pool = courier->pool().shared_from_this();
    courier->push(Rank(2), {}, pool->acquire(pushed));
    courier->send(Rank(2), MessageKind::share, Bytes(pushed));
    auto scratch = pool->acquire(exchanged);
    auto const into = scratch.bytes();
    Exchange::Plan plan{.rounds = {{{}, {{Rank(2), into}}}}, .scratch = std::move(scratch)};
    courier->start(std::make_shared<Exchange>(std::move(plan), 1));
    peer.push(Rank(1), {}, peer.pool().acquire(offered));
    peer.send(Rank(1), MessageKind::test, {});  // after the offer
    ASSERT_TRUE(courier->receive(k_patience_s));
    scheduler.send(Rank(1), MessageKind::shutdown, {});
    ASSERT_TRUE(courier->receive(k_patience_s));
    courier->close();
    courier.reset();
    EXPECT_EQ(world.late_writes.size(), 2U) << "the state and the exchange";
    EXPECT_EQ(world.late_reads.size(), 3U) << "the offer, its piece and the message";
    std::array const next{pool->acquire(pushed), pool->acquire(offered), pool->acquire(exchanged)};
    for (auto const& buffer : next) std::memset(buffer.bytes().data(), 7, buffer.bytes().size());
    for (auto const& late : world.late_writes) {
        std::memset(late.data(), 9, late.size());
        for (auto const& buffer : next) EXPECT_NE(buffer.bytes().data(), late.data()) << "another state's now";
    }
    for (auto const& late : world.late_reads)
        EXPECT_TRUE(std::ranges::equal(late.bytes, late.then)) << "of " << late.then.size() << " bytes";
}

class Failing : public Wrapped {
public:
    Failing(World& inner, std::vector<Rank> failed) : Wrapped(inner), failed_(std::move(failed)) {}
    std::vector<Rank> failed() override { return std::exchange(failed_, {}); }

private:
    std::vector<Rank> failed_;
};

// A process's death is news on both of its communicators. One that is not asked stays deaf to the rank behind it (ULFM: no
// receive from any rank before the failure is acknowledged).
TEST(SharedWorld, AsksBothWorldsWhoHasFailed) {
    if (testing::mpi_world()) return;  // its lost ranks are made up
    auto const hub = make_thread_hub(3);
    auto const inner = make_thread_world(hub, Rank(1));
    Failing processes(*inner, {Rank(2)}), beside(*inner, {Rank(0), Rank(2)});
    SharedWorld world(processes, {beside, Rank(0), Rank(3)}, {Rank(1), 0, 2}, 4);
    EXPECT_EQ(world.failed(), (std::vector<Rank>{Rank(2), Rank(3)})) << "rank 3 lives in process 0";
    EXPECT_EQ(beside.failed(), std::vector<Rank>{}) << "acknowledged";
    EXPECT_EQ(world.failed(), std::vector<Rank>{});
}

// A rank that sleeps until its bell rings must hear of each message, and of each request that is done.
TEST(ThreadWorld, RingsForWhatComesAndForWhatIsTaken) {
    auto const hub = make_thread_hub(2);
    auto const a = make_thread_world(hub, Rank(0)), b = make_thread_world(hub, Rank(1));
    int rings_a = 0, rings_b = 0;
    ASSERT_TRUE(a->set_bell([&] { ++rings_a; }));
    ASSERT_TRUE(b->set_bell([&] { ++rings_b; }));
    std::array<std::byte, 4> const sent{};
    std::array<std::byte, 4> first{}, second{};
    auto const waiting = a->send(Rank(1), 3, sent);  // before its receive
    EXPECT_EQ(rings_b, 1);
    EXPECT_FALSE(a->done(waiting));
    EXPECT_TRUE(b->done(b->receive(Rank(0), 3, first)));
    EXPECT_EQ(rings_a, 1);
    EXPECT_TRUE(a->done(waiting));
    auto const ready = b->receive(Rank(0), 3, second);  // before its send
    EXPECT_FALSE(b->done(ready));
    a->send(Rank(1), 3, sent);
    EXPECT_EQ(rings_b, 2);
    EXPECT_TRUE(b->done(ready));
    b->set_bell({});
    a->send(Rank(1), 3, sent);
    EXPECT_EQ(rings_b, 2);
}

TEST(ThreadWorld, AnExceptionInOneRankEndsAllAndIsTheOneThrown) {
    if (testing::mpi_world()) return;  // an exception of one rank ends an MPI job
    try {
        run_thread_ranks(3, [](World& world) {
            if (world.rank() == Rank(1)) throw DataError("rank 1 broke");
            Courier courier(world, {});
            while (true) courier.receive(1);
        });
        FAIL() << "nothing was thrown";
    } catch (DataError const& error) {
        EXPECT_STREQ(error.what(), "rank 1 broke");
    }
}

}  // namespace courier_test
}  // namespace hopscotch
