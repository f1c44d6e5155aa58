// What XML gives a meaning is replaced, everything else stays.
#include "sim/core/xml_text.h"

#include <gtest/gtest.h>

namespace busbw {
namespace {

TEST(XmlText, ReplacesWhatHasAMeaning) {
  EXPECT_EQ(xml_text("a<b> & \"c\"\n"), "a&lt;b&gt; &amp; &quot;c&quot;&#10;");
  EXPECT_EQ(xml_text("leaf0:1 -> µs"), "leaf0:1 -&gt; µs");
  EXPECT_EQ(xml_text(""), "");
}

}  // namespace
}  // namespace busbw
