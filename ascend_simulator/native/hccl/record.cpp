#include "calls.h"

#include <cctype>
#include <string_view>

#include "reduce.h"
#include "runtime.h"

namespace sim_hccl {
namespace {

// HcclAllReduce -> hcom_allReduce_, as CANN's profiles call collectives.
std::string name_in_profile(std::string_view function) {
  if (function == "HcclRecv") return "hcom_receive_";
  if (function == "HcclGroupEnd") return "hcom_batchSendRecv_";
  std::string name(function.substr(std::string_view("Hccl").size()));
  name[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(name[0])));
  return "hcom_" + name + "_";
}

}  // namespace

Recording::Recording(Communicator& group, const char* function, aclrtStream stream, uint64_t called_ns) : group_(group) {
  task_.kind = sim::Task::collective;
  task_.name = name_in_profile(function);
  task_.api = function;
  task_.device = sim::current_device();
  task_.stream = sim::stream_number(stream);
  task_.thread = sim::thread_number();
  task_.called_ns = called_ns;
  task_.group = group.name();
  task_.rank = group.rank();
  group.start_counting();
  task_.returned_ns = task_.start_ns = sim::record_clock_ns();
}

void Recording::end() {
  task_.end_ns = sim::record_clock_ns();
  task_.count = group_.counted.count;
  const auto type = static_cast<HcclDataType>(group_.counted.type);
  task_.data_type = type == HCCL_DATA_TYPE_RESERVED ? "N/A" : name_of(type);
  task_.agreed_ns = group_.agreed_ns;
  for (uint32_t other = 0; other < group_.size(); ++other) {
    if (other == group_.rank()) continue;
    const Peer& peer = group_.peer(other);
    const Counts &all = peer.collective->counts, &in = peer.direct->counts, &out = peer.posted;
    const sim::Traffic sum{other, all.sent + out.sent, all.received + in.received, all.sent_ns + out.sent_ns,
                           all.received_ns + in.received_ns};
    if (sum.sent + sum.received > 0) task_.traffic.push_back(sum);
  }
  sim::record(std::move(task_));
}

}  // namespace sim_hccl
