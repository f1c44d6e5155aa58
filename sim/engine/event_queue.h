// A priority queue of future events, ordered by (time, sequence number), whose entries can move.
//
// An indexed 4-ary heap: each event has a small handle chosen by the caller (a slot number), and
// the queue remembers where the handle sits. So a flow whose rate changed moves its one entry;
// stale entries never pile up, and memory stays proportional to the number of waiting events.
// Sequence numbers are unique, so the order is total and independent of insertion history.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace busbw::engine {

class EventQueue {
 public:
  using Handle = std::int32_t;
  struct Entry {
    std::int64_t time_ps = 0;
    std::int64_t sequence = 0;
    Handle handle = 0;
  };

  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] const Entry& top() const { return heap_.front(); }

  /// Adds the event of `handle`, or moves it when it is waiting already.
  void set(const Entry& entry) {
    const std::size_t handle = static_cast<std::size_t>(entry.handle);
    if (handle >= position_.size()) {
      position_.resize(handle + 1, kAbsent);
    }
    if (position_[handle] == kAbsent) {
      heap_.push_back(entry);
      sift_up(heap_.size() - 1, entry);
      return;
    }
    restore(static_cast<std::size_t>(position_[handle]), entry);
  }

  void pop() { erase_at(0); }

  /// Removes the event of `handle`; nothing happens when it is not waiting.
  void erase(Handle handle) {
    const std::size_t index = static_cast<std::size_t>(handle);
    if (index < position_.size() && position_[index] != kAbsent) {
      erase_at(static_cast<std::size_t>(position_[index]));
    }
  }

 private:
  static constexpr std::int32_t kAbsent = -1;
  static constexpr std::size_t kArity = 4;

  static bool before(const Entry& a, const Entry& b) {
    return a.time_ps != b.time_ps ? a.time_ps < b.time_ps : a.sequence < b.sequence;
  }
  void place(std::size_t at, const Entry& entry) {
    heap_[at] = entry;
    position_[static_cast<std::size_t>(entry.handle)] = static_cast<std::int32_t>(at);
  }
  void sift_up(std::size_t at, Entry entry) {
    while (at > 0) {
      const std::size_t parent = (at - 1) / kArity;
      if (!before(entry, heap_[parent])) {
        break;
      }
      place(at, heap_[parent]);
      at = parent;
    }
    place(at, entry);
  }
  void sift_down(std::size_t at, Entry entry) {
    for (;;) {
      const std::size_t first = kArity * at + 1;
      if (first >= heap_.size()) {
        break;
      }
      const std::size_t end = first + kArity < heap_.size() ? first + kArity : heap_.size();
      std::size_t least = first;
      for (std::size_t child = first + 1; child < end; ++child) {
        if (before(heap_[child], heap_[least])) {
          least = child;
        }
      }
      if (!before(heap_[least], entry)) {
        break;
      }
      place(at, heap_[least]);
      at = least;
    }
    place(at, entry);
  }
  /// Puts `entry` at `at`, whose old content is void, and moves it to where it belongs.
  void restore(std::size_t at, const Entry& entry) {
    if (at > 0 && before(entry, heap_[(at - 1) / kArity])) {
      sift_up(at, entry);
    } else {
      sift_down(at, entry);
    }
  }
  void erase_at(std::size_t at) {
    position_[static_cast<std::size_t>(heap_[at].handle)] = kAbsent;
    const Entry last = heap_.back();
    heap_.pop_back();
    if (at < heap_.size()) {
      restore(at, last);
    }
  }

  std::vector<Entry> heap_;
  std::vector<std::int32_t> position_;  // per handle: index into heap_, or kAbsent
};

}  // namespace busbw::engine
