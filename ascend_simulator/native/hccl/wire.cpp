#include "wire.h"

#include "../recording/recording.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace sim_hccl {
namespace {

std::string system_error(const std::string& what) { return what + ": " + std::strerror(errno); }

int seconds_from(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  const int value = text == nullptr ? 0 : std::atoi(text);
  return value > 0 ? value : otherwise;
}

std::string rank(int number) { return "rank " + std::to_string(number); }

void wait(pollfd* sockets, int count, const std::string& who) {
  const int ready = ::poll(sockets, count, execute_timeout_s() * 1000);
  if (ready > 0) return;
  if (ready < 0 && errno == EINTR) return;
  if (ready < 0) throw Failure(HCCL_E_SYSCALL, system_error("poll"));
  throw Failure(HCCL_E_TIMEOUT, who + " did not answer within " + std::to_string(execute_timeout_s()) +
                                    " s (HCCL_EXEC_TIMEOUT)");
}

sockaddr_un address_of(const std::string& name, socklen_t* size) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), std::min(name.size(), sizeof address.sun_path - 1));
  *size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

bool same_user(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

}  // namespace

int connect_timeout_s() { return seconds_from("HCCL_CONNECT_TIMEOUT", 120); }
int execute_timeout_s() { return seconds_from("HCCL_EXEC_TIMEOUT", 1836); }

double clock_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Wire::~Wire() {
  if (socket_ >= 0) ::close(socket_);
}

size_t Wire::send_some(const char* data, size_t size) {
  const ssize_t sent = ::send(socket_, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent >= 0) return static_cast<size_t>(sent);
  if (errno == EAGAIN || errno == EINTR) return 0;
  throw Failure(HCCL_E_REMOTE, system_error(rank(peer_) + " has gone"));
}

size_t Wire::receive_some(char* room, size_t size) {
  const ssize_t got = ::recv(socket_, room, size, MSG_DONTWAIT);
  if (got > 0) return static_cast<size_t>(got);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
  throw Failure(HCCL_E_REMOTE, rank(peer_) + " has gone: its process ended or destroyed the communicator");
}

namespace {

// Adds the bytes, and the time until this object ends, to a wire's counts.
class Counting {
 public:
  Counting(uint64_t& bytes, uint64_t& ns, size_t size, bool counted = true)
      : ns_(counted && sim::recording() ? &ns : nullptr), start_ns_(ns_ == nullptr ? 0 : sim::record_clock_ns()) {
    if (ns_ != nullptr) bytes += size;
  }
  ~Counting() {
    if (ns_ != nullptr) *ns_ += sim::record_clock_ns() - start_ns_;
  }
  Counting(const Counting&) = delete;
  Counting& operator=(const Counting&) = delete;

 private:
  uint64_t* ns_;
  uint64_t start_ns_;
};

}  // namespace

void Wire::send(const void* data, size_t size) {
  const Counting counting(counts.sent, counts.sent_ns, size);
  const char* at = static_cast<const char*>(data);
  for (size_t left = size; left > 0;) {
    const size_t sent = send_some(at, left);
    pollfd ready{socket_, POLLOUT, 0};
    if (sent == 0) wait(&ready, 1, rank(peer_));
    at += sent;
    left -= sent;
  }
}

void Wire::pretend(size_t sent, size_t received) {
  if (!sim::recording()) return;
  counts.sent += sent;
  counts.received += received;
}

void Wire::receive(void* data, size_t size) {
  const Counting counting(counts.received, counts.received_ns, size);
  char* at = static_cast<char*>(data);
  for (size_t left = size; left > 0;) {
    const size_t got = receive_some(at, left);
    pollfd ready{socket_, POLLIN, 0};
    if (got == 0) wait(&ready, 1, rank(peer_));
    at += got;
    left -= got;
  }
}

void Wire::exchange(Wire& to, const void* data, size_t size, Wire& from, void* room, size_t room_size,
                    bool counted) {
  const Counting sending(to.counts.sent, to.counts.sent_ns, size, counted);
  const Counting receiving(from.counts.received, from.counts.received_ns, room_size, counted);
  const char* out = static_cast<const char*>(data);
  char* in = static_cast<char*>(room);
  while (size > 0 || room_size > 0) {
    const size_t sent = size > 0 ? to.send_some(out, size) : 0;
    const size_t got = room_size > 0 ? from.receive_some(in, room_size) : 0;
    out += sent;
    size -= sent;
    in += got;
    room_size -= got;
    if (sent > 0 || got > 0) continue;
    pollfd ready[2] = {{size > 0 ? to.socket_ : -1, POLLOUT, 0}, {room_size > 0 ? from.socket_ : -1, POLLIN, 0}};
    const int slow = room_size > 0 ? from.peer_ : to.peer_;
    wait(ready, 2, to.peer_ == from.peer_ || size == 0 || room_size == 0 ? rank(slow) : rank(slow) + " or " + rank(to.peer_));
  }
}

size_t Wire::first_readable(const std::vector<Wire*>& wires, double deadline_s) {
  std::vector<pollfd> sockets;
  for (const Wire* wire : wires) sockets.push_back({wire->socket_, POLLIN, 0});
  for (;;) {
    const double left_s = std::max(0.0, deadline_s - clock_s());
    const int ready = ::poll(sockets.data(), sockets.size(), static_cast<int>(left_s * 1000) + 1);
    if (ready < 0 && errno != EINTR) throw Failure(HCCL_E_SYSCALL, system_error("poll"));
    if (ready == 0) return wires.size();
    const auto found = std::find_if(sockets.begin(), sockets.end(), [](const pollfd& one) { return one.revents != 0; });
    if (ready > 0) return static_cast<size_t>(found - sockets.begin());
  }
}

Listener::Listener(const std::string& name) : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  if (socket_ < 0) throw Failure(HCCL_E_SYSCALL, system_error("socket"));
  socklen_t size = 0;
  const sockaddr_un address = address_of(name, &size);
  if (::bind(socket_, reinterpret_cast<const sockaddr*>(&address), size) == 0 && ::listen(socket_, 128) == 0) return;
  const std::string why = errno == EADDRINUSE ? "another process is this rank already" : system_error("bind");
  ::close(socket_);
  throw Failure(HCCL_E_SYSCALL, why);
}

Listener::~Listener() { ::close(socket_); }

int Listener::accept(double deadline_s) {
  for (;;) {
    const double left_s = deadline_s - clock_s();
    pollfd ready{socket_, POLLIN, 0};
    if (left_s <= 0 || ::poll(&ready, 1, static_cast<int>(left_s * 1000) + 1) == 0) {
      throw Failure(HCCL_E_TIMEOUT, "not every rank came within " + std::to_string(connect_timeout_s()) +
                                        " s (HCCL_CONNECT_TIMEOUT)");
    }
    const int socket = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket >= 0 && same_user(socket)) return socket;
    if (socket >= 0) ::close(socket);
  }
}

int connect(const std::string& name, double deadline_s) {
  socklen_t size = 0;
  const sockaddr_un address = address_of(name, &size);
  for (;;) {
    const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket < 0) throw Failure(HCCL_E_SYSCALL, system_error("socket"));
    if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), size) == 0 && same_user(socket)) return socket;
    ::close(socket);
    if (clock_s() > deadline_s) {
      throw Failure(HCCL_E_TIMEOUT, "no rank answers under " + name + " within " + std::to_string(connect_timeout_s()) +
                                        " s (HCCL_CONNECT_TIMEOUT)");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace sim_hccl
