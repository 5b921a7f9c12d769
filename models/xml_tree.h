// A small XML document in memory, as much as OpenCV's storage files and dlib's lists of labels
// need: elements, their text and their attributes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/common/status.h"

namespace cuface {

/// An element. Its text is what stands directly in it, without that of its children.
struct XmlElement {
  std::string name;
  std::string text;
  int line = 0;  ///< where its start tag ends, from 1
  std::vector<int> children;
  std::vector<std::pair<std::string, std::string>> attributes;  ///< where XmlLimits asks for them

  /// Null where there is none of that name.
  const std::string* attribute(std::string_view wanted) const;
};

/// What a file may cost at most.
struct XmlLimits {
  int elements;
  std::size_t bytes;
  bool attributes;   ///< keep them
  const char* what;  ///< that the file is meant to hold, for messages: "cascade"
};

/// Elements by index; 0 is the root. A file is refused (kCorrupt, with the line) when it is not
/// well-formed, and when it nests deeper or holds more elements than its limits: what it costs to
/// refuse a hostile file is bounded.
class XmlTree {
 public:
  static constexpr int kMaxDepth = 16;
  static constexpr int kMaxElements = 200'000;
  static constexpr std::size_t kMaxBytes = std::size_t{8} << 20;

  static constexpr XmlLimits kCascade{kMaxElements, kMaxBytes, false, "cascade"};

  /// `path` is used in messages only.
  static Result<XmlTree> parse(std::string_view bytes, const std::string& path,
                               const XmlLimits& limits = kCascade);

  const XmlElement& root() const { return elements_.front(); }
  const XmlElement& element(int index) const { return elements_[static_cast<std::size_t>(index)]; }
  /// The first child of that name, or null.
  const XmlElement* child(const XmlElement& parent, std::string_view name) const;

 private:
  friend struct XmlTreeBuilder;
  std::vector<XmlElement> elements_;
};

}  // namespace cuface
