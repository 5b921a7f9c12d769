// Which program this is.
#pragma once

namespace cuface::train {

extern const char* const kVersion;
extern const char* const kCommit;  ///< of the sources, with a "+" where they were changed since

}  // namespace cuface::train
