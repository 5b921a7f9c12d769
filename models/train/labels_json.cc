// COCO's JSON, and what others write alike: {"images": [{"id", "file_name"}], "annotations":
// [{"image_id", "bbox": [x, y, width, height], "keypoints": [x, y, v, ...]}]}; or a plain list of
// [{"file": ..., "boxes": [[x, y, width, height], ...]}].
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "kernels/common/try.h"
#include "models/train/labels.h"

namespace cuface::train {
namespace {

using Json = nlohmann::json;

constexpr int kMostDepth = 8;
constexpr std::size_t kMostValues = std::size_t{1} << 23;  // each takes some 60 bytes

const Json& member(const Json& object, std::initializer_list<const char*> names) {
  static const Json none;
  for (const char* name : names) {
    const auto it = object.find(name);
    if (it != object.end()) return *it;
  }
  return none;
}

/// Four numbers of a list as a box.
bool box_of(const Json& value, Box& box) {
  if (!value.is_array() || value.size() != 4) return false;
  for (const Json& number : value) {
    if (!number.is_number()) return false;
  }
  box = {value[0].get<float>(), value[1].get<float>(), value[2].get<float>(),
         value[3].get<float>()};
  return true;
}

/// COCO's key points: three numbers each, the third 0 where the point is not labelled.
bool parts_of(const Json& value, std::vector<LabelledPart>& parts) {
  if (value.is_null()) return true;
  if (!value.is_array() || value.size() % 3 != 0 || value.size() > 3 * kMostParts) return false;
  for (std::size_t i = 0; i < value.size(); i += 3) {
    if (!value[i].is_number() || !value[i + 1].is_number() || !value[i + 2].is_number()) {
      return false;
    }
    if (value[i + 2].get<float>() == 0) continue;
    parts.push_back({std::to_string(i / 3), {value[i].get<float>(), value[i + 1].get<float>()}});
  }
  return true;
}

/// Before it is parsed: what nests deeper or holds more values than any list of labels is refused.
Status check_shape(std::string_view text, const LabelList& out) {
  int depth = 0;
  std::size_t values = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') quoted = !quoted;
    if (quoted) {
      i += c == '\\';
      continue;
    }
    depth += (c == '[' || c == '{') - (c == ']' || c == '}');
    values += c == ',' || c == '[' || c == '{';
    if (depth > kMostDepth) {
      return {StatusCode::kCorrupt,
              out.path() + ": nested more than " + std::to_string(kMostDepth) + " deep"};
    }
    if (values > kMostValues) {
      return {StatusCode::kUnsupported, out.path() + ": more than " + std::to_string(kMostValues) +
                                            " values; split the list, or take outlines out of it"};
    }
  }
  return {};
}

/// "boxes.json: annotation 7": a parsed document has no lines any more.
std::string where_of(const LabelList& list, const char* what, std::size_t index) {
  return list.path() + ": " + what + " " + std::to_string(index);
}

Status read_plain(const Json& root, LabelList& out) {
  for (std::size_t i = 0; i < root.size(); ++i) {
    const std::string where = where_of(out, "entry", i);
    const Json& entry = root[i];
    const Json& name =
        entry.is_object() ? member(entry, {"file", "file_name", "path", "image"}) : entry;
    const Json& boxes = entry.is_object() ? member(entry, {"boxes"}) : entry;
    if (!name.is_string() || !boxes.is_array()) {
      return {StatusCode::kCorrupt, where + R"(: {"file": ..., "boxes": [...]} is expected)"};
    }
    CUFACE_TRY(out.add_picture(name.get<std::string>(), where));
    for (const Json& box : boxes) {
      LabelledObject object{{}, where, {}};
      if (!box_of(box, object.box)) {
        return {StatusCode::kCorrupt, where + ": a box is not [x, y, width, height]"};
      }
      CUFACE_TRY(out.add_object(std::move(object)));
    }
  }
  return {};
}

/// Annotations in the order of their pictures, so that each picture is decoded once.
Status read_coco(const Json& root, LabelList& out) {
  const Json& images = member(root, {"images"});
  const Json& annotations = member(root, {"annotations"});
  if (!images.is_array() || !annotations.is_array()) {
    return {StatusCode::kUnsupported,
            out.path() + R"(: neither COCO's {"images": [], "annotations": []} nor a list of )"
                         R"({"file": ..., "boxes": [[x, y, width, height]]})"};
  }
  std::map<std::int64_t, std::vector<LabelledObject>> objects;
  for (std::size_t i = 0; i < annotations.size(); ++i) {
    const Json& annotation = annotations[i];
    LabelledObject object{{}, where_of(out, "annotation", i), {}};
    const Json& picture = annotation.is_object() ? member(annotation, {"image_id"}) : annotation;
    const bool has_parts = parts_of(member(annotation, {"keypoints"}), object.parts);
    const Json& bbox = member(annotation, {"bbox"});
    object.boxed = !bbox.is_null();
    if (!object.boxed) object.box = box_around(object.parts);
    if (!picture.is_number_integer() || !has_parts ||
        (object.boxed ? !box_of(bbox, object.box) : object.parts.empty())) {
      return {StatusCode::kCorrupt,
              object.where + R"(: "image_id", "bbox": [x, y, width, height] and three numbers for )"
                             R"(each of "keypoints" are expected)"};
    }
    const Json& group = member(annotation, {"group"});
    if (group.is_string()) object.group = group.get<std::string>();
    const Json& crowd = member(annotation, {"iscrowd"});
    if (crowd.is_number() && crowd.get<double>() != 0) continue;  // a crowd is no object
    objects[picture.get<std::int64_t>()].push_back(std::move(object));
  }
  for (std::size_t i = 0; i < images.size(); ++i) {
    const std::string where = where_of(out, "image", i);
    const Json& name = images[i].is_object() ? member(images[i], {"file_name"}) : images[i];
    const Json& id = images[i].is_object() ? member(images[i], {"id"}) : images[i];
    if (!name.is_string() || !id.is_number_integer()) {
      return {StatusCode::kCorrupt, where + R"(: "id" and "file_name" are expected)"};
    }
    CUFACE_TRY(out.add_picture(name.get<std::string>(), where));
    const auto found = objects.find(id.get<std::int64_t>());
    if (found == objects.end()) continue;
    for (LabelledObject& object : found->second) CUFACE_TRY(out.add_object(std::move(object)));
    objects.erase(found);
  }
  if (!objects.empty()) {
    return {StatusCode::kCorrupt, objects.begin()->second.front().where + ": its image_id " +
                                      std::to_string(objects.begin()->first) + " is no image's"};
  }
  return {};
}

}  // namespace

Status read_json_labels(std::string_view text, LabelList& out) {
  CUFACE_TRY(check_shape(text, out));
  Json root;
  try {
    root = Json::parse(text);
  } catch (const Json::parse_error& error) {
    const std::size_t at = std::min(error.byte, text.size());
    const auto line =
        std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
    return {StatusCode::kCorrupt,
            out.at_line(static_cast<std::size_t>(line) + 1) + ": no readable JSON from here on"};
  }
  if (root.is_array()) return read_plain(root, out);
  if (root.is_object()) return read_coco(root, out);
  return {StatusCode::kCorrupt, out.path() + ": no list and no object"};
}

}  // namespace cuface::train
