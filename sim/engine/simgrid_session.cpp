// Options and instance guard of SimGrid (see simgrid_session.h).
#include "sim/engine/simgrid_session.h"

#include <string>
#include <vector>

#include <simgrid/s4u.hpp>

#include "sim/core/check.h"

namespace busbw::engine {
namespace {

// SimGrid allows one instance in a process; this makes the second one our error, with a clear text.
bool session_alive = false;

// Pure max-min sharing (SimGrid 3.32 documentation, "Configuring SimGrid"; each option changes what
// two flows on a dumbbell get): no reverse-traffic share, no TCP window, no latency penalty, no
// efficiency factors. optim:Lazy is right only while links have no latency, so none ever has one.
// Precision 1e-12 s, because the default 1e-9 s merges completions that are up to 1 ns apart.
std::unique_ptr<simgrid::s4u::Engine> create_instance() {
  std::vector<std::string> words = {"busbw",
                                    "--log=root.thres:critical",
                                    "--cfg=network/model:CM02",
                                    "--cfg=network/optim:Lazy",
                                    "--cfg=network/crosstraffic:0",
                                    "--cfg=network/TCP-gamma:1e30",
                                    "--cfg=network/weight-S:0",
                                    "--cfg=network/bandwidth-factor:1",
                                    "--cfg=network/latency-factor:1",
                                    "--cfg=surf/precision:1e-12",
                                    "--cfg=contexts/factory:raw",
                                    "--cfg=contexts/stack-size:64",
                                    "--cfg=contexts/guard-size:0"};
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) {
    arguments.push_back(word.data());
  }
  arguments.push_back(nullptr);
  int count = static_cast<int>(words.size());
  return std::make_unique<simgrid::s4u::Engine>(&count, arguments.data());
}

// Engine::run() seals the platform of the first instance of a process and of no other (a static
// flag). A sealed platform takes no new links, and the first engine must not differ from the next
// ones, so an instance that nobody uses takes the seal.
void spend_the_seal() {
  static const bool kSpent = [] {
    const std::unique_ptr<simgrid::s4u::Engine> instance = create_instance();
    simgrid::s4u::create_empty_zone("sealed");
    instance->seal_platform();
    return true;
  }();
  static_cast<void>(kSpent);
}

}  // namespace

SimGridSession::SimGridSession() {
  CHECK(!session_alive, "two engines at once: destroy the first one, SimGrid has global state");
  spend_the_seal();
  simgrid_ = create_instance();
  session_alive = true;
}

SimGridSession::~SimGridSession() {
  simgrid_.reset();
  session_alive = false;
}

}  // namespace busbw::engine
