// `busbw list`: finds the data folder, reads what the list needs, prints it.
#include "tools/command_list.h"

#include <algorithm>
#include <filesystem>

#include "sim/core/errors.h"
#include "sim/core/text.h"
#include "sim/core/yaml.h"
#include "tools/data_path.h"
#include "tools/exit_codes.h"
#include "tools/json/json.h"
#include "tools/listing.h"
#include "tools/table.h"

namespace busbw::tools {
namespace {

namespace fs = std::filesystem;

/// The scenarios of a folder in order of name. Only the title is read here: a broken scenario is
/// listed too.
Listing list_scenarios(const std::string& folder) {
  Listing listing;
  topologies::CatalogTable table{"scenarios", {"name", "title", "file"}, {}};
  std::vector<fs::path> files;
  if (fs::is_directory(folder)) {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
      if (entry.path().extension() == ".yaml") {
        files.push_back(entry.path());
      }
    }
  }
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) {
    Problems problems;
    const YamlNode root = load_yaml(file.string(), problems);
    const YamlNode* title = root.is_mapping() ? root.find("title") : nullptr;
    const std::string text = title != nullptr && title->is_scalar() ? title->text() : "";
    table.rows.push_back({file.stem().string(), text, file.string()});
    listing.items.push(Value::object()
                           .set("name", file.stem().string())
                           .set("title", text)
                           .set("file", file.string()));
  }
  listing.tables.push_back(table);
  return listing;
}

Listing make_listing(const std::string& what, const DataPath& data) {
  if (what == "scenarios") {
    return list_scenarios(data.scenarios());
  }
  Problems problems;
  const topologies::Catalog catalog = topologies::load_catalog(data.catalog(), problems);
  Listing listing;
  if (what == "machines") {
    listing =
        list_machines(topologies::load_machines(data.catalog() + "/machines", catalog, problems));
  } else if (what == "gpus") {
    listing = list_gpus(catalog);
  } else if (what == "nics") {
    listing = list_nics(catalog);
  } else if (what == "cpus") {
    listing = list_cpus(catalog);
  } else if (what == "switches") {
    listing = list_switches(catalog);
  } else {
    listing = list_rates(catalog);
  }
  problems.throw_if_any();
  return listing;
}

/// Tables one below the other; with their titles when there are several.
std::string format_tables(const Listing& listing, bool colour) {
  std::string text;
  for (const topologies::CatalogTable& table : listing.tables) {
    if (listing.tables.size() > 1) {
      text += (text.empty() ? "" : "\n") + bold(table.title, colour) + "\n";
    }
    text += format_table(numbers_right(table.header, table.rows), table.rows, colour);
  }
  return text;
}

}  // namespace

const std::vector<std::string>& list_kinds() {
  static const std::vector<std::string> kKinds = {"machines", "gpus",  "nics",     "cpus",
                                                  "switches", "rates", "scenarios"};
  return kKinds;
}

int list(const ListOptions& options, Console& console) {
  const std::vector<std::string>& kinds = list_kinds();
  if (options.what.empty()) {
    throw InputError("no list named; allowed: " + quoted_list(kinds));
  }
  if (std::find(kinds.begin(), kinds.end(), options.what) == kinds.end()) {
    const std::string meant = did_you_mean(options.what, kinds);
    throw InputError("unknown list '" + options.what + "'" +
                     (meant.empty() ? "; allowed: " + quoted_list(kinds) : meant));
  }
  const Listing listing = make_listing(options.what, find_data(process_query()));
  if (options.json) {
    console.out << json::print(Value::object()
                                   .set("schema", "busbw.list/1")
                                   .set("list", options.what)
                                   .set("items", listing.items));
  } else {
    console.out << format_tables(listing, console.colour_out);
  }
  return kExitDone;
}

}  // namespace busbw::tools
