// torch_npu's HCCL watchdog in a run of shapes only. It wakes once a second and lets go of what finished collectives held
// (torch_npu/csrc/distributed/ProcessGroupHCCL.cpp, Watchdog::runLoop): beside steps of milliseconds memory would depend on
// the clock. Here it wakes whenever a collective is done, and the program goes on once it has looked.
#pragma once

namespace npu_sim {

// From now on the watchdogs wait here. Says on stderr where this torch_npu does not let them.
void take_watchdogs();

// Waits until every watchdog has seen what is done by now; nothing where no collective was called since the last time.
void let_watchdogs_look();

}  // namespace npu_sim
