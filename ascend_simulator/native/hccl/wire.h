// One connection to one other rank: a Unix socket on this host, with a time limit on every wait.
#pragma once

#include <hccl/hccl_types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace sim_hccl {

// What a collective ends with when it cannot go on; the API functions turn it into a code and a message.
struct Failure : std::runtime_error {
  Failure(HcclResult result, const std::string& message) : std::runtime_error(message), code(result) {}
  HcclResult code;
};

// Arguments that are refused before anything is sent: the group stays usable.
struct Refusal : Failure {
  using Failure::Failure;
};

// Bytes through a wire and the time they took, since they were last set to nothing; kept while the profiler runs.
struct Counts {
  uint64_t sent = 0, received = 0, sent_ns = 0, received_ns = 0;
};

class Wire {
 public:
  Wire(int socket, int peer) : socket_(socket), peer_(peer) {}
  ~Wire();
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  // All of it, or Failure: the peer has gone (HCCL_E_REMOTE) or has not answered in time (HCCL_E_TIMEOUT).
  void send(const void* data, size_t size);
  void receive(void* data, size_t size);

  // Sends to one peer while receiving from another (or the same), so that no ring of ranks waits for itself.
  // `counted` is false for what is no data of the user's.
  static void exchange(Wire& to, const void* data, size_t size, Wire& from, void* room, size_t room_size,
                       bool counted = true);

  // Place in the list of a wire that can be read (its peer may have gone); the list's size when the time is up.
  static size_t first_readable(const std::vector<Wire*>& wires, double deadline_s);

  // Counts bytes that are not sent: in a run of shapes only.
  void pretend(size_t sent, size_t received);

  int peer() const { return peer_; }
  Counts counts;

 private:
  size_t send_some(const char* data, size_t size);
  size_t receive_some(char* room, size_t size);

  int socket_;
  int peer_;
};

// Seconds from an environment variable of HCCL: HCCL_CONNECT_TIMEOUT (120) and HCCL_EXEC_TIMEOUT (1836).
int connect_timeout_s();
int execute_timeout_s();

// Listens under an abstract name that only this host's processes can reach; connections of other users are refused.
class Listener {
 public:
  explicit Listener(const std::string& name);
  ~Listener();
  int accept(double deadline_s);  // Failure when nobody comes in time

 private:
  int socket_;
};

int connect(const std::string& name, double deadline_s);  // tries again until the listener is there

double clock_s();

}  // namespace sim_hccl
