// SPDX-License-Identifier: Apache-2.0
// Decides when a part of a training step is launched kernel by kernel, and when as a CUDA graph. A GraphPart knows how a
// part is captured (step_graphs.hpp; in tests a fake).
//   a key comes for the    1st, 2nd, 3rd time: run | 4th: capture, which compares | from then on: replay
// Trials of one structure on the same memory have the same key: one of them captures, the others replay.
// A part that cannot be captured, or whose first replay differs, stays with run() for good. The log gives the reason once.
#pragma once
#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace hopscotch {

class Graph {
public:
    virtual ~Graph() = default;
    virtual void replay() = 0;
};

// One part of a step, with the arguments of the step that is due.
class GraphPart {
public:
    virtual ~GraphPart() = default;
    virtual void run() = 0;                 // kernel by kernel
    virtual int warm_ups() const = 0;       // how often, before it is captured
    virtual void replay(Graph& graph) = 0;  // as run()

    struct Captured {
        std::unique_ptr<Graph> graph;
        std::string problem;  // if there is no graph: why
    };
    // Does the part once by run(), captures it, and from the same start does it once by replay(), which must agree.
    // Afterwards the part has been done once, with a graph or without. run() comes first: where the part needs half of the
    // device, it finds no memory beside the graph's. Throws only if nothing has been changed, or all of it put back.
    virtual Captured capture() = 0;
};

// Everything that a graph has frozen. Every different key needs a graph of its own.
struct GraphKey {
    enum class Part { gradient, update, step, gathering, several, outputs };
    std::uint64_t structure = 0;  // of the trial: model, loss, optimizer, precision ... but no number of a search
    Part part = Part::gradient;
    std::int64_t rows = 0;                   // of the batch; the update has none
    std::array<std::uintptr_t, 4> memory{};  // where state, gradient and batch lie: they move when a larger model is bound
    auto operator<=>(GraphKey const&) const = default;
};

class GraphCache {
public:
    using Say = std::function<void(std::string const& sentence)>;
    static constexpr int k_warm_ups = 3;  // torch's advice: meanwhile libraries choose algorithms and allocate their memory
    static constexpr std::size_t k_most = 256;  // graphs; each holds a few kilobytes a kernel on the device

    explicit GraphCache(Say say, std::size_t most = k_most) : say_(std::move(say)), most_(most) {}

    // Does the part once. `name`: of the model, for the log. Throws the exceptions of the part.
    void run(GraphKey const& key, std::string const& name, GraphPart& part);

    // Records that this model does without graphs, and why; once for each name and reason.
    void explain(std::string const& name, std::string const& reason);

    void drop();                            // all graphs, which keep memory; they are captured again
    bool keeps(GraphKey const& key) const;  // a graph of this key, which has been checked
    bool refuses(std::uint64_t structure, GraphKey::Part part) const { return refused_.contains({structure, part}); }
    std::size_t graphs() const { return graphs_; }  // that are kept
    std::vector<std::string> reasons() const;       // for which some model does without graphs

private:
    struct Entry {
        int warm_ups = 0;        // so far
        int wanted = -1;         // not known yet
        std::uint64_t used = 0;  // when, by clock_
        std::unique_ptr<Graph> graph;
    };
    void capture(Entry& entry, GraphKey const& key, std::string const& name, GraphPart& part);
    void refuse(GraphKey const& key, std::string const& name, std::string const& reason);
    void make_room();

    Say say_;
    std::size_t most_, graphs_ = 0;
    std::uint64_t clock_ = 0;
    std::map<GraphKey, Entry> entries_;
    std::set<std::pair<std::uint64_t, GraphKey::Part>> refused_;
    std::set<std::pair<std::string, std::string>> said_;
};

}  // namespace hopscotch
