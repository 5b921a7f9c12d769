// Typed views of pictures and the one owner of picture memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>

#include "kernels/common/host_device.h"

namespace cuface {

/// A rectangle of elements somebody else owns. Row 0 is the top row; x grows to the right.
/// `stride` is the distance between rows in BYTES (a pitch; may be larger than width * sizeof(T)).
/// A view is as cheap as a pointer and says nothing about lifetime.
template <typename T>
struct ImageView {
  T* data = nullptr;
  int width = 0;
  int height = 0;
  std::ptrdiff_t stride = 0;

  CUFACE_HD T* row(int y) const {
    using Byte = std::conditional_t<std::is_const_v<T>, const std::uint8_t, std::uint8_t>;
    return reinterpret_cast<T*>(reinterpret_cast<Byte*>(data) + y * stride);
  }
  CUFACE_HD T& at(int x, int y) const { return row(y)[x]; }
  /// To a view of const elements. A template, because nvcc warns of the plain operator where T is
  /// const and it could never be called.
  template <typename U>
  requires(std::is_same_v<U, const T> && !std::is_const_v<T>) CUFACE_HD operator ImageView<U>()
      const {  // NOLINT(google-explicit-constructor)
    return {data, width, height, stride};
  }
};

/// Host memory for one picture. Move-only; rows start on 64-byte boundaries; contents start
/// undefined.
template <typename T>
class Image {
 public:
  static constexpr std::size_t kAlignment = 64;

  Image() = default;
  Image(int width, int height) : width_(width), height_(height) {
    const std::size_t row = static_cast<std::size_t>(width) * sizeof(T);
    stride_ = static_cast<std::ptrdiff_t>((row + kAlignment - 1) / kAlignment * kAlignment);
    const std::size_t bytes = static_cast<std::size_t>(stride_) * static_cast<std::size_t>(height);
    data_.reset(static_cast<T*>(::operator new (bytes, std::align_val_t{kAlignment})));
  }

  int width() const { return width_; }
  int height() const { return height_; }
  ImageView<T> view() { return {data_.get(), width_, height_, stride_}; }
  ImageView<const T> view() const { return {data_.get(), width_, height_, stride_}; }

 private:
  static_assert(std::is_trivial_v<T>, "pictures hold plain values");
  struct Free {
    void operator()(T* p) const { ::operator delete (p, std::align_val_t{kAlignment}); }
  };
  std::unique_ptr<T, Free> data_;
  int width_ = 0;
  int height_ = 0;
  std::ptrdiff_t stride_ = 0;
};

}  // namespace cuface
