#include "models/train/backgrounds.h"

#include <algorithm>
#include <cstring>

#include "kernels/common/guarded.h"
#include "kernels/common/random.h"
#include "kernels/common/try.h"
#include "kernels/common/workers.h"
#include "models/train/labels.h"
#include "models/train/picture.h"

namespace cuface::train {
namespace {

constexpr std::size_t kPicturesAtOnce = 32;

/// No window of it has any contrast.
bool has_one_grey(ImageView<const std::uint8_t> grey) {
  const std::uint8_t first = *grey.row(0);
  for (int y = 0; y < grey.height; ++y) {
    if (!std::all_of(grey.row(y), grey.row(y) + grey.width, [&](auto v) { return v == first; }))
      return false;
  }
  return true;
}

std::string as_text(int width, int height) {
  return std::to_string(width) + "x" + std::to_string(height);
}

}  // namespace

Result<std::unique_ptr<Backgrounds>> Backgrounds::open(
    const std::string& path, const BackgroundOptions& options,
    const std::map<std::uint64_t, std::string>& positives, const StopFlag* stop) {
  return guarded(path, [&]() -> Result<std::unique_ptr<Backgrounds>> {
    std::unique_ptr<Backgrounds> out(new Backgrounds());
    out->memory_ = options.memory;
    CUFACE_TRY(is_vec_file(path) ? out->add_vec(path, options)
                                 : out->add_pictures(path, options, positives, stop));
    if (out->entries_.empty()) {
      return Status(StatusCode::kCorrupt, path + ": no background is left");
    }
    out->note_useless();
    return out;
  });
}

Status Backgrounds::add_vec(const std::string& path, const BackgroundOptions& options) {
  CUFACE_TAKE(windows, read_vec(path, options.size));
  memory_ = SIZE_MAX;  // they are there
  for (std::size_t i = 0; i < windows.count(); ++i) {
    Image<std::uint8_t> grey(options.size.width, options.size.height);
    const std::span<const std::uint8_t> window = windows.at(i);
    for (int y = 0; y < grey.height(); ++y) {
      std::memcpy(grey.view().row(y), window.data() + y * grey.width(),
                  static_cast<std::size_t>(grey.width()));
    }
    const std::uint64_t hash = hash_of(grey.view());
    add(path + ": window " + std::to_string(i), hash, std::move(grey));
  }
  return {};
}

Status Backgrounds::add_pictures(const std::string& path, const BackgroundOptions& options,
                                 const std::map<std::uint64_t, std::string>& positives,
                                 const StopFlag* stop) {
  CUFACE_TAKE(pictures, read_picture_list(path));
  Workers workers(options.threads > 0 ? options.threads : Workers::processors());
  std::size_t left_out = 0;
  for (std::size_t first = 0; first < pictures.size(); first += kPicturesAtOnce) {
    if (is_raised(stop)) return cancelled();
    const std::size_t count = std::min(kPicturesAtOnce, pictures.size() - first);
    std::vector<GreyPicture> part(count);
    std::vector<Status> statuses(count);
    workers.run(static_cast<int>(count), [&](int i, int) {
      const std::size_t at = static_cast<std::size_t>(i);
      const LabelledPicture& picture = pictures[first + at];
      statuses[at] = take(load_listed(picture.path, picture.where, options.skip_bad), part[at]);
    });
    for (std::size_t i = 0; i < count; ++i) {
      const std::string &name = pictures[first + i].path, &where = pictures[first + i].where;
      const std::string prefix = where.empty() ? "" : where + ": ";
      Status status = statuses[i];
      if (status.ok()) {
        const Image<std::uint8_t>& grey = part[i].grey;
        if (grey.width() < options.size.width || grey.height() < options.size.height) {
          status = {StatusCode::kCorrupt, prefix + name + ": " +
                                              as_text(grey.width(), grey.height()) +
                                              " pixels, less than the window's " +
                                              as_text(options.size.width, options.size.height) +
                                              "; leave such out with --bad skip"};
        }
      }
      if (!status.ok()) {
        if (!options.skip_bad) return status;
        if (++left_out <= options.most_notes) notes_.push_back("left out: " + status.message());
        continue;
      }
      Image<std::uint8_t>& grey = part[i].grey;
      const std::uint64_t hash = hash_of(grey.view());
      if (const auto positive = positives.find(hash); positive != positives.end()) {
        return {StatusCode::kInvalidArgument,
                prefix + name + ": a background with the pixels of the positive picture of " +
                    positive->second +
                    ". A background holds nothing that is to be found: take it out of one of both"};
      }
      add(name, hash, std::move(grey));
    }
  }
  if (left_out > options.most_notes) {
    notes_.push_back(std::to_string(left_out - options.most_notes) + " more were left out");
  }
  return {};
}

void Backgrounds::add(std::string name, std::uint64_t hash, Image<std::uint8_t> grey) {
  copies_ += !seen_.insert(hash).second;
  grey_ += has_one_grey(grey.view());
  pixels_ += static_cast<double>(grey.width()) * grey.height();
  hash_ = random_at(hash_ ^ hash, entries_.size());
  Entry entry{std::move(name), hash, nullptr};
  const std::size_t bytes = static_cast<std::size_t>(grey.view().stride * grey.height());
  if (bytes <= memory_) {
    memory_ -= bytes;
    entry.kept = std::make_shared<const Image<std::uint8_t>>(std::move(grey));
  }
  entries_.push_back(std::move(entry));
}

void Backgrounds::note_useless() {
  const auto note = [&](std::size_t count, const char* why) {
    if (count == 0) return;
    notes_.push_back(std::to_string(count) + " of " + std::to_string(entries_.size()) +
                     " backgrounds " + why);
  };
  note(copies_, "have the pixels of another one, so they hold no other negatives");
  note(grey_, "have one grey, and a window without contrast is no negative");
}

Result<std::shared_ptr<const Image<std::uint8_t>>> Backgrounds::picture(std::size_t i) {
  const Entry& entry = entries_[i];
  if (entry.kept) return entry.kept;
  return guarded(entry.name, [&]() -> Result<std::shared_ptr<const Image<std::uint8_t>>> {
    CUFACE_TAKE(loaded, load_picture(entry.name));
    if (hash_of(loaded.grey.view()) != entry.hash) {
      return Status(StatusCode::kIo, entry.name +
                                         ": has changed since the training began; put it back, "
                                         "then resume");
    }
    return std::make_shared<const Image<std::uint8_t>>(std::move(loaded.grey));
  });
}

}  // namespace cuface::train
