// A head before its background: triangles with a depth buffer, at twice the picture's size.
#include <utility>
#include <vector>

#include "kernels/common/random.h"
#include "kernels/generated/generated.h"
#include "models/train/head_skin.h"

namespace cuface::train {
namespace {

constexpr int kRows = 72, kFront = 88, kBack = 28, kAround = kFront + kBack;
constexpr int kFiner = 2;

SolidPoint operator-(const SolidPoint& a, const SolidPoint& b) {
  return {a.x - b.x, a.y - b.y, a.z - b.z};
}
float dot(const SolidPoint& a, const SolidPoint& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
SolidPoint unit(const SolidPoint& a) {
  const float length = std::sqrt(dot(a, a));
  return length > 0 ? SolidPoint{a.x / length, a.y / length, a.z / length} : SolidPoint{0, 0, 1};
}

struct Vertex {
  SolidPoint at;      ///< on the picture
  SolidPoint normal;  ///< turned
  float x, y;         ///< on the face
};

class Canvas {
 public:
  explicit Canvas(const Head& head)
      : head_(head),
        shape_(head),
        skin_(head, shape_.features()),
        width_(head.camera.width * kFiner),
        height_(head.camera.height * kFiner),
        light_(unit({head.camera.light_x, head.camera.light_y, head.camera.light_z})),
        grey_(static_cast<std::size_t>(width_) * static_cast<std::size_t>(height_)),
        depth_(grey_.size(), -1e30f) {}

  void background();
  void body();
  void head();
  Image<std::uint8_t> develop() const;

 private:
  float& at(int x, int y) {
    return grey_[static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) +
                 static_cast<std::size_t>(x)];
  }
  SolidPoint finer(const SolidPoint& p) const {
    // Centres of pixels stay where they are.
    return {kFiner * (p.x + 0.5f) - 0.5f, kFiner * (p.y + 0.5f) - 0.5f, p.z};
  }
  float lit(const Paint& paint, const SolidPoint& normal) const;
  std::vector<Vertex> vertices() const;
  void triangle(const Vertex& a, const Vertex& b, const Vertex& c, bool front);

  const Head& head_;
  const HeadShape shape_;
  const HeadSkin skin_;
  const int width_, height_;
  const SolidPoint light_;
  std::vector<float> grey_, depth_;
};

void Canvas::background() {
  const GeneratedScene scene = generated_scene(head_.seed, 0);
  const int left = static_cast<int>(random_index(head_.seed, 1, kGeneratedWidth / 2));
  const int top = static_cast<int>(random_index(head_.seed, 2, kGeneratedHeight / 2));
  for (int y = 0; y < height_; y += kFiner) {
    for (int x = 0; x < width_; x += kFiner) {
      const int gx = (left + x / kFiner) % kGeneratedWidth;
      const int gy = (top + y / kFiner) % kGeneratedHeight;
      const float grey = static_cast<float>(generated_pixel(scene, gx, gy)) / 255;
      for (int i = 0; i < kFiner * kFiner; ++i) at(x + i % kFiner, y + i / kFiner) = grey;
    }
  }
}

/// Long hair behind the head, neck and shoulders: flat, and upright whatever the head does.
void Canvas::body() {
  const SolidPoint middle = finer(shape_.project({0, 0.2f, -0.25f}));
  const float scale = kFiner * head_.pose.scale;
  const float wide = 0.55f * head_.bones.width;
  for (int y = 0; y < height_; ++y) {
    for (int x = 0; x < width_; ++x) {
      const float dx = (static_cast<float>(x) - middle.x) / scale;
      const float dy = (static_cast<float>(y) - middle.y) / scale;
      const float fall = head_.looks.hair_end;
      if (fall > 0.4f && dx * dx / 0.27f + dy * dy / (fall * fall) < 1)
        at(x, y) = 0.6f * skin_.hair(dx, dy);
      const float across = dx / wide;
      if (std::fabs(across) < 1 && dy > 0) {
        const Paint paint{skin_.neck(), 0};
        at(x, y) = lit(paint, {across, 0, std::sqrt(1 - across * across)});
      }
      const float slope = 0.62f + 0.45f * dx * dx - 0.1f * bump(dx / wide);
      if (dy > slope + 0.1f) {
        const float fold = 0.2f * smooth_noise(head_.seed ^ 9, 3 * dx, 7 * dy);
        at(x, y) = lit({head_.looks.cloth * (1 + fold), 0}, unit({0.5f * dx, -0.3f, 1}));
      }
    }
  }
}

float Canvas::lit(const Paint& paint, const SolidPoint& normal) const {
  const float facing = std::max(0.0f, dot(normal, light_));
  const float ambient = head_.camera.ambient * (0.8f - 0.2f * normal.y);
  const SolidPoint half = unit({light_.x, light_.y, light_.z + 1});
  float shine = std::max(0.0f, dot(normal, half));
  for (int i = 0; i < 4; ++i) shine *= shine;
  return paint.albedo * (ambient + (1 - head_.camera.ambient) * facing) +
         0.25f * paint.gloss * shine;
}

std::vector<Vertex> Canvas::vertices() const {
  std::vector<Vertex> out(static_cast<std::size_t>((kRows + 1) * kAround));
  std::vector<SolidPoint> solid(out.size());
  const auto index = [](int row, int column) {
    return static_cast<std::size_t>(row * kAround + (column + kAround) % kAround);
  };
  for (int row = 0; row <= kRows; ++row) {
    const float v = 2 * static_cast<float>(row) / kRows - 1;
    const float u = 1.5f * v - 0.5f * v * v * v;  // closer to each other at both ends
    for (int column = 0; column < kAround; ++column) {
      // From one ear over the nose to the other, then back.
      const bool front = column < kFront;
      const float t = front ? 2 * static_cast<float>(column) / kFront - 1
                            : 1 - 2 * static_cast<float>(column - kFront) / kBack;
      const float s = 2 * t / (1 + t * t), c = (1 - t * t) / (1 + t * t);
      const SolidPoint p = shape_.around(u, s, front ? c : -c);
      solid[index(row, column)] = p;
      out[index(row, column)] = {finer(shape_.project(p)), {}, p.x, p.y};
    }
  }
  for (int row = 0; row <= kRows; ++row) {
    for (int column = 0; column < kAround; ++column) {
      const SolidPoint along = solid[index(row, column + 1)] - solid[index(row, column - 1)];
      const SolidPoint down = solid[index(std::min(row + 1, kRows), column)] -
                              solid[index(std::max(row - 1, 0), column)];
      const SolidPoint normal{along.y * down.z - along.z * down.y,
                              along.z * down.x - along.x * down.z,
                              along.x * down.y - along.y * down.x};
      out[index(row, column)].normal = unit(shape_.turned(normal));
    }
  }
  return out;
}

void Canvas::triangle(const Vertex& a, const Vertex& b, const Vertex& c, bool front) {
  const float area = (b.at.x - a.at.x) * (c.at.y - a.at.y) - (b.at.y - a.at.y) * (c.at.x - a.at.x);
  if (!(area > 0)) return;  // seen from behind
  const auto low = [](float p, float q, float r, int most) {
    return std::clamp(static_cast<int>(std::ceil(std::min({p, q, r}))), 0, most);
  };
  const auto high = [](float p, float q, float r, int most) {
    return std::clamp(static_cast<int>(std::floor(std::max({p, q, r}))), -1, most - 1);
  };
  for (int y = low(a.at.y, b.at.y, c.at.y, height_); y <= high(a.at.y, b.at.y, c.at.y, height_);
       ++y) {
    for (int x = low(a.at.x, b.at.x, c.at.x, width_); x <= high(a.at.x, b.at.x, c.at.x, width_);
         ++x) {
      const float px = static_cast<float>(x), py = static_cast<float>(y);
      const float wb =
          ((px - a.at.x) * (c.at.y - a.at.y) - (py - a.at.y) * (c.at.x - a.at.x)) / area;
      const float wc =
          ((b.at.x - a.at.x) * (py - a.at.y) - (b.at.y - a.at.y) * (px - a.at.x)) / area;
      const float wa = 1 - wb - wc;
      if (wa < 0 || wb < 0 || wc < 0) continue;
      const float z = wa * a.at.z + wb * b.at.z + wc * c.at.z;
      float& depth = depth_[static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) +
                            static_cast<std::size_t>(x)];
      if (z <= depth) continue;
      depth = z;
      const float fx = wa * a.x + wb * b.x + wc * c.x, fy = wa * a.y + wb * b.y + wc * c.y;
      const SolidPoint normal = unit({wa * a.normal.x + wb * b.normal.x + wc * c.normal.x,
                                      wa * a.normal.y + wb * b.normal.y + wc * c.normal.y,
                                      wa * a.normal.z + wb * b.normal.z + wc * c.normal.z});
      at(x, y) = lit(front ? skin_.face(fx, fy) : skin_.back(fx, fy), normal);
    }
  }
}

void Canvas::head() {
  const std::vector<Vertex> all = vertices();
  for (int row = 0; row < kRows; ++row) {
    for (int column = 0; column < kAround; ++column) {
      const int next = (column + 1) % kAround;
      const auto vertex = [&](int r, int c) -> const Vertex& {
        return all[static_cast<std::size_t>(r * kAround + c)];
      };
      const bool front = column < kFront;
      triangle(vertex(row, column), vertex(row, next), vertex(row + 1, next), front);
      triangle(vertex(row, column), vertex(row + 1, next), vertex(row + 1, column), front);
    }
  }
}

/// 1 2 1 along rows, then along columns; borders repeat.
void blur(std::vector<float>& grey, int width, int height) {
  for (int pass = 0; pass < 2; ++pass) {
    const std::vector<float> from = grey;
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        const auto pixel = [&](int px, int py) {
          return from[static_cast<std::size_t>(std::clamp(py, 0, height - 1) * width +
                                               std::clamp(px, 0, width - 1))];
        };
        const int dx = pass == 0, dy = pass;
        grey[static_cast<std::size_t>(y * width + x)] =
            (pixel(x - dx, y - dy) + 2 * pixel(x, y) + pixel(x + dx, y + dy)) / 4;
      }
    }
  }
}

Image<std::uint8_t> Canvas::develop() const {
  const Head::Camera& camera = head_.camera;
  const int width = camera.width, height = camera.height;
  std::vector<float> small(static_cast<std::size_t>(width * height));
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      float sum = 0;
      for (int sy = 0; sy < kFiner; ++sy) {
        for (int sx = 0; sx < kFiner; ++sx) {
          sum += grey_[static_cast<std::size_t>((y * kFiner + sy) * width_ + x * kFiner + sx)];
        }
      }
      small[static_cast<std::size_t>(y * width + x)] = sum / (kFiner * kFiner);
    }
  }
  for (int i = 0; i < camera.blur; ++i) blur(small, width, height);
  Image<std::uint8_t> out(width, height);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const std::size_t i = static_cast<std::size_t>(y * width + x);
      // The sum of four even draws is close to a normal one.
      const std::uint64_t random = random_at(head_.seed ^ 10, i);
      float grain = -2;
      for (int k = 0; k < 4; ++k) grain += static_cast<float>(random >> (16 * k) & 0xffff) / 65536;
      const float v = camera.gain * small[i] + camera.offset + camera.noise * grain;
      out.view().at(x, y) = static_cast<std::uint8_t>(std::clamp(255 * v + 0.5f, 0.0f, 255.0f));
    }
  }
  return out;
}

}  // namespace

Image<std::uint8_t> draw(const Head& head) {
  Canvas canvas(head);
  canvas.background();
  canvas.body();
  canvas.head();
  return canvas.develop();
}

}  // namespace cuface::train
