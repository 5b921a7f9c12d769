// Drawn heads as pictures and a list of labels.
#include <charconv>
#include <filesystem>

#include "kernels/common/guarded.h"
#include "kernels/common/try.h"
#include "kernels/common/workers.h"
#include "models/output_file.h"
#include "models/png_picture.h"
#include "models/train/face_set.h"
#include "models/train/heads.h"

namespace cuface::train {
namespace {

void append(std::string& text, float value) {
  char digits[32];
  text += ',';
  text.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

std::string name_of(std::uint64_t number) {
  const std::string digits = std::to_string(number);
  return std::string(digits.size() < 6 ? 6 - digits.size() : 0, '0') + digits + ".png";
}

}  // namespace

Status write_heads(const HeadOptions& options, std::uint64_t first, std::uint64_t count,
                   const std::string& folder, int threads, const StopFlag* stop) {
  return guarded(folder, [&]() -> Status {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) return {StatusCode::kIo, folder + ": " + error.message()};
    std::vector<std::string> rows(count);
    std::vector<Status> status(count);
    Workers workers(threads > 0 ? threads : Workers::processors());
    workers.run(static_cast<int>(count), [&](int i, int) {
      if (is_raised(stop)) return;
      const auto at = static_cast<std::size_t>(i);
      status[at] = guarded(folder, [&]() -> Status {
        const Head head = random_head(options, first + at);
        const auto points = points_of(head);
        const Box box = box_of_landmarks(points);
        std::string& row = rows[at];
        row = name_of(first + at);
        for (const float value : {box.x, box.y, box.w, box.h}) append(row, value);
        for (const Point& p : points) append(row, p.x), append(row, p.y);
        row += head.looks.glasses > 0 ? ",glasses\n" : ",\n";
        return save_png_grey(draw(head).view(), folder + "/" + name_of(first + at));
      });
    });
    if (is_raised(stop)) return cancelled();
    for (const Status& s : status) CUFACE_TRY(s);
    std::string text = "path,x,y,w,h";
    for (int i = 0; i < kHeadPoints; ++i)
      text += ",x" + std::to_string(i) + ",y" + std::to_string(i);
    text += ",group\n";
    for (const std::string& row : rows) text += row;
    return replace_file(folder + "/labels.csv", {std::as_bytes(std::span(text))});
  });
}

}  // namespace cuface::train
