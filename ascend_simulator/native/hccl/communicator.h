// A group of ranks on this host: one process each, every pair joined by two sockets (collectives, point to point).
#pragma once

#include <acl/acl.h>
#include <hccl/hccl_types.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "wire.h"

namespace sim_hccl {

constexpr uint32_t kNoRoot = UINT32_MAX;

// What every rank says before a collective, so that a disagreement is an error and not a hang or a wrong value.
struct Call {
  char name[24];
  uint64_t sequence;
  uint64_t count;
  int32_t type;
  int32_t op;
  uint32_t root;
  uint32_t modelled;  // what this rank gives is no known value (shapes_only/contents.h); no part of what must agree
};

// What stands before each point-to-point message.
struct Letter {
  uint64_t count;
  int32_t type;
  int16_t batched;     // part of a HcclBatchSendRecv, whose sends and receives go on together
  int16_t modelled;    // in a run of shapes only: what follows is no known value
  uint64_t received;   // how many messages of yours I had received when I sent this
};

// Messages to one peer, sent by a thread of their own: HcclSend returns before its peer receives, as a stream goes on.
class Outbox {
 public:
  explicit Outbox(Wire& wire);
  ~Outbox();
  void post(std::string message);
  void check();  // Failure if sending has failed

 private:
  void work();

  Wire& wire_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> messages_;
  std::string error_;
  bool stopping_ = false;
  std::thread thread_;
};

struct Peer {
  std::unique_ptr<Wire> collective, direct;
  std::unique_ptr<Outbox> outbox;
  uint64_t sent = 0, received = 0;
  Counts posted;  // into the outbox, whose own thread sends: the profiler counts what is handed over, when it is
  uint64_t alone_sent = 0;  // value of `sent` at the last send that was not part of a batch
};

class Communicator {
 public:
  // Meets the other ranks under the name in the root info; Failure when one does not come or two do not fit.
  Communicator(const HcclRootInfo& root, uint32_t rank, uint32_t size, const std::string& name);

  uint32_t rank() const { return rank_; }
  uint32_t size() const { return size_; }
  const std::string& name() const { return name_; }
  Wire& wire(uint32_t rank) { return *peers_.at(rank).collective; }
  Peer& peer(uint32_t rank) { return peers_.at(rank); }

  // All ranks are in the same call with the same arguments, or Failure on all of them. Also a barrier.
  void agree(Call call, uint32_t modelled = 0);
  // In a run of shapes only: whether what the rank gave to the call agreed on last was modelled; whether anyone's was.
  bool modelled(uint32_t rank) const { return modelled_.at(rank); }
  bool any_modelled() const;

  // For the profiler: what the call now going on is about, and when all ranks were in it (0: they need not be).
  void start_counting();
  Call counted{};
  uint64_t agreed_ns = 0;

  std::mutex mutex;                              // one call at a time
  std::atomic<HcclResult> broken{HCCL_SUCCESS};  // the first failure: the group cannot be used again
  std::string why_broken;                        // set before `broken`

 private:
  void imagine(const std::string& name);
  void hear_all(const Call& call, std::vector<Call>& calls);
  void meet(const std::string& address);
  void greet(uint32_t rank, const std::string& address, double deadline_s);
  void accept_one(Listener& listener, double deadline_s);
  void place(uint32_t rank, uint32_t purpose, int socket);
  void check_devices();

  uint32_t rank_, size_;
  int device_;
  std::string name_;
  uint64_t sequence_ = 0;
  std::vector<bool> modelled_;
  std::vector<Peer> peers_;
};

void make_root_info(HcclRootInfo* info);

}  // namespace sim_hccl
