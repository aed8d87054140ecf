// The life of communicators, and what may be asked about them. The headers of torch_npu's wheel declare these
// functions without visibility; they are made visible here.
#pragma GCC visibility push(default)
#include <hccl/hccl.h>
#pragma GCC visibility pop

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "../recording/graphs.h"
#include "../shapes_only/contents.h"
#include "calls.h"
#include "runtime.h"

namespace sim_hccl {
namespace {

std::mutex mutex;

auto& living = *new std::map<HcclComm, std::shared_ptr<Communicator>>;  // outlives torch_npu's static destructors

std::shared_ptr<Communicator> find(HcclComm handle) {
  std::lock_guard<std::mutex> lock(mutex);
  const auto found = living.find(handle);
  return found == living.end() ? nullptr : found->second;
}

HcclResult report(const char* function, const Failure& failure) {
  sim::fail(failure.code, function, "%s", failure.what());
  return failure.code;
}

HcclComm make(const HcclRootInfo& root, uint32_t rank, uint32_t size, const std::string& name) {
  auto made = std::make_shared<Communicator>(root, rank, size, name);
  std::lock_guard<std::mutex> lock(mutex);
  const HcclComm handle = made.get();
  living[handle] = std::move(made);
  return handle;
}

HcclResult create(const char* function, const HcclRootInfo* root, uint32_t rank, uint32_t size, const std::string& name,
                  HcclComm* handle) {
  if (root == nullptr || handle == nullptr) return report(function, Failure(HCCL_E_PTR, "rootInfo or comm is null"));
  try {
    *handle = make(*root, rank, size, name);
    return HCCL_SUCCESS;
  } catch (const Failure& failure) {
    return report(function, failure);
  }
}

// Tells something of a living communicator.
template <class Value, class Work>
HcclResult ask(const char* function, HcclComm handle, Value* answer, const Work& work) {
  const auto group = find(handle);
  if (group == nullptr || answer == nullptr) return report(function, Failure(HCCL_E_PTR, "a pointer is null"));
  work(*group);
  return HCCL_SUCCESS;
}

}  // namespace

bool alive(HcclComm handle) { return find(handle) != nullptr; }

void require(bool condition, const std::string& message) {
  if (!condition) throw Refusal(HCCL_E_PARA, message);
}

Call call_of(const char* name, uint64_t count, HcclDataType type, int32_t op, uint32_t root) {
  Call call{};
  std::snprintf(call.name, sizeof call.name, "%s", name);
  call.count = count;
  call.type = type;
  call.op = op;
  call.root = root;
  return call;
}

namespace {

HcclResult run(HcclComm handle, const char* function, aclrtStream stream, const std::function<void(Communicator&)>& work) {
  sim::count_collective();
  const uint64_t called_ns = sim::recording() ? sim::record_clock_ns() : 0;
  const std::shared_ptr<Communicator> group = find(handle);
  if (group == nullptr) return report(function, Failure(HCCL_E_PTR, "the communicator is null or destroyed"));
  if (sim::check_stream(function, stream) != ACL_SUCCESS) return HCCL_E_PTR;
  std::lock_guard<std::mutex> lock(group->mutex);
  if (group->broken != HCCL_SUCCESS) return report(function, Failure(group->broken, group->why_broken));
  try {
    std::optional<Recording> recording;
    if (called_ns > 0) recording.emplace(*group, function, stream, called_ns);
    work(*group);
    if (recording) recording->end();
    return HCCL_SUCCESS;
  } catch (const Refusal& failure) {
    return report(function, failure);
  } catch (const Failure& failure) {
    group->why_broken = failure.what();
    group->broken = failure.code;
    return report(function, failure);
  }
}

}  // namespace

HcclResult on(HcclComm handle, const char* function, aclrtStream stream, const std::function<void(Communicator&)>& work) {
  if (sim::find_graph(stream) != nullptr) {
    return report(function, Failure(HCCL_E_NOT_SUPPORT, "the simulator captures no call whose sizes are listed"));
  }
  return run(handle, function, stream, work);
}

HcclResult on_graph(HcclComm handle, const char* function, aclrtStream stream, std::function<void(Communicator&)> work) {
  sim::Graph* const graph = sim::find_graph(stream);
  if (graph == nullptr) return run(handle, function, stream, work);
  if (!alive(handle)) return report(function, Failure(HCCL_E_PTR, "the communicator is null or destroyed"));
  sim::add_to_graph(graph, stream, function, [=, name = std::string(function)] {
    return static_cast<int>(run(handle, name.c_str(), stream, work));
  });
  return HCCL_SUCCESS;
}

}  // namespace sim_hccl

using sim_hccl::ask;
using sim_hccl::Communicator;
using sim_hccl::Failure;

HcclResult HcclGetRootInfo(HcclRootInfo* root) {
  if (root == nullptr) return sim_hccl::report(__func__, Failure(HCCL_E_PTR, "rootInfo is null"));
  sim_hccl::make_root_info(root);
  return HCCL_SUCCESS;
}

HcclResult HcclCommInitRootInfo(uint32_t size, const HcclRootInfo* root, uint32_t rank, HcclComm* comm) {
  return sim_hccl::create(__func__, root, rank, size, "", comm);
}

// Of the configuration the name counts. Buffer sizes change no value; reductions are always deterministic.
HcclResult HcclCommInitRootInfoConfig(uint32_t size, const HcclRootInfo* root, uint32_t rank, const HcclCommConfig* config,
                                      HcclComm* comm) {
  if (config == nullptr) return sim_hccl::report(__func__, Failure(HCCL_E_PTR, "config is null"));
  const std::string name(config->hcclCommName, strnlen(config->hcclCommName, sizeof config->hcclCommName));
  return sim_hccl::create(__func__, root, rank, size, name, comm);
}

// One process that holds all ranks, a device each, as DataParallel asks for: they meet on threads of their own. torch_npu tests
// it (test/distributed/test_data_parallel.py), Ascend's migration guide calls it not supported: said, once.
HcclResult HcclCommInitAll(uint32_t size, int32_t* devices, HcclComm* comms) {
  static std::once_flag told;
  std::call_once(told, [] {
    std::fputs("[simulated NPU] several NPUs in one process (torch.nn.DataParallel): it works here, and Ascend's migration guide "
               "calls it not supported on an NPU (https://www.hiascend.com/document/redirect/pytorchMigrationAnalysis); use "
               "DistributedDataParallel\n", stderr);
  });
  if (devices == nullptr || comms == nullptr) return sim_hccl::report(__func__, Failure(HCCL_E_PTR, "devices or comms is null"));
  uint32_t there = 0;
  if (size == 0 || aclrtGetDeviceCount(&there) != ACL_SUCCESS) return sim_hccl::report(__func__, Failure(HCCL_E_PARA, "no device"));
  for (uint32_t rank = 0; rank < size; ++rank) {  // before anyone waits for one that cannot come
    if (devices[rank] >= 0 && static_cast<uint32_t>(devices[rank]) < there) continue;
    return sim_hccl::report(__func__, Failure(HCCL_E_PARA, "there is no device " + std::to_string(devices[rank])));
  }
  HcclRootInfo root;
  sim_hccl::make_root_info(&root);
  std::fill_n(comms, size, nullptr);
  std::vector<std::optional<Failure>> failures(size);
  std::vector<std::thread> ranks;
  for (uint32_t rank = 0; rank < size; ++rank) {
    ranks.emplace_back([&, rank] {
      try {
        if (aclrtSetDevice(devices[rank]) != ACL_SUCCESS) throw Failure(HCCL_E_PARA, aclGetRecentErrMsg());
        comms[rank] = sim_hccl::make(root, rank, size, "");
      } catch (const Failure& failure) {
        failures[rank] = failure;
      } catch (const std::exception& error) {
        failures[rank] = Failure(HCCL_E_INTERNAL, error.what());
      }
    });
  }
  for (std::thread& rank : ranks) rank.join();
  for (const auto& failure : failures) {
    if (!failure) continue;
    for (uint32_t rank = 0; rank < size; ++rank) {
      if (comms[rank] != nullptr) HcclCommDestroy(comms[rank]);
      comms[rank] = nullptr;
    }
    return sim_hccl::report(__func__, *failure);
  }
  return HCCL_SUCCESS;
}

HcclResult HcclCommDestroy(HcclComm comm) {
  const auto group = sim_hccl::find(comm);
  if (group == nullptr) return sim_hccl::report(__func__, Failure(HCCL_E_PTR, "the communicator is null or destroyed"));
  std::lock_guard<std::mutex> lock(sim_hccl::mutex);
  sim_hccl::living.erase(comm);
  return HCCL_SUCCESS;
}

HcclResult HcclGetCommName(HcclComm comm, char* name) {
  return ask(__func__, comm, name, [&](Communicator& group) {
    std::snprintf(name, COMM_NAME_MAX_LENGTH, "%s", group.name().c_str());
  });
}

HcclResult HcclGetRankSize(HcclComm comm, uint32_t* size) {
  return ask(__func__, comm, size, [&](Communicator& group) { *size = group.size(); });
}

HcclResult HcclGetRankId(HcclComm comm, uint32_t* rank) {
  return ask(__func__, comm, rank, [&](Communicator& group) { *rank = group.rank(); });
}

// torch_npu's watchdog asks, and ends the process with this thread's recent message.
HcclResult HcclGetCommAsyncError(HcclComm comm, HcclResult* error) {
  return ask(__func__, comm, error, [&](Communicator& group) {
    if ((*error = group.broken) != HCCL_SUCCESS) {
      sim_hccl::report("HcclGetCommAsyncError", Failure(group.broken, group.why_broken));
    }
  });
}

// How many of HcclCommConfigCapability there are: up to and with the group's name.
uint32_t HcclGetCommConfigCapability() { return HCCL_COMM_CONFIG_COMM_NAME + 1; }

HcclResult HcclSetConfig(HcclConfig config, HcclConfigValue) {
  if (config != HCCL_DETERMINISTIC) {
    return sim_hccl::report(__func__, Failure(HCCL_E_NOT_SUPPORT, "the simulator lacks this setting"));
  }
  sim::nothing_to_do("deterministic or not: reductions here always run in the order of ranks");
  return HCCL_SUCCESS;
}

HcclResult HcclGetConfig(HcclConfig config, HcclConfigValue* value) {
  if (config != HCCL_DETERMINISTIC || value == nullptr) {
    return sim_hccl::report(__func__, Failure(HCCL_E_NOT_SUPPORT, "the simulator lacks this setting"));
  }
  value->value = 1;
  return HCCL_SUCCESS;
}

const char* HcclGetErrorString(HcclResult code) {
  constexpr const char* names[] = {
      "no error",         "parameter error",       "empty pointer",         "memory error",      "internal error",
      "not supported",    "not found",             "resource unavailable",  "system call failed", "timeout",
      "cannot open file", "TCP connect failed",    "RoCE connect failed",   "TCP transfer failed", "RoCE transfer failed",
      "runtime error",    "driver error",          "profiling error",       "CCE error",         "network error",
      "try again",        "remote rank has failed", "communicator suspended", "retry failed",    "out of memory"};
  return static_cast<size_t>(code) < sizeof names / sizeof *names ? names[code] : "unknown error";
}
