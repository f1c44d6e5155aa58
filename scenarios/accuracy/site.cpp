// See site.h.
#include "scenarios/accuracy/site.h"

#include <algorithm>
#include <map>
#include <utility>

#include "sim/core/check.h"

namespace busbw::scenarios::accuracy {
namespace {

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.';
}

}  // namespace

std::string site_of(const Record& record) {
  static const std::string kHost = "github.com/";
  std::string text = record.source;
  if (text.rfind(kHost, 0) == 0) {
    text = text.substr(kHost.size());
  }
  // OWNER/NAME, then #NUMBER of an issue.
  const std::size_t slash = text.find('/');
  std::size_t end = slash == std::string::npos ? 0 : slash + 1;
  while (end > 0 && end < text.size() && is_name(text[end])) {
    ++end;
  }
  const bool owner =
      slash != std::string::npos && slash > 0 && end > slash + 1 &&
      std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(slash), is_name);
  if (!owner) {
    return record.id.substr(0, record.id.find('-'));
  }
  std::string site = text.substr(0, end);
  if (end < text.size() && text[end] == '#') {
    std::size_t last = end + 1;
    while (last < text.size() && text[last] >= '0' && text[last] <= '9') {
      ++last;
    }
    site = text.substr(0, last);
  }
  return site;
}

std::vector<std::int32_t> folds_of(const std::vector<std::string>& sites,
                                   const std::vector<std::int64_t>& points, std::int32_t folds) {
  CHECK(folds > 0 && sites.size() == points.size(), "{} folds, {} sites, {} points", folds,
        sites.size(), points.size());
  std::map<std::string, std::int64_t> of_site;
  for (std::size_t i = 0; i < sites.size(); ++i) {
    of_site[sites[i]] += points[i];
  }
  std::vector<std::pair<std::string, std::int64_t>> order(of_site.begin(), of_site.end());
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::int64_t> filled(static_cast<std::size_t>(folds), 0);
  std::map<std::string, std::int32_t> fold;
  for (const auto& [site, count] : order) {
    const auto least = std::min_element(filled.begin(), filled.end());
    *least += count;
    fold[site] = static_cast<std::int32_t>(least - filled.begin());
  }
  std::vector<std::int32_t> result;
  result.reserve(sites.size());
  for (const std::string& site : sites) {
    result.push_back(fold.at(site));
  }
  return result;
}

}  // namespace busbw::scenarios::accuracy
