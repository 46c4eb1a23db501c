// SPDX-License-Identifier: Apache-2.0
// The ranks of a job and non-blocking bytes between them. Two worlds, one test suite: MpiWorld (processes) and ThreadWorld
// (ranks as threads of one process). Once the job runs, only the courier calls a world; all other code uses the courier.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/byte_view.hpp"
#include "core/ids.hpp"

namespace hopscotch {

// A pending send or receive; its bytes must stay where they are until done() has returned true.
struct Request {
    std::size_t slot = 0;
};

struct Arrival {
    Rank from;
    std::size_t bytes = 0;
};

class World {
public:
    virtual ~World() = default;

    virtual Rank rank() const = 0;
    virtual int size() const = 0;
    virtual std::string name() const = 0;    // "mpi" or "threads"
    virtual int number_on_host() const = 0;  // of a trainer: how many trainers of lower rank run on this host
    virtual int trainers_on_host() const = 0;

    // Local. At most 2^31-1 bytes a call; the courier cuts larger things into pieces. Throw CommError.
    virtual Request send(Rank to, int tag, ByteView bytes) = 0;
    virtual Request receive(Rank from, int tag, MutableBytes into) = 0;
    virtual bool done(Request request) = 0;             // once true, the request is spent
    virtual void cancel(Request request) = 0;           // the request need not complete any more; see keep()
    virtual std::optional<Arrival> probe(int tag) = 0;  // the next message with this tag, from any rank

    // Holds the memory of requests that were cancelled or will never be done, as long as this world lives. The library may
    // still read or write there: a cancelled request may have met its peer's before.
    virtual void keep(std::shared_ptr<void> memory) { kept_.push_back(std::move(memory)); }

    // True if this world calls bell, in any thread, whenever something has come for this rank or a request of it is done;
    // an empty bell ends that. False: the rank must look again and again, as MPI wants it.
    virtual bool set_bell(std::function<void()>) { return false; }

    // Ranks that the library reports as dead (ULFM). Most libraries never report any: then only silence shows a death.
    virtual std::vector<Rank> failed() { return {}; }
    virtual void lose(Rank) {}  // no message goes to that rank any more

    // The job goes on without this rank, which was silent too long. The rank stops, and does not end: its end could disturb
    // the others.
    [[noreturn]] virtual void vanish() = 0;

    // Ends the whole job at once, on every rank.
    [[noreturn]] virtual void abort(int exit_code) = 0;

private:
    std::vector<std::shared_ptr<void>> kept_;
};

std::string host_name();

}  // namespace hopscotch
