// models/png_picture.cc as a build without libpng has it: who asks for a picture hears what to
// install.
#include <gtest/gtest.h>

#include "models/png_picture.h"

namespace cuface {
namespace {

TEST(NoPng, EachFunctionNamesTheFileAndWhatToInstall) {
  const Image<std::uint8_t> grey(3, 2);
  for (const Status& status :
       {load_png_grey("a.png").status(), load_png_with_alpha("a.png").status(),
        load_png_rgba("a.png").status(), save_png_grey(grey.view(), "a.png"),
        save_png_rgb(grey.view(), "a.png")}) {
    EXPECT_EQ(status.code(), StatusCode::kUnsupported);
    for (const char* word : {"a.png", "built without PNG", "libpng-dev"})
      EXPECT_NE(status.message().find(word), std::string::npos) << status.message();
  }
}

}  // namespace
}  // namespace cuface
