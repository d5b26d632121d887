// A user who opens both namespaces, before the headers and after.
namespace std {}
namespace kiln {}
using namespace std;
using namespace kiln;

// Names of a user's own that the library must not take as macros or lean on.
using half = unsigned short;
struct pair_of_rows {};
enum colour { row, column, tile_colour };

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <functional>
#include <iostream>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "every_header_backwards.hpp"

half h = 1;
pair<int, half> p{1, h};
vector<string> names{"a"};
// Of three operands of one type std's templates would be the better match.
auto clamped = clamp(acc, acc, acc);
auto smallest = (min)(acc, acc);
auto largest = (max)(acc, acc);
int main() { return static_cast<int>(row) + p.first - 1 + static_cast<int>((min)(p.first, 0)); }
