// SPDX-License-Identifier: Apache-2.0
// RUN_DIR/inbox: how another process talks to the job that works on a run. One file a request, written under another name
// and renamed, so that no reader sees a part; rank 0 takes it away and leaves an answer beside it:
//   hopscotch ctl    inbox/0003-8a51c07be2d93f46.json        {"kind": "stop", "trial": 4, "until_unix_s": ...}
//   rank 0           inbox/0003-8a51c07be2d93f46.done.json   {"ok": true, "text": "trial 4 stops ..."}
//                    and removes the request
//   hopscotch ctl    removes the answer
// Files come from outside, so every file gets an answer, and no file makes this code throw.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "schedule/lap.hpp"

namespace hopscotch {

struct LiveRequest {
    Order::Kind kind = Order::Kind::stop;
    TrialId trial = {};
    Assignment changes = {};  // clone
    double until_unix_s = 0;  // the sender waits for the answer until then
};

struct Answer {
    bool ok = false;
    std::string text;
};

// Throws Error with the problem.
LiveRequest request_from_text(std::string const& text);

// Rank 0's side.
class Inbox {
public:
    explicit Inbox(std::filesystem::path const& run_dir) : folder_(run_dir / "inbox") {}

    struct Letter {
        std::string name;
        LiveRequest request;
        std::string problem;  // why the file is not a request; empty: the file is a request
    };
    std::vector<Letter> take()
        const;  // all that wait, in the order of their names; removes requests whose senders no longer wait
    void answer(Letter const& letter, Answer const& answer) const;

private:
    std::filesystem::path folder_;
};

// The sender's side. Throws Error if nothing can be written there.
std::string post(std::filesystem::path const& run_dir, LiveRequest const& request);  // its name
std::optional<Answer> take_answer(std::filesystem::path const& run_dir, std::string const& name);
void take_back(std::filesystem::path const& run_dir, std::string const& name);

}  // namespace hopscotch
