// Many streams at a time, each with the tracker and the landmarks of one face: the bytes of one
// alone, and how long all of them take.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/gpu/bench/streams.h"

namespace cuface::test {
namespace {

TEST(StreamsCuda, SixteenGiveTheBytesOfOneAlone) {
  CUFACE_NEEDS_GPU();
  const unsigned many = under_tool() ? 3 : 16;  // racecheck takes gigabytes for each
  const auto [model, real] = model_of_68_points();
  const std::string model_name = real ? "68 points" : "random model";
  auto forest = cuda::DeviceForest::create(*model);
  ASSERT_TRUE(forest.ok()) << forest.status().message();
  long compared_bytes = 0;
  for (const TimedPicture& picture : timed_pictures()) {
    Bytes alone;
    for (const std::size_t count : {1u, many}) {
      Streams streams(count, forest.value(), picture);
      const double submitted = streams.median_us(true), ran = streams.median_us(false);
      const std::string what = std::to_string(count) + (count == 1 ? " stream" : " streams") +
                               " of 1 face, flow and forest " + model_name;
      report_time(what, picture.name, ran);
      report_time(what + ", submission by one thread included", picture.name, submitted);
      for (const Bytes& bytes : streams.results()) {
        if (alone.empty()) alone = bytes;
        EXPECT_TRUE(bytes == alone) << picture.name << ", " << count << " streams";
        compared_bytes += static_cast<long>(bytes.size());
      }
    }
    EXPECT_EQ(reinterpret_cast<const cuda::DeviceFaces*>(alone.data())->count, 1)
        << "the face was lost";
  }
  compared("bytes of results", compared_bytes, 500'000);
}

}  // namespace
}  // namespace cuface::test
