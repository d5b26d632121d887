// Some platforms' headers define these as macros; the standard library's are taken first, for they are not our concern.
#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <complex>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <sstream>
#include <string>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#define min(a, b) (((a) < (b)) ? (a) : (b))
#define max(a, b) (((a) > (b)) ? (a) : (b))
#define I 0  // complex.h's, in GNU mode
#define near
#define far
#define small char
#define interface struct
#define OUT
#define IN
#define ERROR 0
#define NDEBUG_UNUSED 1
// Qt's keywords, and X11's names.
#define signals public
#define slots
#define emit
#define foreach for
#define None 0L
#define Bool int
#define Status int
#define True 1
#define Success 0
#define Always 2
// Names that other frameworks and operating systems take.
#define LOG(x) x
#define CHECK(x) ((void)(x))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define ALIGN(x) (x)
#define DOMAIN 1
#define OVERFLOW 3
#define DELETE 1
#define TRUE 1

#include "every_header.hpp"

#if !defined(min) || !defined(max)
#error "the macros are gone, so this file tests nothing"
#endif
