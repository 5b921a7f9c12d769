// Samples to train and to test with, made once out of labelled pictures and of pictures without
// anything to find [S4.11]: what `cuface-train data` writes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/common/status.h"
#include "kernels/common/stop_flag.h"
#include "models/train/samples.h"
#include "models/train/windows.h"

namespace cuface::train {

struct DataOptions {
  std::string positives;  ///< labels or a folder, as load_samples() reads them
  std::string negatives;  ///< a folder or a list of pictures; empty = none
  SampleOptions samples;
  double test = 0.2;  ///< this share of the samples, and of the negatives: 0 to below 1
  std::uint64_t seed = 1;
};

/// kInvalidArgument, with the option's name.
Status validate(const DataOptions& options);

/// Windows, and what names each.
struct NamedWindows {
  explicit NamedWindows(WindowSize size) : windows(size) {}
  WindowList windows;
  std::vector<std::string> where;
};

struct DataSide {
  explicit DataSide(WindowSize size) : positives(size), negatives(size) {}
  NamedWindows positives;
  /// Each background scaled to twice the window's size, then cut in four.
  NamedWindows negatives;
  std::vector<std::string> backgrounds;  ///< paths, to mine negatives in
};

struct DataSet {
  explicit DataSet(WindowSize size) : train(size), test(size) {}
  DataSide train, test;
  std::uint64_t hash = 0;  ///< of the pixels of all pictures, in the order of the lists
  std::vector<std::string> notes;
};

/// A photograph, its duplicates and its near-duplicates are on one side (split.h). The same
/// pictures, options and order of the lists give the same, with any number of threads. Errors are
/// load_samples()' and Backgrounds::open()'s; kInvalidArgument where a side would have no sample.
Result<DataSet> make_data_set(const DataOptions& options, const StopFlag* stop = nullptr);

/// kInvalidArgument where the folder holds something: old files among the new would spoil a split.
Status check_is_new(const std::string& folder);

/// Into `folder`, which is made and check_is_new(): train.vec, test.vec, train-negatives.vec,
/// test-negatives.vec, train-backgrounds.txt, test-backgrounds.txt, and data.json with what names
/// each sample. What would be empty is not written. With `pictures` each window as a PNG, too, in
/// folders of the names of the .vec files. kIo.
Status write_data_set(const DataSet& data, const DataOptions& options, const std::string& folder,
                      bool pictures);

}  // namespace cuface::train
