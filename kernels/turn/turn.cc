#include "kernels/turn/turn.h"

#include <cmath>
#include <cstdlib>
#include <numbers>

namespace cuface {

Turn make_turn(double degrees, int width, int height) {
  const double angle = degrees * std::numbers::pi / 180;
  Turn turn{width, height};
  turn.cos = static_cast<std::int32_t>(std::lround(std::cos(angle) * 65536));
  turn.sin = static_cast<std::int32_t>(std::lround(std::sin(angle) * 65536));
  const std::int64_t c = std::abs(turn.cos), s = std::abs(turn.sin);
  const auto rounded_up = [](std::int64_t v) { return static_cast<int>((v + 65535) >> 16); };
  turn.canvas_width = rounded_up(width * c + height * s);
  turn.canvas_height = rounded_up(width * s + height * c);
  return turn;
}

Status turn_picture(ImageView<const std::uint8_t> picture, const Turn& turn,
                    ImageView<std::uint8_t> canvas, const StopFlag* stop) {
  if (!fits(turn, picture, canvas))
    return {StatusCode::kInvalidArgument, "turn: not the planned sizes"};
  for (int v = 0; v < canvas.height; ++v) {
    if (v % kRowsPerLook == 0 && is_raised(stop)) return cancelled();
    std::int64_t x, y;
    turning::first_place(turn, v, x, y);
    std::uint8_t* out = canvas.row(v);
    for (int u = 0; u < canvas.width; ++u, x += 2 * turn.cos, y += 2 * turn.sin)
      out[u] = turning::sample(picture, x, y);
  }
  return {};
}

}  // namespace cuface
