#pragma once
/// Included by two translation units of one program, which differ in the name KILN_UNIT alone.
#include "every_header.hpp"

int KILN_UNIT();
int KILN_UNIT() { return kiln::version > 0 ? 0 : 1; }
