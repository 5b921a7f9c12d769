#include "models/train/samples.h"

#include <algorithm>
#include <unordered_set>

#include "kernels/common/guarded.h"
#include "kernels/common/try.h"
#include "models/train/crop.h"
#include "models/train/each_picture.h"
#include "models/train/labels.h"
#include "models/train/picture.h"
#include "models/xxh64.h"

namespace cuface::train {
namespace {

std::string as_text(const Rect& r) {
  return std::to_string(r.x) + "," + std::to_string(r.y) + " " + std::to_string(r.w) + "x" +
         std::to_string(r.h);
}

/// What one picture gives.
struct OfPicture {
  Status status;  ///< why there is nothing, or an end to all
  std::uint64_t hash = 0;
  PictureSketch sketch;
  bool turned = false;
  std::vector<std::pair<std::vector<std::uint8_t>, std::string>> windows;  ///< and their places
  std::vector<Status> bad;
};

class SampleLoader {
 public:
  explicit SampleLoader(const SampleOptions& options) : options_(options) {}

  OfPicture load(const LabelledPicture& labels) const {
    OfPicture out;
    const Result<GreyPicture> picture = load_listed(labels.path, labels.where, options_.skip_bad);
    out.status = picture.status();
    if (!picture.ok()) return out;
    const ImageView<const std::uint8_t> view = picture.value().grey.view();
    out.hash = hash_of(view);
    out.sketch = sketch_of(view);
    out.turned = picture.value().turned;
    if (labels.whole)
      add(labels, {{}, labels.path, {}}, {0, 0, view.width, view.height}, view, out);
    for (const LabelledObject& object : labels.objects) {
      add(labels, object, whole_pixels(object.box), view, out);
    }
    return out;
  }

 private:
  void add(const LabelledPicture& labels, const LabelledObject& object, const Rect& rect,
           ImageView<const std::uint8_t> view, OfPicture& out) const {
    std::vector<std::uint8_t> window;
    Point left, right;
    if (options_.align && find_eyes(object.parts, left, right)) {
      window = crop_aligned(view, left, right, options_.size);
      if (window.empty()) {
        return bad(object.where + ": the face around these eyes leaves the picture " + labels.path +
                       ", or is smaller than the window; leave it out, or use --no-align",
                   out);
      }
    } else if (!lies_inside(rect, view)) {
      return bad(object.where + ": the box " + as_text(rect) + " leaves the picture " +
                     labels.path + " of " + std::to_string(view.width) + "x" +
                     std::to_string(view.height) +
                     "; correct it, or leave such boxes out with --bad skip",
                 out);
    } else if (!is_large_enough(rect, options_.size)) {
      return bad(object.where + ": " + (labels.whole ? "the picture" : "the box") + " has " +
                     std::to_string(rect.w) + "x" + std::to_string(rect.h) +
                     " pixels, less than the window's " + std::to_string(options_.size.width) +
                     "x" + std::to_string(options_.size.height) +
                     "; leave such out with --bad skip, or choose a smaller --size",
                 out);
    } else {
      window = crop(view, rect, options_.size);
    }
    out.windows.emplace_back(std::move(window), object.where);
  }
  static void bad(std::string what, OfPicture& out) {
    out.bad.emplace_back(StatusCode::kCorrupt, std::move(what));
  }

  const SampleOptions& options_;
};

/// Puts windows behind each other, each once.
class Gathering {
 public:
  Gathering(const SampleOptions& options, Samples& out) : options_(options), out_(out) {}

  Status add(OfPicture&& picture) {
    if (!picture.status.ok()) CUFACE_TRY(refuse(picture.status));
    for (const Status& bad : picture.bad) CUFACE_TRY(refuse(bad));
    turned_ += picture.turned;
    for (auto& [window, where] : picture.windows) {
      out_.names.emplace(picture.hash, where);
      out_.sketches.emplace(picture.hash, picture.sketch);
      add(window, where, picture.hash);
      if (options_.mirror) add(mirrored(window, options_.size), where, picture.hash);
    }
    return {};
  }
  void add(std::span<const std::uint8_t> window, const std::string& where, std::uint64_t hash) {
    if (!seen_.insert(xxh64(window)).second) {
      ++twice_;
      return;
    }
    if (is_flat(window, options_.size)) {
      ++flat_;
      return;
    }
    out_.windows.add(window);
    out_.where.push_back(where);
    out_.pictures.push_back(hash);
  }
  void finish() {
    if (left_out_ > options_.most_notes) {
      out_.notes.push_back(std::to_string(left_out_ - options_.most_notes) + " more were left out");
    }
    if (twice_ > 0) {
      out_.notes.push_back(std::to_string(twice_) +
                           " samples are the same as others; each counts once");
    }
    if (flat_ > 0) {
      out_.notes.push_back(
          std::to_string(flat_) +
          " samples are flat: a detector passes over such windows, so they are left out");
    }
    if (turned_ > 0) {
      out_.notes.push_back(std::to_string(turned_) +
                           " pictures have an EXIF tag that asks for a rotation; it is ignored");
    }
  }

 private:
  Status refuse(const Status& status) {
    if (!options_.skip_bad) return status;
    if (++left_out_ <= options_.most_notes) out_.notes.push_back("left out: " + status.message());
    return {};
  }

  const SampleOptions& options_;
  Samples& out_;
  std::unordered_set<std::uint64_t> seen_;
  std::size_t left_out_ = 0;
  int twice_ = 0, flat_ = 0, turned_ = 0;
};

}  // namespace

Result<Samples> load_samples(const std::string& path, const SampleOptions& options,
                             const StopFlag* stop) {
  return guarded(path, [&]() -> Result<Samples> {
    Samples out{WindowList(options.size), {}, {}, {}, {}, {}};
    Gathering gathering(options, out);
    if (is_vec_file(path)) {
      CUFACE_TAKE(windows, read_vec(path, options.size));
      for (std::size_t i = 0; i < windows.count(); ++i) {
        OfPicture window;
        const std::span<const std::uint8_t> pixels = windows.at(i);
        window.windows.emplace_back(std::vector(pixels.begin(), pixels.end()),
                                    path + ": window " + std::to_string(i));
        CUFACE_TRY(gathering.add(std::move(window)));
      }
      out.names.clear();  // there are no pictures
      out.sketches.clear();
    } else {
      CUFACE_TAKE(labels, read_labels(path));
      const SampleLoader loader(options);
      CUFACE_TRY(each_picture(
          labels, path, options.threads, stop,
          [&](const LabelledPicture& picture) { return loader.load(picture); },
          [&](OfPicture picture) { return gathering.add(std::move(picture)); }));
    }
    gathering.finish();
    if (out.windows.count() == 0) {
      return Status(StatusCode::kCorrupt, path + ": no sample is left");
    }
    return out;
  });
}

}  // namespace cuface::train
