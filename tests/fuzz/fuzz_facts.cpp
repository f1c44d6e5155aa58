// Fuzzers of models/facts and models/diagnosis: text of any kind becomes facts and notes that have
// a place in it, what follows garbage is still read, and a diagnosis comes to an end.
#include <algorithm>
#include <string>
#include <vector>

#include "models/diagnosis/finding.h"
#include "models/facts/read_facts.h"
#include "sim/core/text.h"
#include "tests/fuzz/registry.h"

namespace busbw::fuzz {
namespace {

using facts::Fact;
using facts::FactStore;

const std::string kLast = "zz:1:1 [0] NCCL INFO Using network Last";

/// Reads `text` and, behind it, a line that must be understood whatever stands before it.
void read(const std::string& text, Random& random, FactStore& store) {
  const std::string whole = text + '\n' + kLast + '\n';
  facts::FileReader reader("fuzz.txt", "", store);
  for (std::size_t at = 0; at < whole.size();) {
    const std::size_t length = 1 + static_cast<std::size_t>(random.below(400));
    reader.text(std::string_view(whole).substr(at, length));
    at += length;
  }
  const facts::FileReport report = reader.finish();
  const auto lines = 1 + std::count(text.begin(), text.end(), '\n');
  require(report.lines == lines + 1, "lines are miscounted", text);
  Problems notes;
  for (const InputProblem& note : store.notes())
    notes.add(note.where, note.message);
  require_good_problems(notes, "fuzz.txt", text);
  for (const Fact& fact : store.all()) {
    require(fact.where.line >= 1 && fact.where.line <= lines + 1, "a fact has no place", text);
    require(fact.last_line >= 1 && fact.last_line <= lines + 1, "a fact ends nowhere", text);
    require(fact.count >= 1 && fact.count <= lines + 1, "a fact has a wrong count", text);
    require(split_lines(fact.line).size() <= 1 && fact.line.size() <= facts::kLongestQuote + 3,
            "a quote is no line", text);
  }
  const std::vector<const Fact*> last = store.named("nccl.network");
  const bool found =
      std::any_of(last.begin(), last.end(), [](const Fact* fact) { return fact->host == "zz"; });
  // A file whose first line opens a JSON document holds quotes, not lines: it is left alone.
  const bool json = report.kinds.empty() && text.find_first_of("{[") != std::string::npos;
  require(found || json, "the line behind is not read", text);
}

void fuzz_kind(Random& random, const std::vector<std::string>& documents,
               const std::vector<std::string>& words) {
  FactStore store;
  read(mutate(random, documents, words), random, store);
}

const std::vector<std::string> kLogs = {
    "w0:7:8 [0] NCCL INFO Bootstrap : Using [0]em1:10.9.0.1<0> [1]cni0:fe80::7%cni0<0>\n"
    "w0:7:8 [0] NCCL INFO NET/IB : Using [0]={[0] m0:1/RoCE, [1] m1:1/RoCE} [RO]; OOB "
    "em1:1.2.3.4<0>\n"
    "w0:7:8 [0] NCCL INFO Channel 03/0 : 8[1b000] -> 0[1c000] [receive] via NET/IB/2(5)/GDRDMA\n",
    "\nw0:7:8 [0] x.cc:9 NCCL WARN NET/IB : Got completion from peer 10.9.0.2<4711> with "
    "status=IBV_WC_RETRY_EXC_ERR(12) opcode=1 len=0 vendor err 129 (Send) localGid ::1 "
    "remoteGids::2\n"
    "w0:7:8 [0] x.cc:9 NCCL WARN Call to ibv_modify_qp failed with 110 Connection timed out, on "
    "dev "
    "m4:1, curr state INIT, next state RTR, local GID index 3, local GID ::ffff:1.2.3.4, remote "
    "GID ::\n",
    "[1,0]<stdout>:w0:7:8 [0] NCCL INFO ncclCommInitRank comm 0x1 rank 5 nranks 8 cudaDev 1 "
    "nvmlDev 1 "
    "busId c1000 commId 0x2 - Init COMPLETE\nNCCL version 2.19.3+cuda12.3\n"
    "{\"log\":\"w0:7:8 [0] NCCL INFO NCCL_IB_TC set by environment to 3.\\n\",\"stream\":\"x\"}\n"};
const std::vector<std::string> kLogWords = {
    "NCCL INFO ", "NCCL WARN ", "\x1b[31m", "<0>",     "[0]", "via NET/IB/", "GDRDMA",
    "status=",    "error ",     "{",        "}",       " : ", "\r",          "Using network Socket",
    "0x",         "fe80::",     "\n",       "::ffff:", "ibv_"};

void logs(Random& random) {
  fuzz_kind(random, kLogs, kLogWords);
}

void messages(Random& random) {
  fuzz_kind(
      random,
      {"[rank3]:[E x.cpp:6] [Rank 3] Watchdog caught collective operation timeout: "
       "WorkNCCL(SeqNum=42, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran\n",
       "NVRM: Xid (PCI:0000:3b:00): 79, pid=1\n[1.0] DMAR: IOMMU enabled\n",
       "ibv_create_cq(x) failed: Cannot allocate memory\nFatal error:  No devices\n"},
      {"SeqNum=", "OpType=", ")", "Xid (", ": ", "Signal: Segmentation fault", "\n",
       "NCCL version "});
}

void rdma_tools(Random& random) {
  fuzz_kind(
      random,
      {"CA 'm0'\n\tCA type: MT4123\n\tPort 1:\n\t\tState: Active\n\t\tPhysical state: LinkUp\n"
       "\t\tRate: 200\n\t\tSM lid: 1\n\t\tLink layer: InfiniBand\n",
       "Infiniband device 'm0' port 1 status:\n\tsm lid:\t 0x47\n\tstate:\t 4: ACTIVE\n"
       "\trate:\t 200 Gb/sec (4X HDR)\n\tlink_layer:\t InfiniBand\n",
       "hca_id:\tm0\n\t\tport:\t1\n\t\t\tstate:\t\tPORT_ACTIVE (4)\n\t\t\tactive_mtu:\t1024 (3)\n",
       "link m7/1 sm_lid 1 state DOWN physical_state POLLING netdev ib7\n"
       "m3 1 3 0:0:0:0:0:ffff:0a00:0101 10.0.1.1 v2 ens7\nm3 port 1 ==> ens7 (Up)\n"
       "/sys/class/infiniband/m3/ports/1/pkeys/0: 0x7FFF\n",
       "  0x1 6 1[ ] ==( 4X 25.78125 Gbps Active/ LinkUp)==> 3 3[ ] \"sw\" ( Could be 53 Gbps )\n"
       "rdma_cm uverbs0\n0a:00.0 | mlx5_1 | init | x16 G4 | x8 |\nsymbol_error: 12\n"
       "prio:3 dscp:31,30,\nenabled 0 0 0 1 0 0 0 0\nGlobal tclass=106\n"},
      {"Port 1:", "State: ", "CA '", "'", "0x", "link ", " ==> ", "/pkeys/", "==(", ")==>", "|",
       "99999999999999999999", "\n", ":"});
}

void host_tools(Random& random) {
  fuzz_kind(
      random,
      {"2: e1: <UP,LOWER_UP> mtu 9000 state UP\n    inet 10.9.0.1/24 scope global e1\n"
       "default via 10.9.0.254 dev e1\nSettings for e1:\n\tSpeed: 100000Mb/s\n"
       "# 2: e7 -> 25 GbE (10.0.0.1)\n",
       "Module Size Used by\nnvidia_peermem 16384 0\nfilename: /lib/x.ko\n"
       "max locked memory (kbytes, -l) 64\nshm 64M 60M 4.0M 94% /dev/shm\n"
       "shm /dev/shm tmpfs rw,size=65536k 0 0\nBOOT_IMAGE=/v root=/x iommu=pt\nSocket(s): 2\n",
       "3b:00.0 Infiniband controller: M\n LnkCap: Speed 16GT/s, Width x16\n LnkSta: Speed 16GT/s, "
       "Width x8 (downgraded)\n ACSCtl: SrcValid+ ReqRedir+\n",
       "\tGPU0\tGPU1\tm0\tCPU Affinity\nGPU0\t X \tNV4\tPIX\t0-15\nGPU1\tNV4\t X \tSYS\t0-15\n",
       "====NVSMI LOG====\nGPU 00000000:1B\n    Fabric\n        State : In Progress\n"
       "GPU 0: N (UUID: G)\n\t Link 1: <inactive>\n",
       "<system version=\"1\">\n<cpu numaid=\"0\">\n<pci busid=\"0\" link_speed=\"8 GT/s\" "
       "link_width=\"4\"/>\n</cpu>\n</system>\n",
       "export NCCL_IB_HCA=\"=m0\"\nmpirun -x NCCL_ALGO=Ring ./all_reduce_perf\n"},
      {"mtu ", "<", ">", "inet ", "/", "GPU0", "NV", " X ", "size=", "Width x",
       "99999999999999999999", "=", "\"", "'", "\n", "-", "K"});
}

void figures(Random& random) {
  fuzz_kind(
      random,
      {"# nThread 1 nGpus 1\n 1073741824 268435456 float sum -1 11223 95.67 167.42 0 1 2 3 0\n"
       "# Avg bus bandwidth : 33.3\n",
       " #bytes #iterations BW peak[MB/sec] BW average[MB/sec] MsgRate[Mpps]\n 65536 5000 1 2 3\n",
       "n-1,n-2 40.5\nn-3 <-> n-4: 81.25 GB/s\nn-1 n-4 40.75\n[SUM] 9.0 Gbits/sec\n"},
      {"float", "GB/s", "ms", "1e308", "-1", "nan", "inf", ",", "<->", "[Gb/sec]", "\n", "."});
}

void diagnoses(Random& random) {
  FactStore store;
  std::string text = mutate(random, kLogs, kLogWords);
  text += "\nNCCL_SOCKET_IFNAME=^eth0\nNCCL_IB_HCA=" +
          mutate(random, {"mlx5_0,^mlx5_1", "=a:1"}, {",", ":", "^"});
  read(text, random, store);
  const std::vector<diagnosis::Finding> findings = diagnosis::find(store);
  for (const diagnosis::Finding& finding : findings) {
    require(!finding.evidence.empty(), "a finding without evidence", text);
    require(finding.points > 0, "a finding that speaks against itself", text);
  }
  require(!diagnosis::checked(store).empty(), "nothing was checked", text);
}

}  // namespace

std::vector<Fuzzer> facts_fuzzers() {
  const std::string property =
      "facts and notes have a place in the text, the line behind it is read";
  return {{"facts_logs", property, 400, logs},
          {"facts_messages", property, 400, messages},
          {"facts_rdma_tools", property, 400, rdma_tools},
          {"facts_host_tools", property, 400, host_tools},
          {"facts_figures", property, 400, figures},
          {"diagnoses", "every finding has evidence", 200, diagnoses}};
}

}  // namespace busbw::fuzz
