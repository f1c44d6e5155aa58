// Views of the ranks and their merge. Source: NCCL 2.30.7, src/graph/xml.cc and topo.cc.
#include "models/nccl/graph/views.h"

#include <algorithm>
#include <set>
#include <string>

#include <fmt/format.h>

namespace busbw::nccl::graph {
namespace {

void collect_gpus(Element& element, std::vector<Element*>& found) {
  if (element.tag == "gpu")
    found.push_back(&element);
  for (Element& child : element.children)
    collect_gpus(child, found);
}

/// Numbers the GPUs of one host from `first` on, in the order of their `rank`; GPUs without one
/// follow in the order of `dev`.
int number_gpus(Element& system, int first) {
  std::vector<Element*> gpus;
  collect_gpus(system, gpus);
  std::stable_sort(gpus.begin(), gpus.end(), [](const Element* a, const Element* b) {
    const long long rank_a = a->number("rank", 1'000'000);
    const long long rank_b = b->number("rank", 1'000'000);
    return rank_a != rank_b ? rank_a < rank_b : a->number("dev", 0) < b->number("dev", 0);
  });
  for (std::size_t i = 0; i < gpus.size(); i++)
    gpus[i]->set("rank", std::to_string(first + static_cast<int>(i)));
  return static_cast<int>(gpus.size());
}

/// What a view keeps: one GPU (or all of them, rank -1) and the nets of names not seen before.
class Trimmer {
 public:
  Trimmer(int rank, bool trim_nets) : rank_(rank), trim_nets_(trim_nets) {}

  bool keep(Element& element) {
    bool kept = false;
    if (element.tag == "gpu")
      kept = rank_ < 0 || element.number("rank", -1) == rank_;
    if (element.tag == "net")
      kept = names_.insert(element.text("name")).second;
    std::vector<Element> rest;
    for (Element& child : element.children) {
      const bool holds = keep(child);
      kept = kept || holds;
      const bool removable = child.tag == "pci" || child.tag == "cpu" ||
                             (trim_nets_ && (child.tag == "nic" || child.tag == "net"));
      if (holds || !removable)
        rest.push_back(std::move(child));
    }
    element.children = std::move(rest);
    return kept;
  }

 private:
  int rank_;
  bool trim_nets_;
  std::set<std::string> names_;
};

bool same_attributes(const Element& a, const Element& b) {
  return a.tag == b.tag && a.attributes.size() == b.attributes.size() &&
         std::all_of(a.attributes.begin(), a.attributes.end(), [&](const auto& attribute) {
           const std::string* other = b.find(attribute.first);
           return other != nullptr && *other == attribute.second;
         });
}

void merge(Element& into, const Element& from) {
  for (const Element& child : from.children) {
    const auto same =
        std::find_if(into.children.begin(), into.children.end(),
                     [&](const Element& candidate) { return same_attributes(candidate, child); });
    if (same == into.children.end()) {
      into.children.push_back(child);
    } else {
      merge(*same, child);
    }
  }
}

}  // namespace

int count_gpus(const Element& system) {
  int count = system.tag == "pci" && system.child("gpu") != nullptr ? 1 : 0;
  for (const Element& child : system.children)
    count += count_gpus(child);
  return count;
}

Element merged_document(const std::vector<const Element*>& hosts, const Switches& switches) {
  Element merged;
  int first = 0;
  for (std::size_t h = 0; h < hosts.size(); h++) {
    Element host = *hosts[h];
    const int gpus = number_gpus(host, first);
    for (Element& cpu : host.children) {
      if (cpu.tag == "cpu")
        cpu.set("host_hash", fmt::format("0x{:x}", h + 1));
    }
    if (!switches.rank_views && hosts.size() == 1) {
      Trimmer(-1, true).keep(host);
      return host;
    }
    for (int rank = first; rank < first + gpus; rank++) {
      Element view = host;
      Trimmer(rank, switches.trim_nets).keep(view);
      if (merged.tag.empty()) {
        merged = std::move(view);
      } else {
        merge(merged, view);
      }
    }
    first += gpus;
  }
  return merged;
}

}  // namespace busbw::nccl::graph
