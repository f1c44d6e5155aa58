// The numbers of NCCL's releases. Sources: src/graph/search.cc (speeds), src/graph/tuning.cc (the
// rest) of the tags named beside each row.
#include "models/nccl/graph/release_tables.h"

namespace busbw::nccl::graph {
namespace {

template <class Table>
struct Since {
  Version first;
  Table table;
};

/// The newest row that is not newer than the release; the oldest for older releases.
template <class Table>
const Table& newest(const std::vector<Since<Table>>& rows, Version version) {
  const Since<Table>* found = &rows.front();
  for (const Since<Table>& row : rows) {
    if (row.first <= version)
      found = &row;
  }
  return found->table;
}

using Latencies = std::array<std::array<double, 3>, kAlgorithms>;
using HardwareLatencies = std::array<Latencies, 3>;
using Caps = std::array<std::array<double, 3>, 4>;
using Correction = std::array<std::array<float, 24>, 3>;

const std::vector<Since<std::vector<float>>>& intra_before_hopper() {
  static const std::vector<Since<std::vector<float>>> kTable{
      {{2, 18, 1},
       {40.0F, 30.0F, 20.0F, 18.0F, 15.0F, 12.0F, 10.0F, 9.0F, 7.0F, 6.0F, 5.0F, 4.0F, 3.0F}}};
  return kTable;
}

const std::vector<Since<std::vector<float>>>& inter_before_hopper() {
  static const std::vector<Since<std::vector<float>>> kTable{
      {{2, 18, 1},
       {48.0F, 30.0F, 28.0F, 24.0F, 20.0F, 18.0F, 15.0F, 12.0F, 10.0F, 9.0F, 7.0F, 6.0F, 5.0F, 4.0F,
        3.0F, 2.4F, 1.2F, 0.24F, 0.12F}}};
  return kTable;
}

const std::vector<Since<std::vector<float>>>& intra_hopper() {
  static const std::vector<Since<std::vector<float>>> kTable{
      {{2, 18, 1}, {60.0F, 40.0F, 30.0F, 24.0F, 20.0F, 15.0F, 12.0F, 6.0F, 3.0F}},
      {{2, 19, 1}, {60.0F, 50.0F, 40.0F, 30.0F, 24.0F, 20.0F, 15.0F, 12.0F, 6.0F, 3.0F}},
      {{2, 21, 5}, {60.0F, 50.0F, 40.0F, 30.0F, 24.0F, 20.0F, 15.0F, 12.0F, 11.0F, 6.0F, 3.0F}}};
  return kTable;
}

const std::vector<Since<std::vector<float>>>& inter_hopper() {
  static const std::vector<Since<std::vector<float>>> kTable{
      {{2, 18, 1},
       {48.0F, 45.0F, 42.0F, 40.0F, 30.0F, 24.0F, 15.0F, 12.0F, 6.0F, 3.0F, 2.4F, 1.2F, 0.24F,
        0.12F}},
      {{2, 18, 3},
       {48.0F, 45.0F, 42.0F, 40.0F, 30.0F, 24.0F, 20.0F, 17.5F, 15.0F, 12.0F, 6.0F, 3.0F, 2.4F,
        1.2F, 0.24F, 0.12F}},
      {{2, 19, 3},
       {48.0F, 45.0F, 42.0F, 40.0F, 30.0F, 24.0F, 22.0F, 20.0F, 17.5F, 15.0F, 12.0F, 6.0F, 3.0F,
        2.4F, 1.2F, 0.24F, 0.12F}}};
  return kTable;
}

const std::vector<Since<std::vector<float>>>& intra_blackwell() {
  static const std::vector<Since<std::vector<float>>> kTable{
      {{2, 25, 1}, {90.0F, 80.0F, 70.0F, 60.0F, 50.0F, 40.0F, 30.0F, 24.0F, 20.0F, 19.0F}},
      {{2, 27, 3}, {90.0F, 80.0F, 70.0F, 60.0F, 50.0F, 40.0F, 30.0F, 24.0F, 20.0F, 19.0F, 18.0F}},
      {{2, 29, 2},
       {90.0F, 80.0F, 70.0F, 60.0F, 50.0F, 45.0F, 40.0F, 30.0F, 24.0F, 20.0F, 19.0F, 18.0F}}};
  return kTable;
}

const std::vector<Since<std::vector<float>>>& inter_blackwell() {
  static const std::vector<Since<std::vector<float>>> kTable{
      {{2, 25, 1},
       {48.0F, 45.0F, 42.0F, 40.0F, 30.0F, 24.0F, 22.0F, 20.0F, 17.5F, 15.0F, 12.0F, 6.0F, 3.0F,
        2.4F, 1.2F, 0.24F, 0.12F}},
      {{2, 27, 3},
       {47.9F, 45.0F, 42.0F, 40.0F, 30.0F, 24.0F, 22.0F, 20.0F, 17.5F, 15.0F, 12.0F, 6.0F, 3.0F,
        2.4F, 1.2F, 0.24F, 0.12F}},
      {{2, 27, 5},
       {48.0F, 45.1F, 42.0F, 40.0F, 30.0F, 24.0F, 22.0F, 20.0F, 17.5F, 15.0F, 12.0F, 6.0F, 3.0F,
        2.4F, 1.2F, 0.24F, 0.12F}},
      {{2, 27, 6},
       {96.0F, 48.0F, 45.1F, 42.0F, 40.0F, 30.0F, 24.0F, 22.0F, 20.0F, 17.5F, 15.0F, 12.0F, 6.0F,
        3.0F, 2.4F, 1.2F, 0.24F, 0.12F}},
      {{2, 29, 7},
       {96.0F, 80.0F, 48.0F, 45.1F, 42.0F, 40.0F, 30.0F, 24.0F, 22.0F, 20.0F, 17.5F, 15.0F, 12.0F,
        6.0F, 3.0F, 2.4F, 1.2F, 0.24F, 0.12F}},
      {{2, 30, 3}, {96.0F, 86.0F, 80.0F, 48.0F, 45.1F, 42.0F, 40.0F, 30.0F, 24.0F, 22.0F,
                    20.0F, 17.5F, 15.0F, 12.0F, 6.0F,  3.0F,  2.4F,  1.2F,  0.24F, 0.12F}}};
  return kTable;
}

const std::vector<Since<Latencies>>& base_latency() {
  static const std::vector<Since<Latencies>> kTable{{{2, 18, 1},
                                                     {{{{6.8, 14, 0}},
                                                       {{6.6, 14, 8.4}},
                                                       {{6.8, 14, 0}},
                                                       {{6.8, 14, 0}},
                                                       {{0, 0, 23}},
                                                       {{0, 0, 23}},
                                                       {{0, 0, 0}}}}},
                                                    {{2, 19, 1},
                                                     {{{{6.8, 14, 0}},
                                                       {{6.6, 14, 8.4}},
                                                       {{0, 0, 0}},
                                                       {{0, 0, 0}},
                                                       {{0, 0, 0}},
                                                       {{0, 0, 0}},
                                                       {{0, 0, 0}}}}},
                                                    {{2, 23, 4},
                                                     {{{{6.8, 14, 8.4}},
                                                       {{6.6, 14, 8.4}},
                                                       {{0, 0, 0}},
                                                       {{0, 0, 0}},
                                                       {{0, 0, 0}},
                                                       {{0, 0, 0}},
                                                       {{8, 8, 8}}}}}};
  return kTable;
}

// clang-format off
const std::vector<Since<HardwareLatencies>>& hardware_latency() {
  static const std::vector<Since<HardwareLatencies>> kTable{
      {{2, 18, 1},
       {{{{{{0.6, 1.25, 28}}, {{0.6, 1.9, 3.4}}, {{0, 0, 8}}, {{0, 0, 4.75}},
          {{0, 0, 0}}, {{0, 0, 0}}, {{0, 0, 0}}}},
         {{{{1, 1.9, 28}}, {{1, 2.5, 5.7}}, {{0, 0, 8}}, {{0, 0, 8}}, {{0, 0, 0}},
          {{0, 0, 0}}, {{0, 0, 0}}}},
         {{{{5, 8.5, 28}}, {{2.7, 4, 14}}, {{0, 0, 10.7}}, {{0, 0, 14}}, {{0, 0, 18}},
          {{0, 0, 19}}, {{0, 0, 0}}}}}}},
      {{2, 18, 3},
       {{{{{{0.6, 1.25, 4}}, {{0.6, 1.9, 3.4}}, {{0, 0, 8}}, {{0, 0, 4.75}},
          {{0, 0, 0}}, {{0, 0, 0}}, {{0, 0, 0}}}},
         {{{{1, 1.9, 6}}, {{1, 2.5, 5.7}}, {{0, 0, 8}}, {{0, 0, 8}}, {{0, 0, 0}},
          {{0, 0, 0}}, {{0, 0, 0}}}},
         {{{{5, 8.5, 14}}, {{2.7, 4, 14}}, {{0, 0, 10.7}}, {{0, 0, 14}}, {{0, 0, 18}},
          {{0, 0, 19}}, {{0, 0, 0}}}}}}},
      {{2, 19, 1},
       {{{{{{0.6, 1.25, 28}}, {{0.6, 1.9, 3.4}}, {{0, 0, 3.7}}, {{0, 0, 2.8}},
          {{0, 0, 23}}, {{0, 0, 23}}, {{0, 0, 0}}}},
         {{{{1, 1.9, 28}}, {{1, 2.5, 5.7}}, {{0, 0, 3.7}}, {{0, 0, 2.8}}, {{0, 0, 0}},
          {{0, 0, 0}}, {{0, 0, 0}}}},
         {{{{5, 8.5, 28}}, {{2.7, 4, 14}}, {{0, 0, 31}}, {{0, 0, 30}}, {{0, 0, 18}},
          {{0, 0, 14}}, {{0, 0, 0}}}}}}},
      {{2, 21, 5},
       {{{{{{0.6, 1.25, 28}}, {{0.6, 1.9, 3.4}}, {{0, 0, 3.7}}, {{0, 0, 2.8}},
          {{0, 0, 25}}, {{0, 0, 25}}, {{0, 0, 0}}}},
         {{{{1, 1.9, 28}}, {{1, 2.5, 5.7}}, {{0, 0, 3.7}}, {{0, 0, 2.8}}, {{0, 0, 0}},
          {{0, 0, 0}}, {{0, 0, 0}}}},
         {{{{5, 8.5, 28}}, {{2.7, 4, 14}}, {{0, 0, 31}}, {{0, 0, 30}}, {{0, 0, 18}},
          {{0, 0, 14}}, {{0, 0, 0}}}}}}},
      {{2, 23, 4},
       {{{{{{0.6, 1.25, 4}}, {{0.6, 1.9, 3.4}}, {{0, 0, 3.7}}, {{0, 0, 2.8}},
          {{0, 0, 25}}, {{0, 0, 25}}, {{0, 0, 0}}}},
         {{{{1, 1.9, 4}}, {{1, 2.5, 5.7}}, {{0, 0, 3.7}}, {{0, 0, 2.8}}, {{0, 0, 0}},
          {{0, 0, 0}}, {{0, 0, 0}}}},
         {{{{5, 8.5, 14}}, {{2.7, 4, 14}}, {{0, 0, 31}}, {{0, 0, 30}}, {{0, 0, 18}},
          {{0, 0, 14}}, {{0, 0, 0}}}}}}},
      {{2, 28, 9},
       {{{{{{0.6, 1.25, 4}}, {{0.6, 1.9, 3.4}}, {{0, 0, 3.7}}, {{0, 0, 2.8}},
          {{0, 0, 25}}, {{0, 0, 25}}, {{0, 0, 4}}}},
         {{{{1, 1.9, 4}}, {{1, 2.5, 5.7}}, {{0, 0, 3.7}}, {{0, 0, 2.8}}, {{0, 0, 0}},
          {{0, 0, 0}}, {{0, 0, 4}}}},
         {{{{5, 8.5, 14}}, {{2.7, 4, 14}}, {{0, 0, 31}}, {{0, 0, 30}}, {{0, 0, 18}},
          {{0, 0, 20.9}}, {{0, 0, 14}}}}}}}};
  return kTable;
}
// clang-format on

const std::vector<Since<Caps>>& ll_cap() {
  static const std::vector<Since<Caps>> kTable{
      {{2, 18, 1},
       {{{{39, 39, 20.4}}, {{87.7, 22.5, 19}}, {{87.7, 22.5, 19}}, {{87.7, 22.5, 19}}}}},
      {{2, 21, 5}, {{{{39, 39, 20.4}}, {{87.7, 22.5, 19}}, {{141, 45, 35}}, {{141, 45, 35}}}}},
      {{2, 25, 1}, {{{{39, 39, 20.4}}, {{87.7, 22.5, 19}}, {{141, 45, 35}}, {{282, 90, 70}}}}}};
  return kTable;
}

const std::vector<Since<Caps>>& ring_ll128_cap() {
  static const std::vector<Since<Caps>> kTable{
      {{2, 18, 1}, {{{{20, 20, 20}}, {{20, 20, 20}}, {{36.7, 36.7, 36.7}}, {{36.7, 36.7, 36.7}}}}},
      {{2, 18, 3}, {{{{20, 20, 20}}, {{20, 20, 20}}, {{36.7, 36.7, 36.7}}, {{36.7, 36.7, 36.7}}}}},
      {{2, 25, 1}, {{{{20, 20, 20}}, {{20, 20, 20}}, {{36.7, 36.7, 36.7}}, {{73.4, 73.4, 73.4}}}}},
      {{2, 28, 7}, {{{{20, 20, 20}}, {{20, 20, 20}}, {{36.7, 36.7, 36.7}}, {{73.4, 34.6, 73.4}}}}},
      {{2, 29, 2}, {{{{20, 20, 20}}, {{20, 20, 20}}, {{36.7, 36.7, 36.7}}, {{34.5, 34.6, 34.5}}}}},
      {{2, 29, 7}, {{{{20, 20, 20}}, {{20, 20, 20}}, {{36.7, 36.7, 36.7}}, {{40, 40, 40}}}}}};
  return kTable;
}

const std::vector<Since<Caps>>& tree_ll128_cap() {
  static const std::vector<Since<Caps>> kTable{
      {{2, 18, 1}, {{{{20, 20, 20}}, {{20, 20, 20}}, {{36.7, 36.7, 36.7}}, {{36.7, 36.7, 36.7}}}}},
      {{2, 18, 3}, {{{{20, 20, 20}}, {{20, 20, 20}}, {{36.7, 36.7, 29}}, {{36.7, 36.7, 29}}}}},
      {{2, 25, 1}, {{{{20, 20, 20}}, {{20, 20, 20}}, {{36.7, 36.7, 29}}, {{73.4, 73.4, 58}}}}},
      {{2, 28, 3}, {{{{20, 20, 20}}, {{20, 20, 20}}, {{36.7, 36.7, 29}}, {{55.6, 31.67, 20}}}}}};
  return kTable;
}

const std::vector<Since<Caps>>& tree_cap() {
  static const std::vector<Since<Caps>> kTable{
      {{2, 18, 1},
       {{{{26.5, 18.5, 10}}, {{24, 23.6, 17.8}}, {{38.7, 41.4, 33}}, {{38.7, 41.4, 33}}}}},
      {{2, 18, 3},
       {{{{26.5, 18.5, 10}}, {{24, 23.6, 17.8}}, {{38.7, 41.4, 36}}, {{38.7, 41.4, 36}}}}},
      {{2, 25, 1},
       {{{{26.5, 18.5, 10}}, {{24, 23.6, 17.8}}, {{38.7, 41.4, 36}}, {{77.4, 82.8, 72}}}}},
      {{2, 28, 3},
       {{{{26.5, 18.5, 10}}, {{24, 23.6, 17.8}}, {{38.7, 41.4, 36}}, {{70, 42.8, 24}}}}}};
  return kTable;
}

const std::vector<Since<Caps>>& nvls_tree_cap() {
  static const std::vector<Since<Caps>> kTable{
      {{2, 28, 3}, {{{{26.5, 18.5, 10}}, {{24, 23.6, 17.8}}, {{0, 57.7, 45.5}}, {{0, 96, 43.1}}}}},
      {{2, 28, 9}, {{{{26.5, 18.5, 10}}, {{24, 23.6, 17.8}}, {{0, 57.7, 45.5}}, {{0, 96, 43.8}}}}},
      {{2, 30, 3}, {{{{26.5, 18.5, 10}}, {{24, 23.6, 17.8}}, {{0, 57.7, 45.5}}, {{0, 96, 80}}}}}};
  return kTable;
}

const std::vector<Since<Correction>>& tree_correction() {
  static const std::vector<Since<Correction>> kTable{
      {{2, 18, 1},
       {{{{1,    1,    1,    1,    0.9F, 0.8F, 0.7F, 0.7F, 0.7F, 0.7F, 0.6F, 0.5F,
           0.4F, 0.4F, 0.5F, 0.6F, 0.7F, 0.8F, 0.9F, 1,    1,    1,    1,    1}},
         {{1,    1,    1,    1,    1,    0.9F, 0.8F, 0.8F, 0.8F, 0.7F, 0.6F, 0.6F,
           0.6F, 0.6F, 0.6F, 0.6F, 0.8F, 0.9F, 0.9F, 0.9F, 0.9F, 1,    1,    1}},
         {{0.9F, 0.9F, 0.9F, 0.9F, 0.9F, 0.9F, 0.9F, 0.8F, 0.7F, 0.6F, 0.6F, 0.5F,
           0.5F, 0.5F, 0.5F, 0.6F, 0.7F, 0.8F, 0.7F, 0.7F, 0.8F, 0.9F, 0.9F, 1}}}}},
      {{2, 29, 2},
       {{{{1,    1,    1,    1,    0.9F, 0.8F, 0.7F, 0.7F, 0.7F, 0.7F, 0.6F, 0.5F,
           0.4F, 0.4F, 0.5F, 0.6F, 0.7F, 0.8F, 0.9F, 1,    1,    1,    1,    1}},
         {{1,    1,    1,    1,    1,    0.9F, 0.8F, 0.8F, 0.8F, 0.7F, 0.6F, 0.6F,
           0.6F, 0.6F, 0.6F, 0.6F, 0.8F, 0.9F, 0.9F, 0.9F, 0.9F, 1,    1,    1}},
         {{0.9F, 0.9F, 0.9F, 0.9F, 0.9F, 0.9F, 0.9F, 0.8F, 0.7F, 0.6F, 0.6F, 0.5F,
           0.5F, 0.5F, 0.5F, 0.6F, 0.7F, 0.8F, 0.7F, 0.7F, 0.8F, 0.9F, 0.9F, 0.9F}}}}}};
  return kTable;
}

}  // namespace

const std::vector<float>& search_speeds(int sm, bool inter, Version version) {
  if (sm >= 100 && version >= Version{2, 25, 1})
    return newest(inter ? inter_blackwell() : intra_blackwell(), version);
  if (sm >= 90)
    return newest(inter ? inter_hopper() : intra_hopper(), version);
  return newest(inter ? inter_before_hopper() : intra_before_hopper(), version);
}

TuningTables tuning_tables(Version version) {
  TuningTables tables;
  tables.base_us = newest(base_latency(), version);
  tables.hardware_us = newest(hardware_latency(), version);
  tables.ll_cap = newest(ll_cap(), version);
  tables.ring_ll128_cap = newest(ring_ll128_cap(), version);
  tables.tree_ll128_cap = newest(tree_ll128_cap(), version);
  tables.tree_cap = newest(tree_cap(), version);
  tables.nvls_tree_cap = newest(nvls_tree_cap(), version);
  tables.tree_correction = newest(tree_correction(), version);
  return tables;
}

}  // namespace busbw::nccl::graph
