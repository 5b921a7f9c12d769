// dlib's shape_predictor_trainer as its documentation wants it built: -O3 -march=native. As
// dlib_native.cc, the file that is compiled so includes none of our headers.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace cuface::bench {

class DlibNativeTrainer {
 public:
  DlibNativeTrainer();
  ~DlibNativeTrainer();

  /// Copies a grey picture.
  void add_picture(const unsigned char* data, int width, int height, std::ptrdiff_t stride);
  /// A face of the last picture; points are x, y, x, y, ...
  void add_face(long left, long top, long right, long bottom, const float* points, int landmarks);
  /// With dlib's defaults but for these. Returns the model as dlib's file.
  std::string train(int stages, int trees, int oversampling, int threads,
                    const std::string& seed = "") const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cuface::bench
