// Groups steps into primitives. See primitive.h.
#include "scenarios/primitive.h"

#include <algorithm>

namespace busbw::scenarios {
namespace {

using collectives::Buffer;
using collectives::Lane;
using collectives::Op;
using collectives::Step;

class Parser {
 public:
  Parser(const Lane& lane, const std::vector<std::int32_t>& wires, Primitive& primitive)
      : steps_(lane.steps), wires_(wires), primitive_(primitive) {}

  void parse(std::size_t begin, Grouping grouping) {
    across_loops_ = grouping == Grouping::kAcrossLoops;
    primitive_.begin = primitive_.end = begin;
    primitive_.touched = primitive_.longest = primitive_.stored = Bytes();
    primitive_.receives.clear();
    primitive_.sends.clear();
    do {
      take();
    } while (grouping != Grouping::kSingle && primitive_.end < steps_.size() &&
             belongs(primitive_.end));
  }

 private:
  [[nodiscard]] bool used(std::int32_t wire) const {
    const auto same = [&](const PrimitiveMessage& message) { return message.wire == wire; };
    return std::any_of(primitive_.receives.begin(), primitive_.receives.end(), same) ||
           std::any_of(primitive_.sends.begin(), primitive_.sends.end(), same);
  }

  [[nodiscard]] bool belongs(std::size_t at) const {
    const Step& step = steps_[at];
    switch (step.op) {
      case Op::kReceive:
        return primitive_.sends.empty() && !copies_ && !used(wires_[at]);
      case Op::kReduce:
      case Op::kAccumulate:
        return primitive_.sends.empty() && !primitive_.receives.empty();
      case Op::kCopy:
        return !copies_;
      case Op::kSend:
        // Passes on what the primitive received; another chunk is the next primitive's.
        return !used(wires_[at]) &&
               (primitive_.receives.empty() || step.chunk == chunk_ || across_loops_);
    }
    return false;
  }

  /// Takes the next step, with all that are joined to it.
  void take() {
    const std::size_t first = primitive_.end;
    const Step& step = steps_[first];
    Bytes bytes = step.bytes;
    std::size_t last = first;
    while (steps_[last].joined && last + 1 < steps_.size()) {
      ++last;
      bytes += steps_[last].bytes;
    }
    primitive_.end = last + 1;
    primitive_.longest = std::max(primitive_.longest, bytes);
    switch (step.op) {
      case Op::kReceive:
        primitive_.receives.push_back({wires_[first], bytes});
        chunk_ = step.chunk;
        primitive_.touched += bytes;
        if (step.buffer == Buffer::kOutput) {
          store(bytes);
        }
        break;
      case Op::kSend:
        if (primitive_.receives.empty() && !read_already(step)) {
          primitive_.touched += bytes;
          read_ = &step;
        }
        primitive_.sends.push_back({wires_[first], bytes});
        primitive_.touched += bytes;
        break;
      case Op::kReduce:
        // The first reads the rank's own share, a second one goes on from registers.
        if (step.buffer != Buffer::kScratch && !adds_own_) {
          primitive_.touched += bytes;
          adds_own_ = true;
        }
        if (!step.partial && !writes_sum_) {
          store(bytes);
          writes_sum_ = true;
        }
        break;
      case Op::kAccumulate:
        primitive_.touched += step.buffer == Buffer::kInput ? bytes : Bytes();
        break;
      case Op::kCopy:
        primitive_.touched += read_ == nullptr && primitive_.receives.empty() ? bytes : Bytes();
        store(bytes);
        copies_ = true;
        break;
    }
  }

  void store(Bytes bytes) {
    primitive_.touched += bytes;
    primitive_.stored += bytes;
  }

  /// Several sends of one place read it once.
  [[nodiscard]] bool read_already(const Step& step) const {
    return read_ != nullptr && read_->buffer == step.buffer && read_->offset == step.offset;
  }

  const std::vector<Step>& steps_;
  const std::vector<std::int32_t>& wires_;
  Primitive& primitive_;
  const Step* read_ = nullptr;  // the last send that read the rank's own data
  std::int32_t chunk_ = 0;      // received last
  bool across_loops_ = false;
  bool adds_own_ = false;
  bool writes_sum_ = false;
  bool copies_ = false;
};

}  // namespace

void parse_primitive(const Lane& lane, const std::vector<std::int32_t>& wires, std::size_t begin,
                     Grouping grouping, Primitive& primitive) {
  Parser(lane, wires, primitive).parse(begin, grouping);
}

}  // namespace busbw::scenarios
