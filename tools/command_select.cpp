// `busbw select`: reads the records, decides and predicts each, then prints the array.
#include "tools/command_select.h"

#include <fmt/format.h>

#include "models/nccl/select_records.h"
#include "scenarios/records.h"
#include "sim/core/errors.h"
#include "sim/core/text.h"
#include "tools/data_path.h"
#include "tools/exit_codes.h"
#include "tools/files.h"
#include "tools/json/json.h"
#include "tools/table.h"

namespace busbw::tools {
namespace {

std::string text_of(const Value* value) {
  if (value == nullptr || value->is_null()) {
    return "";
  }
  if (value->is_string()) {
    return value->as_string();
  }
  return value->is_number() ? fmt::format("{:.4f}", value->as_number()) : "";
}

std::string names_of(const Value* array) {
  std::vector<std::string> names;
  if (array != nullptr && array->is_array()) {
    for (const Value& element : array->as_array()) {
      names.push_back(text_of(&element));
    }
  }
  return join(names, " ");
}

std::string table_of(const Value& answers, bool colour) {
  const std::vector<Column> columns = {{"record"},
                                       {"bootstrap"},
                                       {"network"},
                                       {"data interfaces"},
                                       {"outcome"},
                                       {"bytes", Align::kRight},
                                       {"measured busbw", Align::kRight},
                                       {"predicted busbw", Align::kRight}};
  std::vector<std::vector<std::string>> rows;
  for (const Value& answer : answers.as_array()) {
    std::vector<std::string> row = {
        text_of(answer.find("id")), text_of(answer.find("bootstrap_interface")),
        text_of(answer.find("network")), names_of(answer.find("data_interfaces")),
        text_of(answer.find("outcome"))};
    const Value::Array& points = answer.find("points")->as_array();
    if (points.empty()) {
      row.insert(row.end(), {"", "", ""});
      rows.push_back(std::move(row));
      continue;
    }
    for (const Value& point : points) {
      std::vector<std::string> line = row;
      line.push_back(fmt::format("{}", point.find("bytes")->as_integer()));
      line.push_back(text_of(point.find("measured_busbw_GBps")));
      line.push_back(text_of(point.find("predicted_busbw_GBps")));
      rows.push_back(std::move(line));
    }
  }
  return format_table(columns, rows, colour);
}

}  // namespace

int select(const SelectOptions& options, Console& console) {
  const DataPath data = find_data(process_query());
  Problems problems;
  const scenarios::Library library = scenarios::load_library(data.catalog(), problems);
  const params::Transports transports = params::load_transports(data.catalog(), problems);
  const Value file = json::parse(read_user_file(options.records), options.records, problems);
  problems.throw_if_any();
  const std::vector<nccl::SelectionRecord> records = nccl::read_selection_records(file, problems);
  problems.throw_if_any();
  const scenarios::Context context{library.catalog, transports};
  const auto predict = [&](const nccl::SelectionRecord& record, const nccl::Decision& decision,
                           const nccl::RecordPoint& point) {
    return scenarios::predict_point(record, decision, point, library, context);
  };
  Value answers = Value::array();
  for (const nccl::SelectionRecord& record : records) {
    answers.push(nccl::selection_output(record, nccl::select(record.input), predict));
  }
  if (options.json == "-") {
    console.out << json::print(answers);
    return kExitDone;
  }
  if (!options.json.empty()) {
    write_file(options.json, json::print(answers));
  }
  console.out << table_of(answers, console.colour_out);
  return kExitDone;
}

}  // namespace busbw::tools
