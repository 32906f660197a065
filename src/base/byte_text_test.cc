#include "base/byte_text.h"

#include <gtest/gtest.h>

#include "parallax/report.h"

namespace parallax {
namespace {

TEST(ByteText, IsExactAndReadable) {
  EXPECT_EQ(byte_text(0), "0 bytes");
  EXPECT_EQ(byte_text(1023), "1023 bytes");
  EXPECT_EQ(byte_text(1024), "1024 bytes (1.0 KiB)");
  EXPECT_EQ(byte_text(123456789), "123456789 bytes (117.7 MiB)");
  EXPECT_EQ(format_bytes(1000), "1000 B");
}

}  // namespace
}  // namespace parallax
