#include <kiln/version.hpp>

#include <cstdio>

int main() { std::printf("%d.%d.%d\n", KILN_VERSION_MAJOR, KILN_VERSION_MINOR, KILN_VERSION_PATCH); }
