// The path of a byte. Latency is the sum of the hops: wire, switch and adapter, without the time
// that the bytes take and without software.
#include "topologies/path_table.h"

#include <algorithm>
#include <string>

#include "sim/core/check.h"

namespace busbw::topologies {

CatalogTable path_table(const Fabric& fabric, const std::vector<LinkId>& route) {
  CatalogTable table;
  table.title = "path of a byte";
  table.header = {"hop", "from", "to", "over", "GB/s", "narrowest", "latency us", "total us"};
  Bandwidth narrowest = route.empty() ? Bandwidth() : fabric.link(route.front()).capacity;
  for (const LinkId id : route) {
    narrowest = std::min(narrowest, fabric.link(id).capacity);
  }
  Duration total;
  for (std::size_t i = 0; i < route.size(); i++) {
    const Link& link = fabric.link(route[i]);
    CHECK(i == 0 || fabric.link(route[i - 1]).to == link.from, "hop {} does not follow", i + 1);
    total += link.latency;
    table.rows.push_back({std::to_string(i + 1), fabric.node(link.from).name,
                          fabric.node(link.to).name, to_string(link.kind),
                          table_number(link.capacity.as_gigabytes_per_second()),
                          link.capacity == narrowest ? "*" : "", table_number(link.latency.as_us()),
                          table_number(total.as_us())});
  }
  return table;
}

}  // namespace busbw::topologies
