// The version that CMake reads is the version that a program sees.
#include <gtest/gtest.h>

#include <kiln/version.hpp>

TEST(Version, NumberIsMadeOfItsParts) {
  EXPECT_EQ(kiln::version, KILN_VERSION_MAJOR * 10000 + KILN_VERSION_MINOR * 100 + KILN_VERSION_PATCH);
}
