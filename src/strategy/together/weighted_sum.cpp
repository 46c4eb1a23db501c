// SPDX-License-Identifier: Apache-2.0
#include "strategy/together/weighted_sum.hpp"

#include <fmt/format.h>

#include "comm/codec.hpp"
#include "comm/courier.hpp"
#include "comm/nccl_group.hpp"
#include "comm/peers.hpp"
#include "experiment/config.hpp"
#include "strategy/common/roll_call_messages.hpp"
#include "strategy/common/trainer_gpu.hpp"
#include "strategy/common/worker_resources.hpp"
#include "strategy/together/collectives.hpp"
#include "strategy/together/group.hpp"
#include "strategy/trainer/job_ended.hpp"

namespace hopscotch {
namespace {

// From each member to the others.
struct Seat {
    std::string host;
    DeviceInfo device;

    template <class A>
    friend void fields(A& a, Seat& m) {
        a(m.host, m.device);
    }
};

NcclGroup::Terms terms_of(Group const& group, WorkerResources const& resources, std::string members) {
    NcclGroup::Terms terms;
    terms.ranks = group.size();
    terms.self = group.self();
    terms.members = std::move(members);
    terms.deadline_s = resources.experiment.run.limits.deadline_s;
    terms.stall_s = resources.experiment.run.limits.stall_s;
    terms.job_still_s = [&peers = resources.courier.peers()] { return peers.job_still_s(); };
    terms.look = [&activity = resources.courier.activity()] {
        if (activity.leave) throw JobEnded{};
    };
    return terms;
}

class NcclSum final : public WeightedSum {
public:
    // Collective: brings the group of GPUs up. members: "rank 1 (node3), ...", for errors. Throws CommError, JobEnded.
    NcclSum(Group& group, WorkerResources const& resources, std::shared_ptr<NcclCalls> calls, std::string members);
    void add_up(DeviceFloats values, double share, std::string what) override { nccl_.sum(values, share, std::move(what)); }
    void finish() override;
    void settle() override;

private:
    Group& group_;
    NcclGroup nccl_;
};

}  // namespace

void CourierSum::add_up(DeviceFloats values, double share, std::string what) {
    std::span const part(values.data, values.size);
    if (share != 1)
        for (auto& value : part) value *= static_cast<float>(share);
    under_way_.push_back(group_.sum(algorithm_, part, std::move(what)));
}

void CourierSum::finish() { group_.wait(std::exchange(under_way_, {})); }

NcclSum::NcclSum(Group& group, WorkerResources const& resources, std::shared_ptr<NcclCalls> calls, std::string members)
    : group_(group), nccl_(calls, terms_of(group, resources, std::move(members))) {
    auto const id = group.share(group.self() == 0 ? calls->make_id() : Bytes(), "the bring-up of NCCL").front();
    group.wait_for_device([&] { nccl_.bring_up(id); });
}

void NcclSum::finish() {
    group_.wait_for_device([&] { nccl_.end_step(); });
}

void NcclSum::settle() {
    group_.wait_for_device([&] { nccl_.settle(); });
}

std::unique_ptr<WeightedSum> make_nccl_sum(Group& group, WorkerResources const& resources) {
    auto const& experiment = resources.experiment;
    if (!collectives_depend_on_devices(experiment.strategy, experiment.run)) return nullptr;
    auto const told = group.share(encode(Seat{host_name(), resources.gpu.info}), "the devices of the group");
    std::map<Rank, HostDevice> members;
    std::string names;
    for (std::size_t k = 0; k < told.size(); ++k) {
        auto const rank = group.ranks().ranks[k];
        auto const seat = decode<Seat>(told[k]);
        members[rank] = {seat.host, seat.device};
        names += fmt::format("{}rank {} ({})", k == 0 ? "" : ", ", rank.value, seat.host);
    }
    if (choose_collectives(experiment.strategy, experiment.run, members).used != Collectives::nccl) return nullptr;
    return std::make_unique<NcclSum>(group, resources, resources.gpu.nccl(resources.gpu.info.name), std::move(names));
}

}  // namespace hopscotch
