// SPDX-License-Identifier: Apache-2.0
#include "analysis/cost/cost_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include "core/error.hpp"

namespace hopscotch {
namespace {

void check_ranks(int ranks) { require(ranks >= 1, fmt::format("a cost needs at least one rank (got {})", ranks)); }

int log2_ceil(int ranks) {
    int levels = 0;
    for (std::int64_t reached = 1; reached < ranks; reached *= 2) ++levels;
    return levels;
}

}  // namespace

double all_reduce_seconds(Collective collective, int ranks, double bytes, Link const& link) {
    check_ranks(ranks);
    if (ranks == 1) return 0;
    double const share = (ranks - 1.0) / ranks;  // of W that a rank sends in each of the two phases
    double const wire = bytes / link.bytes_per_s;
    double const sum = share * bytes * link.reduce_s_per_byte;
    switch (collective) {
        case Collective::ring: return 2 * (ranks - 1) * link.latency_s + 2 * share * wire + sum;
        case Collective::direct: return 2 * (link.latency_s + (ranks - 2) * link.message_s) + 2 * share * wire + sum;
        case Collective::star: return star_seconds(ranks - 1, bytes, link);
        case Collective::tree: return 2 * log2_ceil(ranks) * link.latency_s + 2 * wire;
        case Collective::halving_doubling: break;
    }
    return 2 * log2_ceil(ranks) * link.latency_s + 2 * share * wire;
}

double star_seconds(int peers, double bytes, Link const& link) {
    if (peers == 0) return 0;
    return 2 * link.latency_s + 2 * peers * bytes / link.bytes_per_s + peers * bytes * link.reduce_s_per_byte;
}

double parameter_server_seconds(int workers, Servers const& servers, double bytes, Link const& link) {
    check_ranks(workers);
    check_ranks(servers.count);
    double const part = bytes / servers.count;
    double const fixed = 2 * link.latency_s + workers * part * link.reduce_s_per_byte;
    if (servers.placement == ServerPlacement::dedicated) {
        double const busiest = std::max(bytes, workers * part);
        return fixed + (servers.flow == ServerFlow::pipelined ? 1 : 2) * busiest / link.bytes_per_s;
    }
    require(servers.count <= workers, fmt::format("{} servers do not fit on {} workers", servers.count, workers));
    if (workers == 1) return 0;
    double const as_worker = bytes - part, as_server = (workers - 1) * part;
    double const without_server = servers.count < workers ? bytes : 0;  // the bytes that a worker that serves nothing pushes
    double const out = servers.flow == ServerFlow::pipelined ? std::max(as_worker + as_server, without_server)
                                                             : 2 * std::max({as_worker, as_server, without_server});
    return fixed + out / link.bytes_per_s;
}

double async_update_seconds(int workers, int servers, double step_s, double bytes, Link const& link) {
    check_ranks(workers);
    check_ranks(servers);
    return std::max(step_s + 2 * link.latency_s + 2 * bytes / link.bytes_per_s,
                    workers * bytes / (servers * link.bytes_per_s));
}

double hop_seconds(double state_bytes, Link const& link) { return link.latency_s + state_bytes / link.bytes_per_s; }

std::int64_t all_reduce_bytes(int ranks, std::int64_t bytes) {
    check_ranks(ranks);
    return 2 * (ranks - 1) * bytes;
}

std::int64_t star_bytes(int workers, std::int64_t bytes, ServerPlacement master) {
    check_ranks(workers);
    return 2 * (master == ServerPlacement::dedicated ? workers : workers - 1) * bytes;
}

std::int64_t parameter_server_step_bytes(int workers, std::span<PartAndHome const> parts) {
    check_ranks(workers);
    std::int64_t sum = 0;
    for (auto const& part : parts) {
        bool const own = part.home && part.home->value >= 0 && part.home->value < workers;
        sum += 2 * (own ? workers - 1 : workers) * part.bytes;
    }
    return sum;
}

std::int64_t mop_hops(std::int64_t models, std::int64_t epochs, int trainers, ReturnHome rule) {
    check_ranks(trainers);
    if (trainers == 1) return 0;
    return epochs * models * (rule == ReturnHome::every_epoch ? trainers : trainers - 1);
}

std::int64_t hop_bytes(std::int64_t hops, std::int64_t state_bytes) { return hops * state_bytes; }

std::int64_t replication_bytes(std::int64_t dataset_bytes, int trainers, DataAt at) {
    check_ranks(trainers);
    return (at == DataAt::elsewhere ? trainers : trainers - 1) * dataset_bytes;
}

std::int64_t remote_read_bytes(std::int64_t dataset_bytes, std::int64_t passes, int trainers, DataAt at) {
    check_ranks(trainers);
    if (at == DataAt::elsewhere) return passes * dataset_bytes;
    return passes * (dataset_bytes - dataset_bytes / trainers);
}

MakespanBounds makespan_bounds(std::span<double const> costs, int trainers) {
    check_ranks(trainers);
    if (costs.empty()) return {};
    double const share = std::accumulate(costs.begin(), costs.end(), 0.0) / trainers;
    double const longest = *std::max_element(costs.begin(), costs.end());
    return {std::max(share, longest), share + (1 - 1.0 / trainers) * longest};
}

double longest_first_makespan(std::span<double const> costs, int trainers) {
    check_ranks(trainers);
    std::vector<double> sorted(costs.begin(), costs.end());
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    std::vector<double> free_at(static_cast<std::size_t>(trainers), 0.0);
    for (double const cost : sorted) *std::min_element(free_at.begin(), free_at.end()) += cost;
    return *std::max_element(free_at.begin(), free_at.end());
}

}  // namespace hopscotch
