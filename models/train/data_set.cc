#include "models/train/data_set.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_set>
#include <utility>

#include "kernels/common/guarded.h"
#include "kernels/common/random.h"
#include "kernels/common/try.h"
#include "models/output_file.h"
#include "models/png_picture.h"
#include "models/train/backgrounds.h"
#include "models/train/crop.h"
#include "models/train/picture.h"
#include "models/train/split.h"
#include "models/xxh64.h"

namespace cuface::train {
namespace {

/// The picture scaled, then cut in four: the upper two first.
std::array<std::vector<std::uint8_t>, 4> quarters(ImageView<const std::uint8_t> picture,
                                                  const WindowSize& size) {
  const WindowSize both{2 * size.width, 2 * size.height};
  const std::vector<std::uint8_t> scaled =
      crop(picture, {0, 0, picture.width, picture.height}, both);
  const ImageView<const std::uint8_t> view{scaled.data(), both.width, both.height, both.width};
  std::array<std::vector<std::uint8_t>, 4> out;
  for (int i = 0; i < 4; ++i) {
    WindowList quarter(size);
    quarter.add(view, i % 2 * size.width, i / 2 * size.height);
    const std::span<const std::uint8_t> pixels = quarter.at(0);
    out[static_cast<std::size_t>(i)].assign(pixels.begin(), pixels.end());
  }
  return out;
}

class Maker {
 public:
  Maker(const DataOptions& options, const StopFlag* stop)
      : options_(options), stop_(stop), out_(options.samples.size) {}

  Result<DataSet> make() {
    CUFACE_TAKE(samples, load_samples(options_.positives, options_.samples, stop_));
    CUFACE_TRY(add_positives(samples));
    if (!options_.negatives.empty()) CUFACE_TRY(add_negatives(samples));
    return std::move(out_);
  }

 private:
  Status add_positives(const Samples& samples) {
    std::vector<SplitPicture> pictures;
    std::map<std::uint64_t, std::size_t> index;
    for (const std::uint64_t hash : samples.pictures) {
      const auto [at, is_new] = index.emplace(hash, pictures.size());
      if (is_new) pictures.push_back({hash, samples.sketches.at(hash), 0});
      ++pictures[at->second].samples;
    }
    const std::vector<std::uint8_t> is_test = choose(pictures, options_.positives, "samples");
    for (std::size_t i = 0; i < samples.windows.count(); ++i) {
      const bool test = is_test[index.at(samples.pictures[i])];
      add((test ? out_.test : out_.train).positives, samples.windows.at(i), samples.where[i]);
    }
    out_.notes.insert(out_.notes.end(), samples.notes.begin(), samples.notes.end());
    if (out_.train.positives.where.empty() ||
        (options_.test > 0 && out_.test.positives.where.empty())) {
      return {StatusCode::kInvalidArgument,
              options_.positives + ": its " + std::to_string(pictures.size()) +
                  " pictures, less those that are alike, cannot be split: give more, another "
                  "--test, or --test 0"};
    }
    return {};
  }

  Status add_negatives(const Samples& samples) {
    BackgroundOptions options;
    options.size = {2 * options_.samples.size.width, 2 * options_.samples.size.height};
    options.skip_bad = options_.samples.skip_bad;
    options.threads = options_.samples.threads;
    options.most_notes = options_.samples.most_notes;
    CUFACE_TAKE(backgrounds, Backgrounds::open(options_.negatives, options, samples.names, stop_));
    std::vector<SplitPicture> pictures;
    std::vector<std::array<std::vector<std::uint8_t>, 4>> parts;
    for (std::size_t i = 0; i < backgrounds->count(); ++i) {
      if (is_raised(stop_)) return cancelled();
      CUFACE_TAKE(picture, backgrounds->picture(i));
      pictures.push_back({hash_of(picture->view()), sketch_of(picture->view()), 1});
      parts.push_back(quarters(picture->view(), options_.samples.size));
    }
    warn_of_positives(samples, pictures, *backgrounds);
    const std::vector<std::uint8_t> is_test = choose(pictures, options_.negatives, "backgrounds");
    for (std::size_t i = 0; i < pictures.size(); ++i) {
      DataSide& side = is_test[i] ? out_.test : out_.train;
      const std::string& name = backgrounds->name(i);
      side.backgrounds.push_back(std::filesystem::absolute(name).lexically_normal().string());
      for (std::size_t part = 0; part < 4; ++part) {
        add_quarter(side.negatives, parts[i][part], name + ": quarter " + std::to_string(part));
      }
    }
    const std::vector<std::string>& notes = backgrounds->notes();
    out_.notes.insert(out_.notes.end(), notes.begin(), notes.end());
    if (left_out_ > 0) {
      out_.notes.push_back(
          std::to_string(left_out_) +
          " quarters of backgrounds are flat, or the same as others, and left out");
    }
    if (out_.train.negatives.where.empty() ||
        (options_.test > 0 && out_.test.negatives.where.empty())) {
      return {StatusCode::kInvalidArgument,
              options_.negatives + ": its " + std::to_string(pictures.size()) +
                  " pictures, less those that are alike, cannot be split: give more, another "
                  "--test, or --test 0"};
    }
    return {};
  }

  /// Backgrounds of the same pixels were refused; of those that are only near somebody must look.
  void warn_of_positives(const Samples& samples, std::vector<SplitPicture> pictures,
                         const Backgrounds& backgrounds) {
    const std::size_t count = pictures.size();
    std::vector<std::string> names;
    for (const auto& [hash, sketch] : samples.sketches) {
      pictures.push_back({hash, sketch, 1});
      names.push_back(samples.names.at(hash));
    }
    const std::vector<std::size_t> groups = groups_of(pictures);
    for (std::size_t i = 0; i < count; ++i) {
      const auto positives = groups.begin() + static_cast<std::ptrdiff_t>(count);
      const auto like = std::find(positives, groups.end(), groups[i]);
      if (like == groups.end()) continue;
      out_.notes.push_back(backgrounds.name(i) + ": this background looks like the picture of " +
                           names[static_cast<std::size_t>(like - positives)] +
                           "; take it out if it holds what is to be found");
    }
  }

  std::vector<std::uint8_t> choose(const std::vector<SplitPicture>& pictures,
                                   const std::string& from, const char* what) {
    const std::vector<std::size_t> groups = groups_of(pictures);
    const std::size_t distinct =
        groups.empty() ? 0 : *std::max_element(groups.begin(), groups.end()) + 1;
    if (distinct < pictures.size()) {
      out_.notes.push_back(from + ": " + std::to_string(pictures.size()) + " pictures of " + what +
                           ", of which " + std::to_string(pictures.size() - distinct) +
                           " are like others and stay on their side");
    }
    for (const SplitPicture& picture : pictures) out_.hash = random_at(out_.hash, picture.hash);
    return choose_test(pictures, options_.test, options_.seed);
  }

  void add_quarter(NamedWindows& to, const std::vector<std::uint8_t>& window,
                   const std::string& where) {
    const bool good = !is_flat(window, options_.samples.size) && seen_.insert(xxh64(window)).second;
    good ? add(to, window, where) : void(++left_out_);
  }
  static void add(NamedWindows& to, std::span<const std::uint8_t> window,
                  const std::string& where) {
    to.windows.add(window);
    to.where.push_back(where);
  }

  const DataOptions& options_;
  const StopFlag* const stop_;
  DataSet out_;
  std::unordered_set<std::uint64_t> seen_;
  int left_out_ = 0;
};

Status write_text(const std::string& text, const std::string& path) {
  return replace_file(path, {std::as_bytes(std::span(text))});
}

Status make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!error) return {};
  return {StatusCode::kIo, path + ": cannot be made: " + error.message()};
}

Status write_windows(const NamedWindows& named, const std::string& path, bool pictures) {
  if (named.where.empty()) return {};
  CUFACE_TRY(write_vec(named.windows, path + ".vec"));
  if (!pictures) return {};
  CUFACE_TRY(make_folder(path));
  const WindowSize& size = named.windows.size();
  for (std::size_t i = 0; i < named.where.size(); ++i) {
    char name[32];
    std::snprintf(name, sizeof name, "/%06zu.png", i);
    CUFACE_TRY(save_png_grey({named.windows.at(i).data(), size.width, size.height, size.width},
                             path + name));
  }
  return {};
}

Status write_side(const DataSide& side, const std::string& path, bool pictures) {
  CUFACE_TRY(write_windows(side.positives, path, pictures));
  CUFACE_TRY(write_windows(side.negatives, path + "-negatives", pictures));
  if (side.backgrounds.empty()) return {};
  std::string list;
  for (const std::string& name : side.backgrounds) list += name + "\n";
  return write_text(list, path + "-backgrounds.txt");
}

std::string hexadecimal(std::uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace

Status validate(const DataOptions& options) {
  if (!(options.test >= 0 && options.test < 1)) {
    return {StatusCode::kInvalidArgument, "--test is a share of 0 to below 1"};
  }
  return check_window_size(options.samples.size);
}

Result<DataSet> make_data_set(const DataOptions& options, const StopFlag* stop) {
  CUFACE_TRY(validate(options));
  if (is_vec_file(options.positives) || is_vec_file(options.negatives)) {
    return Status(StatusCode::kInvalidArgument,
                  "a .vec file does not say which windows are of one picture; give labels, a "
                  "folder or a list");
  }
  return guarded(options.positives, [&] { return Maker(options, stop).make(); });
}

Status check_is_new(const std::string& folder) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder, ignored) ||
      std::filesystem::is_empty(folder, ignored)) {
    return {};
  }
  return {StatusCode::kInvalidArgument, folder + ": this folder holds something; name a new one"};
}

Status write_data_set(const DataSet& data, const DataOptions& options, const std::string& folder,
                      bool pictures) {
  return guarded(folder, [&]() -> Status {
    CUFACE_TRY(check_is_new(folder));
    CUFACE_TRY(make_folder(folder));
    CUFACE_TRY(write_side(data.train, folder + "/train", pictures));
    CUFACE_TRY(write_side(data.test, folder + "/test", pictures));
    const auto of_side = [](const DataSide& side) {
      return nlohmann::json{{"positives", side.positives.where},
                            {"negatives", side.negatives.where}};
    };
    const nlohmann::json json = {
        {"size", {options.samples.size.width, options.samples.size.height}},
        {"aligned", options.samples.align},
        {"mirrored", options.samples.mirror},
        {"test_share", options.test},
        {"seed", options.seed},
        {"near_duplicate", kNearDuplicate},
        {"pixels", hexadecimal(data.hash)},
        {"notes", data.notes},
        {"train", of_side(data.train)},
        {"test", of_side(data.test)}};
    return write_text(json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n",
                      folder + "/data.json");
  });
}

}  // namespace cuface::train
