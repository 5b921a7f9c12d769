// A folder's tests are one program. Its arguments name the files whose cases run.
#pragma once

namespace cuface::test {

/// Call it between InitGoogleTest and RUN_ALL_TESTS, with what InitGoogleTest left of main's
/// arguments: NAME stands for the cases of test_NAME.cc, and without a name all cases run.
/// --gtest_filter narrows the choice further. False, with a message, for a file without cases.
bool choose_files(int argc, char** argv);

}  // namespace cuface::test
