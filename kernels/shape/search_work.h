// What a search with a shape model takes, of one that is there and of one that is to be learnt.
#pragma once

namespace cuface::shape {

/// Additions of a search: work(level, point) are those of looking for one point once.
template <typename Work>
double search_work(int levels, int points, int iterations, int refits, Work work) {
  double all = 0;
  for (int level = 0; level < levels; ++level) {
    double of_level = 0;
    for (int point = 0; point < points; ++point) of_level += work(level, point);
    all += of_level * (iterations + (level == 0 ? refits : 0));
  }
  return all;
}

}  // namespace cuface::shape
