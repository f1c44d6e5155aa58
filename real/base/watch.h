// What every wait of real mode looks at besides its own business: signals, the death of another
// rank, an abort.
#pragma once
#include <utility>
#include <vector>

#include "real/base/deadline.h"

namespace busbw::real {

/// Something that can end a wait. Cheap enough to be asked every few microseconds.
class Watch {
 public:
  Watch() = default;
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  virtual ~Watch() = default;

  /// Descriptors that become readable when check() has something to say.
  virtual void add_descriptors(std::vector<int>& descriptors) const = 0;
  /// Throws SystemError (or Interrupted) when waiting on has become pointless.
  virtual void check() = 0;
};

/// Several watches as one; owns none of them.
class Watches : public Watch {
 public:
  explicit Watches(std::vector<Watch*> parts) : parts_(std::move(parts)) {}
  void add_descriptors(std::vector<int>& descriptors) const override {
    for (const Watch* part : parts_)
      part->add_descriptors(descriptors);
  }
  void check() override {
    for (Watch* part : parts_)
      part->check();
  }

 private:
  std::vector<Watch*> parts_;
};

/// Nothing to watch.
class NoWatch : public Watch {
 public:
  void add_descriptors(std::vector<int>& /*descriptors*/) const override {}
  void check() override {}
};

/// How long a call may take and what may end it before.
struct Patience {
  Deadline deadline;
  Watch& watch;
};

}  // namespace busbw::real
