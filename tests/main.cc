#include <gtest/gtest.h>

#include "tests/files.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return cuface::test::choose_files(argc, argv) ? RUN_ALL_TESTS() : 1;
}
