// The paint of a drawn head: skin, hair, brows, eyes, lips. Used by heads.h.
#pragma once

#include "models/train/head_shape.h"

namespace cuface::train {

struct Paint {
  float albedo = 0;  ///< how much light comes back, 0..1
  float gloss = 0;
};

/// Smooth noise of -1..1 whose cells have the side 1.
float smooth_noise(std::uint64_t seed, float x, float y);

class HeadSkin {
 public:
  HeadSkin(const Head& head, const HeadFeatures& features) : head_(head), features_(features) {}

  /// Of the face, seen from the front at (x,y).
  Paint face(float x, float y) const;
  /// Behind the line from the ears to the chin: hair, ears, what is below the jaw.
  Paint back(float x, float y) const;
  /// Of a neck in the shadow of the head.
  float neck() const { return 0.62f * head_.looks.skin; }
  float hair(float x, float y) const;

 private:
  void paint_eye(int side, float x, float y, Paint& paint) const;
  void paint_mouth(float x, float y, Paint& paint) const;
  void paint_brow(int side, float x, float y, Paint& paint) const;
  void paint_nose(float x, float y, Paint& paint) const;
  void paint_glasses(float x, float y, Paint& paint) const;

  const Head& head_;
  const HeadFeatures& features_;
};

}  // namespace cuface::train
