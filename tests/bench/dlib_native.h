// dlib's shape predictor as its documentation wants it built: -O3 -march=native. The one file that
// is compiled so includes none of our headers, for an inline function is linked once.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace cuface::bench {

class DlibNative {
 public:
  explicit DlibNative(const std::string& path);
  ~DlibNative();

  /// Copies a grey picture and returns its number.
  std::size_t add(const unsigned char* data, int width, int height, std::ptrdiff_t stride);
  /// The landmarks in the box, summed, so that nothing is left out.
  long run(std::size_t picture, float x, float y, float w, float h) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cuface::bench
