// cuda::Matcher against Matcher: every match and its distance, in the same order.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "kernels/features/device_features.h"
#include "kernels/match/cuda/matcher.h"
#include "kernels/match/cuda/placed.h"
#include "kernels/match/match.h"
#include "tests/gpu/compare.h"
#include "tests/gpu/gpu.h"

namespace cuface {
namespace {

template <typename T>
struct Set {
  std::vector<T> values;
  std::vector<std::int8_t> signs;
  int count = 0, size = 0;
  DescriptorSet<T> view() const { return {values.data(), count, size, signs.data()}; }
};

/// Few values: many distances alike. Some descriptors have no distance that is a number.
template <typename T>
T random_value(std::mt19937& random, bool few) {
  const auto value = few ? random() % 2 : random() % 256;
  if constexpr (std::is_same_v<T, float>) {
    return static_cast<float>(value) / (few ? 1.0f : 100.0f) - (few ? 0.0f : 1.0f);
  } else {
    return static_cast<T>(few ? value * 255 : value);
  }
}

template <typename T>
Set<T> random_set(int count, int size, std::mt19937& random, bool few) {
  Set<T> set;
  set.count = count;
  set.size = size;
  for (int i = 0; i < count; ++i) {
    const bool copies = i > 0 && random() % 8 == 0;
    for (int k = 0; k < size; ++k) {
      T value = random_value<T>(random, few);
      if (copies) value = set.values[set.values.size() - static_cast<std::size_t>(size)];
      if constexpr (std::is_same_v<T, float>) {
        if (few && i % 97 == 96) value = k ? 3e38f : std::numeric_limits<float>::quiet_NaN();
        if (few && i % 97 == 95) value = k % 2 ? 3e38f : -3e38f;
      }
      set.values.push_back(value);
    }
    set.signs.push_back(static_cast<std::int8_t>(random() % 2));
  }
  return set;
}

/// Like the set, but for some values.
template <typename T>
Set<T> changed(Set<T> set, std::mt19937& random) {
  for (auto& value : set.values)
    if (random() % 9 == 0) value = random_value<T>(random, false);
  return set;
}

/// A set in guarded device memory, `apart` bytes from each descriptor's end to the next.
template <typename T>
class DeviceCopy {
 public:
  DeviceCopy(const Set<T>& set, int apart, bool tells_count)
      : stride_(set.size * static_cast<int>(sizeof(T)) + apart),
        most_(set.count + (tells_count ? 5 : 0)),
        size_(set.size),
        bytes_(static_cast<std::size_t>(stride_ * std::max(most_, 1)), test::kCanary),
        signs_(static_cast<std::size_t>(std::max(most_, 1)), test::kCanary),
        count_(test::bytes_of(std::vector<std::int32_t>{set.count})),
        tells_count_(tells_count) {
    std::vector<std::uint8_t> all(bytes_.size(), test::kCanary), signs(signs_.size());
    for (int i = 0; i < set.count; ++i) {
      std::memcpy(all.data() + i * stride_, set.view().at(i),
                  static_cast<std::size_t>(set.size) * sizeof(T));
      signs[static_cast<std::size_t>(i)] =
          static_cast<std::uint8_t>(set.signs[static_cast<std::size_t>(i)]);
    }
    bytes_.set(all);
    signs_.set(signs);
  }
  cuda::DeviceSet<T> view() {
    return {reinterpret_cast<const T*>(bytes_.data()),
            stride_,
            tells_count_ ? reinterpret_cast<const std::int32_t*>(count_.data()) : nullptr,
            most_,
            size_,
            reinterpret_cast<const std::int8_t*>(signs_.data())};
  }

 private:
  int stride_, most_, size_;
  test::GuardedBytes bytes_, signs_, count_;
  bool tells_count_;
};

MatchConfig random_config(std::mt19937& random, bool floats) {
  MatchConfig c;
  c.ratio = random() % 3 ? 1 : 0.9f;
  c.cross_check = random() % 2;
  c.sign_check = random() % 3 == 0;
  if (random() % 4 == 0) c.max_distance = floats ? 6.0f : 90.0f;
  if (floats && random() % 3 == 0) c.early_out = 0.2f;
  return c;
}

class MatchCuda : public testing::Test {
 protected:
  void SetUp() override {
    CUFACE_NEEDS_GPU();
    stream_.emplace();
  }

  template <typename T>
  void compare(const Set<T>& query, const Set<T>& train, const MatchConfig& config, int apart = 0,
               bool tells_count = false) {
    DeviceCopy<T> device_query(query, apart, tells_count), device_train(train, apart, tells_count);
    cuda::ScratchLayout layout;
    const int most = std::max(device_query.view().most, device_train.view().most);
    auto made = cuda::Matcher::create(config, most, most, layout);
    ASSERT_TRUE(made.ok()) << made.status().message();
    test::GuardedBytes scratch(layout.bytes(), 0);
    made.value().bind(reinterpret_cast<std::byte*>(scratch.data()));
    const std::vector<std::uint8_t> canaries(
        cuda::device_matches_bytes(static_cast<std::size_t>(most)), test::kCanary);
    test::GuardedBytes out(canaries);
    auto* matches = reinterpret_cast<cuda::DeviceMatches*>(out.data());
    // The other way round before: nothing of that is left.
    ASSERT_TRUE(
        made.value().enqueue(device_train.view(), device_query.view(), matches, *stream_).ok());
    out.get();
    out.set(canaries);
    const Status enqueued =
        made.value().enqueue(device_query.view(), device_train.view(), matches, *stream_);
    ASSERT_TRUE(enqueued.ok()) << enqueued.message();
    scratch.get();
    const std::vector<std::uint8_t> bytes = out.get();
    const auto* list = reinterpret_cast<const cuda::DeviceMatches*>(bytes.data());
    std::vector<Match> expected;
    auto matcher = Matcher::create(config);
    ASSERT_TRUE(matcher.value().run(query.view(), train.view(), expected).ok());
    ASSERT_EQ(list->count, static_cast<int>(expected.size())) << query.count << ", " << train.count;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const Match &a = list->all()[i], &b = expected[i];
      ASSERT_EQ(std::memcmp(&a, &b, sizeof a), 0)
          << "match " << i << ": " << a.query << " to " << a.train << ", " << a.distance
          << " apart, not " << b.query << " to " << b.train << ", " << b.distance;
    }
    const auto behind =
        bytes.begin() + static_cast<std::ptrdiff_t>(cuda::device_matches_bytes(expected.size()));
    EXPECT_TRUE(std::all_of(behind, bytes.end(), [](auto b) { return b == test::kCanary; }));
    matches_ += static_cast<long>(expected.size());
  }

  /// Random sets and settings.
  template <typename T>
  void compare_many(int size, int rounds, unsigned seed) {
    std::mt19937 random(seed);
    for (int i = 0; i < test::cases(rounds); ++i) {
      const bool few = i % 4 == 0;
      const int count = static_cast<int>(random() % (i % 5 ? 700 : 40));
      const auto train = random_set<T>(count, size, random, few);
      auto query = changed(train, random);
      if (i % 3) query = random_set<T>(static_cast<int>(random() % 500), size, random, few);
      compare(query, train, random_config(random, std::is_same_v<T, float>),
              16 * static_cast<int>(random() % 3), random() % 2);
      if (HasFatalFailure()) return;
    }
  }

  std::optional<test::Stream> stream_;
  long matches_ = 0;
};

TEST_F(MatchCuda, Bytes) {
  compare_many<std::uint8_t>(kBinaryBytes, 300, 1);
  test::compared("matches", matches_, 20'000);
}

TEST_F(MatchCuda, Floats) {
  compare_many<float>(64, 200, 2);
  compare_many<float>(36, 200, 3);
  test::compared("matches", matches_, 25'000);
}

// Nearer to each other than the tensor cores can tell, in part or all; and of lengths whose squares
// are no numbers, or nothing. More than a block compares in one step.
TEST_F(MatchCuda, FloatsNearlyAlike) {
  std::mt19937 random(9);
  std::uniform_real_distribution<float> unit(-1, 1);
  const auto alike = [&](int count, int size, float spread, float scale) {
    auto set = random_set<float>(count, size, random, false);
    for (int i = 0; i < count; ++i)
      for (int k = 0; k < size; ++k)
        set.values[static_cast<std::size_t>(i * size + k)] =
            scale * (static_cast<float>(k % 7) / 20 + spread * unit(random));
    return set;
  };
  const int trains = test::under_tool() ? 300 : 3'000;
  for (const int size : {64, 36}) {
    for (const float spread : {0.0f, 1e-4f, 0.02f, 0.2f}) {
      for (const float scale : {1.0f, 1e-20f, 3e15f, 1e19f}) {
        MatchConfig c;
        c.ratio = random() % 2 ? 1 : 0.9f;
        c.cross_check = random() % 2;
        auto query = alike(70, size, spread, scale);
        query.values[random() % query.values.size()] = std::numeric_limits<float>::quiet_NaN();
        compare(query, alike(trains, size, spread, scale), c);
        if (HasFatalFailure()) return;
      }
    }
  }
  test::compared("matches", matches_, 200);
}

TEST_F(MatchCuda, NoneOneAndTwo) {
  std::mt19937 random(4);
  for (int queries = 0; queries < 3; ++queries) {
    for (int trains = 0; trains < 3; ++trains) {
      for (int i = 0; i < 4; ++i) {
        MatchConfig c;
        c.cross_check = i % 2;
        c.ratio = i < 2 ? 0.75f : 1;
        compare(random_set<std::uint8_t>(queries, kBinaryBytes, random, false),
                random_set<std::uint8_t>(trains, kBinaryBytes, random, false), c, 0, i == 3);
        if (HasFatalFailure()) return;
      }
    }
  }
  EXPECT_GE(matches_, 10);
}

// More queries than blocks work on at once, and than threads check at once.
TEST_F(MatchCuda, LargeSets) {
  std::mt19937 random(5);
  const bool emulated = test::under_tool("emulator");
  const auto train = random_set<std::uint8_t>(emulated ? 30 : 9'001, kBinaryBytes, random, false);
  const auto query = emulated ? random_set<std::uint8_t>(2'100, kBinaryBytes, random, false)
                              : changed(train, random);
  MatchConfig c;
  c.ratio = 1;
  c.cross_check = !emulated;
  compare(query, train, c);
  test::compared("matches", matches_, emulated ? 60'000 : 5'000);
}

// Of several pictures, one of them without any.
TEST_F(MatchCuda, PlacesOfSeveralPictures) {
  constexpr int kKeypoints = 400, kCounts[] = {300, 0, 700, 1};
  std::mt19937 random(8);
  std::vector<std::uint8_t> frame_bytes(cuda::device_features_bytes(kKeypoints));
  auto* frame = reinterpret_cast<cuda::DeviceFeatures*>(frame_bytes.data());
  frame->count = kKeypoints;
  for (int i = 0; i < kKeypoints; ++i) {
    frame->all()[i].keypoint.x = static_cast<float>(random() % 10'000) / 7;
    frame->all()[i].keypoint.y = static_cast<float>(random() % 10'000) / 9;
  }
  test::GuardedBytes on_device(frame_bytes);
  std::vector<cuda::PlacedMatch> expected;
  test::GuardedBytes out(cuda::placed_matches_bytes(1'500), test::kCanary);
  test::GuardedBytes counted(test::bytes_of(std::vector<std::uint64_t>{5}));
  int number = 0;
  for (const int count : kCounts) {
    std::vector<std::uint8_t> bytes(cuda::device_matches_bytes(static_cast<std::size_t>(count)));
    auto* found = reinterpret_cast<cuda::DeviceMatches*>(bytes.data());
    found->count = count;
    for (int i = 0; i < count; ++i) {
      const auto train = static_cast<std::int32_t>(random() % kKeypoints);
      const auto distance = static_cast<float>(random() % 256);
      found->all()[i] = {i, train, distance};
      const Keypoint& at = frame->all()[train].keypoint;
      expected.push_back({number, i, distance, {at.x, at.y}});
    }
    test::GuardedBytes matches(bytes);
    const auto* device_frame = reinterpret_cast<const cuda::DeviceFeatures*>(on_device.data());
    ASSERT_TRUE(cuda::append_placed(reinterpret_cast<const cuda::DeviceMatches*>(matches.data()),
                                    cuda::keypoints_of(device_frame, kKeypoints), number++,
                                    reinterpret_cast<cuda::PlacedMatches*>(out.data()),
                                    reinterpret_cast<std::uint64_t*>(counted.data()), *stream_)
                    .ok());
    matches.get();
  }
  const std::vector<std::uint8_t> bytes = out.get();
  const auto* list = reinterpret_cast<const cuda::PlacedMatches*>(bytes.data());
  ASSERT_EQ(list->count, static_cast<int>(expected.size()));
  EXPECT_EQ(std::memcmp(list->all(), expected.data(), expected.size() * sizeof expected[0]), 0);
  const auto behind =
      bytes.begin() + static_cast<std::ptrdiff_t>(cuda::placed_matches_bytes(expected.size()));
  EXPECT_TRUE(std::all_of(behind, bytes.end(), [](auto b) { return b == test::kCanary; }));
  std::uint64_t count = 0;
  std::memcpy(&count, counted.get().data(), sizeof count);
  EXPECT_EQ(count, 5 + expected.size());
}

TEST_F(MatchCuda, RefusesWhatItCannotDo) {
  cuda::ScratchLayout layout;
  MatchConfig c;
  const auto code = [](const Status& status) { return status.code(); };
  EXPECT_EQ(code(cuda::Matcher::create(c, 65536, 5, layout).status()),
            StatusCode::kInvalidArgument);
  c.ratio = 0;
  EXPECT_EQ(code(cuda::Matcher::create(c, 5, 5, layout).status()), StatusCode::kInvalidArgument);
  std::mt19937 random(6);
  const auto set = random_set<float>(9, 64, random, false);
  DeviceCopy<float> device(set, 0, false), odd(set, 4, false);
  const auto refuses = [&](const MatchConfig& config, int most, const cuda::DeviceFloatSet& query,
                           const cuda::DeviceFloatSet& train) {
    auto made = cuda::Matcher::create(config, most, most, layout);
    return made.ok() && code(made.value().enqueue(query, train, nullptr, *stream_)) ==
                            StatusCode::kInvalidArgument;
  };
  EXPECT_TRUE(refuses({}, 8, device.view(), device.view()));
  EXPECT_TRUE(refuses({}, 9, odd.view(), device.view()));
  cuda::DeviceFloatSet other = device.view();
  other.size = 36;
  EXPECT_TRUE(refuses({}, 9, device.view(), other));
  other.size = 37;
  EXPECT_TRUE(refuses({}, 9, other, other));
  other = device.view();
  other.signs = nullptr;
  MatchConfig signs;
  signs.sign_check = true;
  EXPECT_TRUE(refuses(signs, 9, other, device.view()));
}

TEST_F(MatchCuda, Time) {
  std::mt19937 random(7);
  const auto time = [&]<typename T>(const std::string& what, const Set<T>& train, bool checks) {
    const Set<T> query = changed(train, random);
    MatchConfig c;
    c.ratio = checks ? 0.75f : 1;
    c.cross_check = checks;
    DeviceCopy<T> device_query(query, 0, true), device_train(train, 0, true);
    cuda::ScratchLayout layout;
    const int most = device_query.view().most;
    auto made = cuda::Matcher::create(c, most, most, layout);
    ASSERT_TRUE(made.ok());
    test::GuardedBytes scratch(layout.bytes(), 0);
    made.value().bind(reinterpret_cast<std::byte*>(scratch.data()));
    test::GuardedBytes out(cuda::device_matches_bytes(static_cast<std::size_t>(most)),
                           test::kCanary);
    cuda::LaunchList list;
    ASSERT_TRUE(made.value()
                    .enqueue(device_query.view(), device_train.view(),
                             reinterpret_cast<cuda::DeviceMatches*>(out.data()),
                             cuda::Launcher(list))
                    .ok());
    const std::string size = "1020x1020";
    const std::string name = what + (checks ? ", ratio and cross-check" : "");
    test::report_time(name, size, test::median_us(*stream_, list));
    test::report_parts(name, size, list, *stream_);
    auto matcher = Matcher::create(c);
    std::vector<Match> found;
    test::report_cpu_time(name, size, [&] {
      EXPECT_TRUE(matcher.value().run(query.view(), train.view(), found).ok());
    });
  };
  const int count = test::under_tool() ? 90 : 1020;
  for (const bool checks : {false, true}) {
    time("match, 32 bytes", random_set<std::uint8_t>(count, kBinaryBytes, random, false), checks);
    time("match, 64 floats", random_set<float>(count, 64, random, false), checks);
    time("match, 36 floats", random_set<float>(count, 36, random, false), checks);
  }
}

}  // namespace
}  // namespace cuface
