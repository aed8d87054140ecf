#include "communicator.h"

#include "../recording/recording.h"
#include "../shapes_only/contents.h"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <random>

#include "reduce.h"
#include "runtime.h"

namespace sim_hccl {
namespace {

constexpr uint32_t kCollective = 0, kDirect = 1;
constexpr char kMark[] = "ascend-simulator-hccl-1";

// The root info of the simulator: a mark, a name nobody else has, and which host it was made on.
struct Root {
  char mark[24];
  char name[40];
  char host[40];
};

struct Greeting {
  char mark[24];
  uint32_t rank, size, purpose, unused;
};

std::string host_id() {
  std::string id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
  return id;
}

// "HcclBroadcast(4 of fp32, root 0)"
std::string describe(const Call& call) {
  std::string text = std::string(call.name) + "(";
  if (call.type != HCCL_DATA_TYPE_RESERVED) {
    text += std::to_string(call.count) + " of " + name_of(static_cast<HcclDataType>(call.type));
  }
  if (call.op >= 0) text += ", " + name_of(static_cast<HcclReduceOp>(call.op));
  if (call.root != kNoRoot) text += ", root " + std::to_string(call.root);
  return text + ")";
}

std::string join(const std::vector<Wire*>& wires) {
  std::string text;
  for (const Wire* wire : wires) {
    const bool last = wire == wires.back();
    text += (text.empty() ? "" : last ? " and " : ", ") + std::to_string(wire->peer());
  }
  return (wires.size() == 1 ? "rank " : "ranks ") + text;
}

}  // namespace

void make_root_info(HcclRootInfo* info) {
  std::random_device random;
  Root root{};
  std::memcpy(root.mark, kMark, sizeof kMark);
  std::snprintf(root.name, sizeof root.name, "%08x%08x%08x%08x", random(), random(), random(), random());
  std::snprintf(root.host, sizeof root.host, "%s", host_id().c_str());
  std::memset(info, 0, sizeof *info);
  std::memcpy(info->internal, &root, sizeof root);
}

Communicator::Communicator(const HcclRootInfo& info, uint32_t rank, uint32_t size, const std::string& name)
    : rank_(rank), size_(size), device_(sim::current_device()), modelled_(size, false), peers_(size) {
  if (sim::alone()) {
    imagine(name);
    return;
  }
  Root root{};
  std::memcpy(&root, info.internal, sizeof root);
  if (std::memcmp(root.mark, kMark, sizeof kMark) != 0) throw Failure(HCCL_E_PARA, "the root info is not the simulator's");
  if (root.host != host_id()) {
    throw Failure(HCCL_E_NOT_SUPPORT, "the simulator joins ranks of one host only; the root info is another host's");
  }
  if (size == 0 || rank >= size) {
    throw Failure(HCCL_E_PARA, "rank " + std::to_string(rank) + " of " + std::to_string(size));
  }
  if (device_ < 0) throw Failure(HCCL_E_PARA, "this thread has set no device");
  name_ = name.empty() ? std::string("simulated-") + root.name : name;
  meet(std::string("ascend-simulator/") + root.name);
  check_devices();
}

// The peers of a rank that runs alone: connections to nobody, that count what would go through them.
void Communicator::imagine(const std::string& name) {
  static std::atomic<int> made{0};
  name_ = name.empty() ? "simulated-alone-" + std::to_string(++made) : name;
  if (size_ == 0 || rank_ >= size_) throw Failure(HCCL_E_PARA, "rank " + std::to_string(rank_) + " of " + std::to_string(size_));
  for (uint32_t other = 0; other < size_; ++other) {
    if (other == rank_) continue;
    peers_[other].collective = std::make_unique<Wire>(-1, static_cast<int>(other));
    peers_[other].direct = std::make_unique<Wire>(-1, static_cast<int>(other));
  }
}

// Each rank listens, joins the ranks below it and is joined by those above.
void Communicator::meet(const std::string& address) {
  const double deadline_s = clock_s() + connect_timeout_s();
  Listener listener(address + "/" + std::to_string(rank_));
  for (uint32_t other = 0; other < rank_; ++other) greet(other, address + "/" + std::to_string(other), deadline_s);
  for (uint32_t wanted = 2 * (size_ - 1 - rank_); wanted > 0; --wanted) accept_one(listener, deadline_s);
  for (Peer& peer : peers_) {
    if (peer.direct) peer.outbox = std::make_unique<Outbox>(*peer.direct);
  }
}

void Communicator::greet(uint32_t other, const std::string& address, double deadline_s) {
  for (const uint32_t purpose : {kCollective, kDirect}) {
    const int socket = connect(address, deadline_s);
    Greeting greeting{{}, rank_, size_, purpose, 0};
    std::memcpy(greeting.mark, kMark, sizeof kMark);
    place(other, purpose, socket);
    (purpose == kCollective ? peers_[other].collective : peers_[other].direct)->send(&greeting, sizeof greeting);
  }
}

void Communicator::accept_one(Listener& listener, double deadline_s) {
  const int socket = listener.accept(deadline_s);
  auto wire = std::make_unique<Wire>(socket, -1);
  Greeting greeting{};
  wire->receive(&greeting, sizeof greeting);
  const bool fits = std::memcmp(greeting.mark, kMark, sizeof kMark) == 0 && greeting.size == size_ &&
                    greeting.rank > rank_ && greeting.rank < size_ && greeting.purpose <= kDirect;
  if (!fits) throw Failure(HCCL_E_PARA, "rank " + std::to_string(greeting.rank) + " says the group has " +
                                            std::to_string(greeting.size) + " ranks, this rank " + std::to_string(size_));
  place(greeting.rank, greeting.purpose, ::dup(socket));
}

void Communicator::place(uint32_t other, uint32_t purpose, int socket) {
  auto& wire = purpose == kCollective ? peers_[other].collective : peers_[other].direct;
  wire = std::make_unique<Wire>(socket, static_cast<int>(other));
}

// HCCL refuses a group in which two ranks use one device; a script that forgets torch.npu.set_device does that.
void Communicator::check_devices() {
  int32_t mine = 0;
  aclrtGetLogicDevIdByUserDevId(device_, &mine);
  std::vector<int32_t> devices(size_, -1);
  devices[rank_] = mine;
  for (uint32_t step = 1; step < size_; ++step) {
    const uint32_t to = (rank_ + step) % size_, from = (rank_ + size_ - step) % size_;
    Wire::exchange(wire(to), &mine, sizeof mine, wire(from), &devices[from], sizeof devices[from]);
  }
  for (uint32_t first = 0; first < size_; ++first) {
    for (uint32_t second = first + 1; second < size_; ++second) {
      if (devices[first] != devices[second]) continue;
      throw Failure(HCCL_E_PARA, "ranks " + std::to_string(first) + " and " + std::to_string(second) + " both use device " +
                                     std::to_string(devices[first]) + "; call torch.npu.set_device(local_rank) first");
    }
  }
}

// Everyone tells everyone: each rank sees for itself who is missing, and all come to the same judgement.
void Communicator::agree(Call call, uint32_t modelled) {
  call.sequence = ++sequence_;
  call.modelled = modelled;
  std::vector<Call> calls(size_, call);
  if (!sim::alone()) hear_all(call, calls);
  for (uint32_t other = 0; other < size_; ++other) modelled_[other] = calls[other].modelled != 0;
  if (!sim::recording()) return;
  start_counting();  // these messages are no data
  counted = call;
  agreed_ns = sim::record_clock_ns();
}

bool Communicator::any_modelled() const { return std::find(modelled_.begin(), modelled_.end(), true) != modelled_.end(); }

void Communicator::hear_all(const Call& call, std::vector<Call>& calls) {
  std::vector<Wire*> waiting;
  for (uint32_t other = 0; other < size_; ++other) {
    if (other == rank_) continue;
    wire(other).send(&call, sizeof call);
    waiting.push_back(&wire(other));
  }
  const double deadline_s = clock_s() + execute_timeout_s();
  while (!waiting.empty()) {
    const size_t at = Wire::first_readable(waiting, deadline_s);
    if (at == waiting.size()) {
      throw Failure(HCCL_E_TIMEOUT, join(waiting) + " did not answer within " + std::to_string(execute_timeout_s()) +
                                        " s (HCCL_EXEC_TIMEOUT); this rank waits in " + describe(call));
    }
    waiting[at]->receive(&calls[waiting[at]->peer()], sizeof call);
    waiting.erase(waiting.begin() + at);
  }
  for (uint32_t other = 1; other < size_; ++other) {
    if (std::memcmp(&calls[0], &calls[other], offsetof(Call, modelled)) == 0) continue;
    throw Failure(HCCL_E_PARA, "in call " + std::to_string(call.sequence) + " of the group rank 0 is in " +
                                   describe(calls[0]) + ", rank " + std::to_string(other) + " in " +
                                   describe(calls[other]));
  }
}

void Communicator::start_counting() {
  counted = Call{};
  counted.type = HCCL_DATA_TYPE_RESERVED;
  agreed_ns = 0;
  for (Peer& peer : peers_) {
    peer.posted = Counts{};
    if (peer.collective) peer.collective->counts = Counts{};
    if (peer.direct) peer.direct->counts.received = peer.direct->counts.received_ns = 0;  // its sends are the outbox's
  }
}

Outbox::Outbox(Wire& wire) : wire_(wire), thread_([this] { work(); }) {}

Outbox::~Outbox() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Outbox::post(std::string message) {
  std::lock_guard<std::mutex> lock(mutex_);
  messages_.push_back(std::move(message));
  changed_.notify_all();
}

void Outbox::check() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!error_.empty()) throw Failure(HCCL_E_REMOTE, error_);
}

void Outbox::work() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !messages_.empty(); });
    if (messages_.empty() || !error_.empty()) return;
    const std::string message = std::move(messages_.front());
    messages_.pop_front();
    lock.unlock();
    std::string error;
    try {
      wire_.send(message.data(), message.size());
    } catch (const Failure& failure) {
      error = failure.what();
    }
    lock.lock();
    error_ = error;
  }
}

}  // namespace sim_hccl
