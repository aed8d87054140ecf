// Columns of whole numbers that grow; one that says nothing yet takes no memory.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <new>

namespace trace {

template <typename T>
class Column {
 public:
  explicit Column(T nothing) : nothing_(nothing) {}
  Column(const Column&) = delete;
  Column& operator=(const Column&) = delete;
  ~Column() { std::free(data_); }

  void add(T value) {
    if (!data_ && value == nothing_) {
      ++size_;
      return;
    }
    if (size_ >= room_) grow();
    data_[size_++] = value;
  }

  // nullptr: `size` times the value that says nothing.
  const T* data() const { return data_; }
  std::int64_t size() const { return size_; }

 private:
  // realloc moves large blocks without a copy where the system can.
  void grow() {
    const bool first = !data_;
    const std::int64_t room = size_ + size_ / 2 + 4096;
    T* grown = static_cast<T*>(std::realloc(data_, static_cast<std::size_t>(room) * sizeof(T)));
    if (!grown) throw std::bad_alloc();
    data_ = grown;
    room_ = room;
    for (std::int64_t at = 0; first && at < size_; ++at) data_[at] = nothing_;
  }

  T nothing_;
  T* data_ = nullptr;
  std::int64_t size_ = 0, room_ = 0;
};

}  // namespace trace
