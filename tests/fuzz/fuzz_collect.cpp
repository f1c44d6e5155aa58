// Fuzzer of real/collect: what leaves the machine.
#include <string>

#include "real/collect/redact.h"
#include "tests/fuzz/registry.h"

namespace busbw::fuzz {
namespace {

/// A line with secrets in it, between edits of texts that hold none.
void redaction(Random& random) {
  const std::string around =
      mutate(random,
             {"NCCL_DEBUG=INFO\nLD_LIBRARY_PATH=/home/alice/lib:/usr/lib\n",
              "\tNode GUID: 0x98039b0300abcd10\n\tLink layer: InfiniBand\n",
              "GPU 0\n    Processes\n        Name : python\n    Serial Number : 1\n",
              "https://me:word@host/x password: y token=z\n"},
             {"/home/", "/root", "://", "@", ":", "=", "token", "secret", "\n", " ", "~",
              "<removed>", "\xff", std::string(40, 'a'), "hf_"});
  const std::string key =
      std::to_string(random.between(100'000, 999'999'999)) + "AbCdEfGhIjKlMnOpQrSt";
  const std::string text = around + "\nuser hf_" + key + " and " + key + "xY end\n";
  const std::string once = real::collect::redacted(text);
  require(once.find(key) == std::string::npos, "a token is left", text);
  require(real::collect::redacted(once) == once, "redacting twice changes something", text);
  const std::string kept = real::collect::without_serials(text);
  require(real::collect::without_serials(kept) == kept, "a serial number was left", text);
}

}  // namespace

std::vector<Fuzzer> collect_fuzzers() {
  return {{"redaction", "no planted token leaves; redacting twice is redacting once", 5'000,
           &redaction}};
}

}  // namespace busbw::fuzz
