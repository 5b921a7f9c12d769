// The turned picture on CUDA against turn_picture() on the same bytes.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernels/turn/turn_cuda.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/kernels/detect_pair.h"

namespace cuface {
namespace {

using test::GuardedBytes;
using test::kCanary;
using test::Picture;
using test::smooth;

ImageView<std::uint8_t> canvas_at(std::uint8_t* base, const Turn& turn, int padding) {
  return {base, turn.canvas_width, turn.canvas_height, turn.canvas_width + padding};
}

class TurnCuda : public testing::Test {
 protected:
  void SetUp() override { CUFACE_NEEDS_GPU(); }
};

TEST_F(TurnCuda, HasTheBytesOfTheReference) {
  const test::Stream stream;
  long compared = 0, inside = 0;
  std::vector<Picture> pictures = {smooth(1, 1, 0, 1), smooth(1, 40, 0, 2), smooth(33, 2, 0, 3, 1),
                                   smooth(161, 121, 0, 4, 3, 7), smooth(640, 360, 0, 5, 0, 64)};
  if (test::under_tool()) pictures.pop_back();
  for (const Picture& picture : pictures) {
    GuardedBytes in(picture.bytes);
    for (int degrees = -90; degrees <= 90; degrees += picture.width > 200 ? 15 : 5) {
      const Turn turn = make_turn(degrees, picture.width, picture.height);
      const int padding = degrees & 7;
      std::vector<std::uint8_t> want(
          static_cast<std::size_t>((turn.canvas_width + padding) * turn.canvas_height), kCanary);
      ASSERT_TRUE(turn_picture(picture.view(), turn, canvas_at(want.data(), turn, padding)).ok());
      GuardedBytes out(want.size(), kCanary);
      ASSERT_TRUE(cuda::turn_picture(picture.at(in.data()), turn,
                                     canvas_at(out.data(), turn, padding), nullptr, stream)
                      .ok());
      ASSERT_EQ(out.get(), want) << picture.width << " at " << degrees;
      compared += static_cast<long>(want.size());
      inside += static_cast<long>(picture.width) * picture.height;
    }
    EXPECT_EQ(in.get(), picture.bytes) << "the picture was written to";
  }
  test::compared("bytes", compared, test::under_tool() ? 100'000 : 4'000'000);
  test::compared("pixels of pictures", inside, test::under_tool() ? 50'000 : 2'000'000);
}

TEST_F(TurnCuda, NothingIsWrittenWhereThereIsNoSearch) {
  const test::Stream stream;
  const Picture picture = smooth(60, 40, 2, 1);
  const Turn turn = make_turn(30, 60, 40);
  GuardedBytes in(picture.bytes), flag(sizeof(std::int32_t), 0);
  GuardedBytes out(static_cast<std::size_t>(turn.canvas_width * turn.canvas_height), kCanary);
  const std::vector<std::uint8_t> untouched = out.get();
  for (const std::uint8_t run : {0, 1}) {
    flag.set({run, 0, 0, 0});
    ASSERT_TRUE(cuda::turn_picture(picture.at(in.data()), turn, canvas_at(out.data(), turn, 0),
                                   reinterpret_cast<const std::int32_t*>(flag.data()), stream)
                    .ok());
    EXPECT_EQ(out.get() == untouched, run == 0);
  }
}

TEST(TurnCudaArguments, OtherSizesAreRefused) {
  const Turn turn = make_turn(30, 40, 30);
  std::uint8_t byte = 0;
  const auto code = [&](int width, int canvas_width) {
    return cuda::turn_picture({&byte, width, 30, 40}, turn,
                              {&byte, canvas_width, turn.canvas_height, 100}, nullptr,
                              cudaStream_t{})
        .code();
  };
  EXPECT_EQ(code(39, turn.canvas_width), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(40, turn.canvas_width + 1), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace cuface
