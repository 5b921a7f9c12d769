// A small XML document in memory, as much as OpenCV's storage files need: elements and their text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/common/status.h"

namespace cuface {

/// An element. Its text is what stands directly in it, without that of its children.
struct XmlElement {
  std::string name;
  std::string text;
  int line = 0;  ///< where its start tag ends, from 1
  std::vector<int> children;
};

/// Elements by index; 0 is the root. A file is refused (kCorrupt, with the line) when it is not
/// well-formed, and when it nests deeper or holds more elements than any cascade: what it costs to
/// refuse a hostile file is bounded.
class XmlTree {
 public:
  static constexpr int kMaxDepth = 16;
  static constexpr int kMaxElements = 200'000;
  static constexpr std::size_t kMaxBytes = std::size_t{8} << 20;

  /// `path` is used in messages only.
  static Result<XmlTree> parse(std::string_view bytes, const std::string& path);

  const XmlElement& root() const { return elements_.front(); }
  const XmlElement& element(int index) const { return elements_[static_cast<std::size_t>(index)]; }
  /// The first child of that name, or null.
  const XmlElement* child(const XmlElement& parent, std::string_view name) const;

 private:
  friend struct XmlTreeBuilder;
  std::vector<XmlElement> elements_;
};

}  // namespace cuface
