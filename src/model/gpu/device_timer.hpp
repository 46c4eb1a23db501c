// SPDX-License-Identifier: Apache-2.0
// The time that a device needs for the work of this thread, without the time in which the device waits for the thread. On a
// GPU by two events in the thread's stream; on a CPU by the clock.
#pragma once
#include <memory>
#include <string>

namespace hopscotch {

class DeviceTimer {
public:
    virtual ~DeviceTimer() = default;

    // The device stays idle for about this long, and then begins the work that this thread has queued meanwhile. Call before
    // start(): then the device finds its work waiting. A CPU does not wait.
    virtual void hold_back(double seconds) = 0;
    virtual void start() = 0;
    virtual void stop() = 0;
    virtual double seconds() = 0;  // between start() and stop(); waits for the work
};

std::unique_ptr<DeviceTimer> make_device_timer(std::string const& device);  // as resolve_device returns it

}  // namespace hopscotch
