// SPDX-License-Identifier: Apache-2.0
#include "model/gpu/graph_cache.hpp"

#include <algorithm>
#include <exception>

namespace hopscotch {
namespace {

constexpr int k_most_warm_ups = 1 << 20;

// The first line: torch appends a page of stack.
std::string first_line(std::string const& text) { return text.substr(0, text.find('\n')); }

char const* words(GraphKey::Part part) {
    switch (part) {
        case GraphKey::Part::gradient: return "gradients";
        case GraphKey::Part::update: return "updates";
        case GraphKey::Part::step: return "steps";
        case GraphKey::Part::gathering: return "steps with their gather";
        case GraphKey::Part::outputs: return "evaluation";
        case GraphKey::Part::several: break;
    }
    return "several steps at once";
}

}  // namespace

void GraphCache::run(GraphKey const& key, std::string const& name, GraphPart& part) {
    if (!refused_.empty() && refuses(key.structure, key.part)) return part.run();
    auto& entry = entries_[key];
    entry.used = ++clock_;
    if (entry.wanted < 0) entry.wanted = part.warm_ups();
    if (entry.graph) return part.replay(*entry.graph);
    if (entry.warm_ups < entry.wanted) {
        ++entry.warm_ups;
        return part.run();
    }
    capture(entry, key, name, part);
}

void GraphCache::capture(Entry& entry, GraphKey const& key, std::string const& name, GraphPart& part) {
    GraphPart::Captured captured;
    try {
        make_room();
        captured = part.capture();
    } catch (std::exception const& error) {
        refuse(key, name, "a graph could not be checked: " + first_line(error.what()));
        return part.run();
    }
    if (!captured.graph) return refuse(key, name, first_line(captured.problem));
    entry.graph = std::move(captured.graph);
    ++graphs_;
}

// Refuses this structure and part for any number of rows: the next capture would fail alike.
void GraphCache::refuse(GraphKey const& key, std::string const& name, std::string const& reason) {
    refused_.insert({key.structure, key.part});
    for (auto at = entries_.begin(); at != entries_.end();) {
        bool const gone = at->first.structure == key.structure && at->first.part == key.part;
        if (gone && at->second.graph) --graphs_;
        at = gone ? entries_.erase(at) : std::next(at);
    }
    explain(name, std::string(words(key.part)) + ": " + reason);
}

void GraphCache::explain(std::string const& name, std::string const& reason) {
    if (said_.insert({name, reason}).second) say_(name + " trains without CUDA graphs (" + reason + ")");
}

std::vector<std::string> GraphCache::reasons() const {
    std::vector<std::string> out;
    for (auto const& [name, reason] : said_) out.push_back(reason);
    return out;
}

// Drops the graph that was used longest ago. It must come twice as often before it is captured again: otherwise, with more
// keys than room, capturing would never end.
void GraphCache::make_room() {
    if (graphs_ < most_) return;
    Entry* oldest = nullptr;
    for (auto& [key, entry] : entries_)
        if (entry.graph && (oldest == nullptr || entry.used < oldest->used)) oldest = &entry;
    oldest->graph.reset();
    oldest->warm_ups = 0;
    if (oldest->wanted < k_most_warm_ups) oldest->wanted = std::max(1, 2 * oldest->wanted);
    --graphs_;
}

void GraphCache::drop() {
    for (auto& [key, entry] : entries_) entry = {};
    graphs_ = 0;
}

bool GraphCache::keeps(GraphKey const& key) const {
    auto const found = entries_.find(key);
    return found != entries_.end() && found->second.graph;
}

}  // namespace hopscotch
