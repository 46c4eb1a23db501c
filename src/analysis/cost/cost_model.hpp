// SPDX-License-Identifier: Apache-2.0
// Closed forms of the cost of communication: bytes exactly, seconds in the latency-bandwidth model (Hockney 1994). Pure.
// Letters in the formulas: K ranks, W bytes of weights (= of a gradient), O of optimizer slots, a seconds of latency, B
// bytes/s, g seconds a byte added, D bytes of training data, M models, k epochs. strategy_cost.hpp adds them up for each
// strategy.
#pragma once
#include <cstdint>
#include <optional>
#include <span>

#include "core/ids.hpp"
#include "experiment/strategy_config.hpp"

namespace hopscotch {

struct Link {
    double bytes_per_s = 1.25e9;   // B, of each rank, in each direction at the same time
    double latency_s = 1e-4;       // a, of a message
    double reduce_s_per_byte = 0;  // g
    double message_s = 0;          // of the processor, for every message beyond the first to others at the same time
};

// ---- Seconds until every rank has the sum of W bytes. One rank alone: 0.
enum class Collective { ring, direct, star, tree, halving_doubling };

// ring (Patarasuk and Yuan 2009):        2(K-1)a + 2(K-1)/K W/B + (K-1)/K W g
// direct (reduce-scatter and all-gather, everyone with everyone; here `deterministic`, and a parameter server on every
// rank):
//                                        2(a + (K-2) message_s) + 2(K-1)/K W/B + (K-1)/K W g
// star: the first rank is the master:    star_seconds(K - 1, ...)
// tree (double binary, pipelined; Sanders, Speck and Traeff 2009, NCCL):  2 ceil(log2 K) a + 2W/B
// halving_doubling (Rabenseifner 2004):  2 ceil(log2 K) a + 2(K-1)/K W/B
double all_reduce_seconds(Collective collective, int ranks, double bytes, Link const& link);

// One master adds what `peers` others send and sends each the sum: 2a + 2 peers W/B + peers W g. SparkNet's driver (Moritz
// et al. 2016), which trains nothing itself, has K peers; a master among the K has K-1.
double star_seconds(int peers, double bytes, Link const& link);

enum class ServerFlow { push_then_pull, pipelined };  // pipelined: the first parts are pulled while the last are pushed

// One synchronous step of K workers and s servers of equal parts, on their ranks or on ranks of their own: 2a + K W g/s +
// the bandwidth term (Li et al. 2014; BytePS 2020):
//   dedicated   pipelined max(1, K/s) W/B, else twice that
//   colocated   the busiest rank's bytes out over B: as a worker W(1-1/s) (W where ranks without a server are left) and as a
//               server (K-1)W/s; pipelined their sum on a serving rank, else twice the larger one. s = K: the ring's
//               2(K-1)/K W/B.
struct Servers {
    int count = 1;
    ServerPlacement placement = ServerPlacement::colocated;
    ServerFlow flow = ServerFlow::push_then_pull;
};
double parameter_server_seconds(int workers, Servers const& servers, double bytes, Link const& link);

// Seconds between two updates of one worker, where every worker pulls and pushes W bytes at its own pace: the worker's own
// time, or its share of the servers' link: max(step_s + 2a + 2W/B, K W/(s B)). A dedicated server's view (Li et al. 2014).
double async_update_seconds(int workers, int servers, double step_s, double bytes, Link const& link);

// A state of W + O bytes to another rank: a + (W+O)/B.
double hop_seconds(double state_bytes, Link const& link);

// ---- Bytes that all ranks together send; exact.

// An all-reduce of any kind, or through a master that trains too: 2(K-1)W. Through a master that does not: 2KW.
std::int64_t all_reduce_bytes(int ranks, std::int64_t bytes);
std::int64_t star_bytes(int workers, std::int64_t bytes, ServerPlacement master);

// A push and a pull of every part by every worker. home: the worker whose rank serves the part, for whom it costs nothing;
// none: a rank besides the workers. So 2KW when all are dedicated and 2(K-1)W when all are colocated, however many servers.
struct PartAndHome {
    std::int64_t bytes = 0;
    std::optional<TrainerId> home;
};
std::int64_t parameter_server_step_bytes(int workers, std::span<PartAndHome const> parts);

// Hops of M models over p trainers in k epochs (Cerebro, VLDB 2020, with one shard a trainer). every_epoch: home again at
// the end of an epoch, k M p. when_it_must: the next epoch starts where this one ended, k M (p-1). One trainer: none.
enum class ReturnHome { every_epoch, when_it_must };
std::int64_t mop_hops(std::int64_t models, std::int64_t epochs, int trainers, ReturnHome rule);
std::int64_t hop_bytes(std::int64_t hops, std::int64_t state_bytes);  // hops (W+O)

// Task parallelism needs all D bytes where a model trains: copied once, or read again in every epoch of every model.
// trainers: 1/p of the data is with each trainer already. elsewhere: a store besides them, as Cerebro counts.
enum class DataAt { trainers, elsewhere };
std::int64_t replication_bytes(std::int64_t dataset_bytes, int trainers, DataAt at);  // (p-1)D; elsewhere: pD
std::int64_t remote_read_bytes(std::int64_t dataset_bytes, std::int64_t passes, int trainers,
                               DataAt at);  // kM D(p-1)/p; kM D

// ---- Schedules

// Of whole models that never move: no schedule is shorter than max(sum/p, longest), and a greedy one is not longer than
// sum/p + (1-1/p) longest (Graham 1969). Of MOP's units the same lower bound holds with equal shards (open shop).
struct MakespanBounds {
    double lower = 0, upper = 0;
};
MakespanBounds makespan_bounds(std::span<double const> costs, int trainers);

// Longest first, each to the trainer that is free first: at most 4/3 - 1/(3p) of the best (Graham 1969).
double longest_first_makespan(std::span<double const> costs, int trainers);

}  // namespace hopscotch
