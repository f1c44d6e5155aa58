// See command_accuracy.h.
#include "tools/command_accuracy.h"

#include <filesystem>
#include <iterator>
#include <set>
#include <system_error>

#include <fmt/format.h>

#include "scenarios/accuracy/assess.h"
#include "scenarios/accuracy/gpu_buses.h"
#include "scenarios/accuracy/report_value.h"
#include "sim/core/errors.h"
#include "sim/core/text.h"
#include "tools/accuracy_plots.h"
#include "tools/accuracy_report.h"
#include "tools/data_path.h"
#include "tools/engine_kind.h"
#include "tools/exit_codes.h"
#include "tools/files.h"
#include "tools/json/json.h"

namespace busbw::tools {
namespace {

using scenarios::accuracy::Group;
using scenarios::accuracy::Record;
using scenarios::accuracy::Report;

std::vector<Record> read_all(const std::vector<std::string>& files, Problems& problems) {
  std::vector<Record> records;
  std::set<std::string> ids;
  for (const std::string& file : files) {
    const Value value = json::parse(read_user_file(file), file, problems);
    if (value.is_null() && !problems.empty()) {
      continue;  // no JSON at all
    }
    for (Record& record : scenarios::accuracy::read_records(value, problems)) {
      if (ids.insert(record.id).second) {
        records.push_back(std::move(record));
      } else {
        problems.add(record.where, "second record with the id '" + record.id + "'");
      }
    }
  }
  scenarios::accuracy::share_buses(records);
  return records;
}

std::vector<Group> groups_of(const AccuracyOptions& options, Problems& problems) {
  std::string file = options.groups;
  if (file.empty()) {
    const std::filesystem::path beside =
        std::filesystem::path(options.records.front()).parent_path() / "comparison-groups.json";
    if (!std::filesystem::exists(beside)) {
      return {};
    }
    file = beside.string();
  }
  const Value value = json::parse(read_user_file(file), file, problems);
  return value.is_null() ? std::vector<Group>{} : scenarios::accuracy::read_groups(value, problems);
}

std::int32_t folds_of(const AccuracyOptions& options, Problems& problems) {
  if (options.fold_by.empty()) {
    return 0;
  }
  if (options.fold_by != "site") {
    problems.add({}, "unknown --fold-by '" + options.fold_by + "'; allowed: 'site'");
  }
  constexpr std::int64_t kMost = 100;
  const std::optional<std::int64_t> folds = parse_integer(options.folds);
  if (!folds || *folds < 2 || *folds > kMost) {
    problems.add({}, "--folds is '" + options.folds + "'; allowed: 2 to 100");
    return 0;
  }
  return static_cast<std::int32_t>(*folds);
}

/// The plots, and the page that shows them.
void write_page(const AccuracyOptions& options, const Report& report) {
  std::vector<PageImage> images;
  if (!options.plots.empty()) {
    std::error_code error;
    std::filesystem::create_directories(options.plots, error);
    if (error) {
      throw SystemError({"mkdir", error.message(), options.plots, ""});
    }
    const std::filesystem::path folder(options.plots);
    for (const NamedPlot& plot : accuracy_plots(report)) {
      const std::filesystem::path file = folder / plot.file;
      write_file(file.string(), plot.svg);
      const std::filesystem::path page = std::filesystem::path(options.markdown).parent_path();
      images.push_back({plot.title, std::filesystem::absolute(file)
                                        .lexically_relative(std::filesystem::absolute(page))
                                        .generic_string()});
    }
  }
  if (!options.markdown.empty()) {
    write_file(options.markdown, accuracy_markdown(report, images));
  }
}

/// Where it stands, on a terminal alone, on one line.
class Progress {
 public:
  explicit Progress(Console& console) : console_(console) {}
  void show(std::size_t done, std::size_t all, const std::string& id) {
    if (console_.terminal_err) {
      console_.err << fmt::format("\r\x1b[K[{}/{}] {}", done + 1, all, id) << std::flush;
    }
  }
  void clear() {
    if (console_.terminal_err) {
      console_.err << "\r\x1b[K" << std::flush;
    }
  }

 private:
  Console& console_;
};

}  // namespace

int accuracy(const AccuracyOptions& options, Console& console) {
  const DataPath data = find_data(process_query());
  Problems problems;
  const scenarios::Library library = scenarios::load_library(data.catalog(), problems);
  const params::Transports transports = params::load_transports(data.catalog(), problems);
  problems.throw_if_any();
  const std::vector<Record> records = read_all(options.records, problems);
  const std::vector<Group> groups = groups_of(options, problems);
  scenarios::accuracy::AssessOptions assess_options;
  assess_options.folds = folds_of(options, problems);
  assess_options.refit = options.refit;
  if (options.refit && options.fold_by.empty()) {
    problems.add({}, "--refit needs --fold-by site");
  }
  assess_options.engine = engine_choice(options.engine);
  problems.throw_if_any();
  Progress progress(console);
  assess_options.progress = [&](std::size_t done, std::size_t all, const std::string& id) {
    progress.show(done, all, id);
  };
  const scenarios::Context context{library.catalog, transports};
  const Report report =
      scenarios::accuracy::assess(records, groups, library, context, assess_options);
  progress.clear();
  write_page(options, report);
  if (!options.csv.empty() && options.csv != "-") {
    write_file(options.csv, scenarios::accuracy::report_csv(report));
  }
  if (!options.json.empty() && options.json != "-") {
    write_file(options.json, json::print(scenarios::accuracy::report_value(report)));
  }
  if (options.json == "-") {
    console.out << json::print(scenarios::accuracy::report_value(report));
  } else if (options.csv == "-") {
    console.out << scenarios::accuracy::report_csv(report);
  } else {
    console.out << accuracy_text(report, {console.colour_out, options.brief});
  }
  return kExitDone;
}

}  // namespace busbw::tools
