// What most tests of kernels and models include, read by the compiler once.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <opencv2/imgproc.hpp>
#include <random>
#include <set>
#include <string>
#include <vector>
