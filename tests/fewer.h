// What a test may ask about the run it is in: how many of its alike cases are wanted, whether its
// code is instrumented, and how slow the machine is.
#pragma once

#include <algorithm>
#include <cstdlib>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CUFACE_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CUFACE_SANITIZED 1
#endif
#endif

namespace cuface::test {

/// $CUFACE_EVERY, which tests/sanitizers sets: of very many alike cases every so many-th is enough,
/// because instrumented code is ten to fifty times slower. 1 without it. An odd number meets all
/// values of each of several nested loops.
inline int every() {
  static const int n = [] {
    const char* text = std::getenv("CUFACE_EVERY");
    return std::max(text ? std::atoi(text) : 1, 1);
  }();
  return n;
}

/// $CUFACE_SLOWNESS, which tests/run measures: how many times the seconds of tests/ledger.json this
/// machine takes. Limits of time grow with it. 1 without it, and on a faster machine.
inline double slowness() {
  static const double times = [] {
    const char* text = std::getenv("CUFACE_SLOWNESS");
    return std::max(text ? std::atof(text) : 1.0, 1.0);
  }();
  return times;
}

/// `count` cases, or as many as are left of them; never none.
template <typename Count>
Count fewer(Count count) {
  return std::max<Count>(count / static_cast<Count>(every()), 1);
}

/// Counts the cases of nested loops: `Turn turn; ... if (!turn()) continue;`.
class Turn {
 public:
  bool operator()() { return calls_++ % static_cast<unsigned long>(every()) == 0; }
  /// How many of `count` cases had their turn.
  static unsigned long of(unsigned long count) {
    return (count + static_cast<unsigned long>(every()) - 1) / static_cast<unsigned long>(every());
  }

 private:
  unsigned long calls_ = 0;
};

}  // namespace cuface::test
