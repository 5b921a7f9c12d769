#include "gst/motiondetect/motionmap.h"

#include <memory>

namespace cuface::gst {

MotionMapRef motion_map(const MotionPlan& plan, const MotionResult& result,
                        std::uint64_t ids_before) {
  const auto share = [](std::uint32_t changed, std::uint32_t pixels) {
    return pixels ? static_cast<float>(changed) / static_cast<float>(pixels) : 0.0f;
  };
  auto motion = std::make_shared<MotionMap>();
  const int columns = plan.config.columns, rows = plan.config.rows;
  motion->width = plan.width;
  motion->height = plan.height;
  motion->compared = result.compared != 0;
  motion->global_change = result.global_change != 0;
  motion->in_event = result.in_event != 0;
  motion->share = share(result.changed, result.pixels);
  motion->moving_cells = result.moving_cells;
  motion->columns = columns;
  motion->rows = rows;
  motion->cells.reserve(static_cast<std::size_t>(columns) * static_cast<std::size_t>(rows));
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < columns; ++c) {
      const int i = r * columns + c;
      motion->cells.push_back(
          {share(result.cell_changed[i], result.cell_pixels[i]), (result.moving[r] >> c & 1) != 0});
    }
  for (int i = 0; i < result.count; ++i) {
    const MotionBox& box = result.boxes[i];
    const int left = first_pixel(box.left, columns, plan.width);
    const int top = first_pixel(box.top, rows, plan.height);
    motion->regions.push_back(
        {ids_before + static_cast<std::uint64_t>(box.id), box.cells,
         Box{static_cast<float>(left), static_cast<float>(top),
             static_cast<float>(first_pixel(box.right, columns, plan.width) - left),
             static_cast<float>(first_pixel(box.bottom, rows, plan.height) - top)}});
  }
  return motion;
}

}  // namespace cuface::gst
