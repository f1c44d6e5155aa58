// See nccl_items.h. Source of the forms: NCCL 2.4 to 2.30, src/transport/net_ib.cc, net_socket.cc,
// net.cc, p2p.cc, shm.cc, src/misc/ibvwrap.cc, src/init.cc, src/bootstrap.cc.
#include "models/facts/nccl_items.h"

#include "sim/core/text.h"

namespace busbw::facts {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

std::string_view field(const std::vector<Fact::Field>& fields, std::string_view name) {
  for (const Fact::Field& one : fields) {
    if (one.first == name) {
      return one.second;
    }
  }
  return {};
}

Fact fact(std::string_view name, std::vector<Fact::Field> fields) {
  Fact result;
  result.name = std::string(name);
  result.fields = std::move(fields);
  return result;
}

/// "10.0.0.1<40001>" -> "10.0.0.1".
std::string_view without_port(std::string_view address) {
  return trim(address.substr(0, address.find('<')));
}

struct Item {
  std::string index;  // empty: none printed
  std::string_view text;
};

/// "[0]a [1]={[0] b, [1] c} [RO]" -> a; b, c. Marks without a number ([RO]) are left out.
std::vector<Item> items(std::string_view list) {
  std::vector<Item> result;
  std::string index;
  std::size_t at = 0;
  while (at < list.size()) {
    if (list[at] == '[') {
      const std::size_t close = list.find(']', at);
      if (close == kNone) {
        break;
      }
      const std::string_view inside = list.substr(at + 1, close - at - 1);
      at = close + 1;
      if (parse_integer(inside)) {
        index = std::string(inside);
      }
      continue;
    }
    std::size_t end = list.find_first_of(" ,;{}=[", at);
    if (end == kNone) {
      end = list.size();
    }
    if (end > at) {
      result.push_back({index, list.substr(at, end - at)});
    }
    at = end == at ? at + 1 : end;
  }
  return result;
}

/// "eth0:10.0.0.1<0>" -> name and address; nothing when there is no colon.
bool interface_of(std::string_view text, std::string& name, std::string& address) {
  const std::size_t colon = text.find(':');
  if (colon == kNone || colon == 0) {
    return false;
  }
  name = std::string(text.substr(0, colon));
  address = std::string(without_port(text.substr(colon + 1)));
  return true;
}

/// "8[1a000]" -> rank "8", device "1a000".
void set_end(std::vector<Fact::Field>& fields, const std::string& key, std::string_view text) {
  const std::size_t open = text.find('[');
  fields.emplace_back(key, trim(text.substr(0, open)));
  const std::size_t close = open == kNone ? kNone : text.find(']', open);
  if (close != kNone) {
    fields.emplace_back(key + "_device", text.substr(open + 1, close - open - 1));
  }
}

/// The GID behind the last `key`: before it stands the index of the GID under a like name.
std::string_view gid_after(std::string_view text, std::string_view key) {
  const std::size_t at = text.rfind(key);
  return at == kNone ? std::string_view() : word_after(text.substr(at), key);
}

}  // namespace

std::string_view word_after(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == kNone) {
    return {};
  }
  const std::string_view rest = trim(text.substr(at + key.size()));
  return rest.substr(0, rest.find_first_of(" ,\t"));
}

std::vector<Fact> refine_interfaces(std::string_view name, const std::vector<Fact::Field>& fields) {
  std::vector<Fact> result;
  const std::string_view list = field(fields, "list");
  for (const Item& item : items(list.substr(0, list.find(';')))) {
    std::string interface;
    std::string address;
    if (interface_of(item.text, interface, address)) {
      result.push_back(fact(name, {{"index", item.index.empty() ? "0" : item.index},
                                   {"interface", interface},
                                   {"address", address}}));
    }
  }
  return result;
}

std::vector<Fact> refine_hcas(std::string_view name, const std::vector<Fact::Field>& fields) {
  std::vector<Fact> result;
  const std::string_view list = field(fields, "list");
  const std::size_t oob = list.find("OOB ");
  for (const Item& item : items(list.substr(0, oob))) {
    const std::size_t colon = item.text.rfind(':');
    if (colon == kNone || colon == 0) {
      continue;
    }
    const std::string_view port = item.text.substr(colon + 1);
    const std::size_t slash = port.find('/');
    const std::string_view link = slash == kNone ? std::string_view() : port.substr(slash + 1);
    result.push_back(fact(name, {{"index", item.index.empty() ? "0" : item.index},
                                 {"hca", std::string(item.text.substr(0, colon))},
                                 {"port", std::string(port.substr(0, slash))},
                                 {"link", std::string(link.substr(0, link.find('/')))}}));
  }
  std::string interface;
  std::string address;
  if (oob != kNone && interface_of(trim(list.substr(oob + 4)), interface, address)) {
    result.push_back(fact("nccl.oob", {{"interface", interface}, {"address", address}}));
  }
  return result;
}

std::vector<Fact> refine_channel(std::string_view name, const std::vector<Fact::Field>& fields) {
  std::string_view channel = field(fields, "channel");
  const bool old = channel.find('/') == kNone;  // before 2.8: no kind of connection behind it
  channel = trim(channel.substr(0, channel.find('/')));
  if (!parse_integer(channel)) {
    return {};
  }
  std::string_view to = field(fields, "to");
  std::string direction;
  for (const char* word : {"send", "receive"}) {
    const std::size_t at = to.find(std::string("[") + word + "]");
    if (at != kNone) {
      direction = word;
      to = trim(to.substr(0, at));
    }
  }
  const std::string_view way = field(fields, "way");
  std::vector<Fact::Field> result{{"channel", std::string(channel)}};
  set_end(result, "from", field(fields, "from"));
  set_end(result, "to", to);
  const std::vector<std::string_view> parts = split(way, '/');
  const bool net = parts.size() > 2 && lower(parts[0]) == "net";
  const bool socket = net && lower(parts[1]) == "socket";
  result.emplace_back("way", net ? "NET" : std::string(parts.empty() ? way : parts[0]));
  result.emplace_back("detail", parts.size() > 1 ? std::string(parts[1]) : "");
  result.emplace_back("form", old ? "old" : "new");
  if (net) {
    const bool gdr = way.find("/GDRDMA") != kNone;
    result.emplace_back("net", std::string(parts[2].substr(0, parts[2].find('('))));
    result.emplace_back("gdr", socket ? "never" : gdr ? "yes" : "no");
    result.emplace_back("direction", direction);
  }
  return {fact(name, std::move(result))};
}

std::vector<Fact> refine_completion(std::string_view name, const std::vector<Fact::Field>& fields) {
  const std::string_view rest = field(fields, "rest");
  std::string_view status = word_after(rest, "status=");
  if (status.empty()) {
    status = word_after(rest, "error ");
  }
  const std::size_t open = status.find('(');  // 2.30: "IBV_WC_RETRY_EXC_ERR(12)"
  if (open != kNone && status.back() == ')') {
    status = status.substr(open + 1, status.size() - open - 2);
  }
  std::string_view opcode = word_after(rest, "opcode=");
  if (opcode.empty()) {
    opcode = word_after(rest, "opcode ");
  }
  const std::string_view remote =
      rest.find("remoteGids") != kNone ? "remoteGids" : "remoteGid ";  // by release
  std::string_view side = rest.find("(Send)") != kNone ? "send" : "";
  side = rest.find("(Recv)") != kNone ? "receive" : side;
  return {fact(name, {{"status", std::string(status)},
                      {"opcode", std::string(opcode)},
                      {"vendor", std::string(word_after(rest, "vendor err "))},
                      {"peer", std::string(without_port(field(fields, "peer")))},
                      {"hca", std::string(word_after(rest, "hca "))},
                      {"side", std::string(side)},
                      {"local_gid", std::string(word_after(rest, "localGid "))},
                      {"remote_gid", std::string(word_after(rest, remote))}})};
}

std::vector<Fact> refine_modify_qp(std::string_view name, const std::vector<Fact::Field>& fields) {
  std::string_view rest = field(fields, "rest");
  const std::string_view whole = rest;
  constexpr std::string_view kError = "error ";
  if (rest.substr(0, kError.size()) == kError) {
    rest.remove_prefix(kError.size());
  }
  const std::string_view number = rest.substr(0, rest.find(' '));
  std::string code;
  if (parse_integer(number)) {
    code = std::string(number);
    rest = trim(rest.substr(number.size()));
  }
  const std::string_view error = trim(rest.substr(0, rest.find(',')));
  const std::string_view device = word_after(whole, "on dev ");
  return {fact(name, {{"error", std::string(error)},
                      {"errno", code},
                      {"hca", std::string(device.substr(0, device.find(':')))},
                      {"local_gid", std::string(gid_after(whole, "local GID "))},
                      {"remote_gid", std::string(gid_after(whole, "remote GID "))}})};
}

std::vector<Fact> refine_gid(std::string_view name, const std::vector<Fact::Field>& fields) {
  const std::string prefix = lower(field(fields, "prefix"));
  return {fact(name, {{"index", std::string(field(fields, "index"))},
                      {"link_local", prefix == "80fe" ? "yes" : "no"}})};
}

std::vector<Fact> refine_peer(std::string_view name, const std::vector<Fact::Field>& fields) {
  std::vector<Fact::Field> result = fields;
  for (Fact::Field& one : result) {
    if (one.first == "peer") {
      one.second = std::string(without_port(one.second));
    } else if (one.first == "error") {  // "Connection refused, retrying (3/34) after ..."
      one.second = std::string(trim(std::string_view(one.second).substr(0, one.second.find(','))));
    }
  }
  return {fact(name, std::move(result))};
}

std::vector<Fact> refine_rank(std::string_view name, const std::vector<Fact::Field>& fields) {
  const std::string_view rest = field(fields, "rest");
  const std::string_view rank = word_after(rest, "rank ");
  if (!parse_integer(rank)) {
    return {};
  }
  const std::string_view phase = rest.find("COMPLETE") != kNone ? "complete"
                                 : rest.find("START") != kNone  ? "start"
                                                                : "";
  return {fact(name, {{"rank", std::string(rank)},
                      {"ranks", std::string(word_after(rest, "nranks "))},
                      {"device", std::string(word_after(rest, "cudaDev "))},
                      {"bus", std::string(word_after(rest, "busId "))},
                      {"phase", std::string(phase)}})};
}

std::vector<Fact> refine_symbol(std::string_view name, const std::vector<Fact::Field>& fields) {
  const std::string_view symbol = field(fields, "symbol");
  if (lower(symbol).rfind("nccl", 0) == 0) {
    return {};
  }
  return {fact(name, {{"symbol", std::string(symbol)}})};
}

std::vector<Fact> refine_no_plugin(std::string_view name, const std::vector<Fact::Field>& fields) {
  const std::string_view how = field(fields, "how");
  const std::string_view rest = field(fields, "rest");
  const bool newer = rest.substr(0, 1) == ":";  // "Could not find: libnccl-net.so"
  return {fact(name, {{"form", !how.empty() ? "before 2.21"
                               : newer      ? "2.22 and later"
                                            : "other"}})};
}

std::vector<Fact> refine_network(std::string_view name, const std::vector<Fact::Field>& fields) {
  const std::string_view network = field(fields, "name");
  return {fact(name, {{"name", std::string(trim(network.substr(0, network.find("  "))))}})};
}

std::vector<Fact> refine_variable(std::string_view name, const std::vector<Fact::Field>& fields) {
  std::string_view value = field(fields, "value");
  if (!value.empty() && value.back() == '.') {
    value.remove_suffix(1);
  }
  const std::string variable = "NCCL_" + std::string(field(fields, "name"));
  if (variable.find(' ') != std::string::npos) {
    return {};
  }
  return {fact(name, {{"name", variable}, {"value", std::string(value)}})};
}

}  // namespace busbw::facts
