#pragma once
/// Kiln's numeric types and every conversion between them. No CUDA header is needed or included.
///
/// | type   | sign, exponent, fraction bits | largest finite | infinities | CUDA's type of the same layout |
/// |--------|-------------------------------|----------------|------------|--------------------------------|
/// | f16    | 1, 5, 10                      | 65504          | yes        | __half                         |
/// | bf16   | 1, 8, 7                       | 3.3895e38      | yes        | __nv_bfloat16                  |
/// | e4m3   | 1, 4, 3                       | 448            | no         | __nv_fp8_e4m3                  |
/// | e5m2   | 1, 5, 2                       | 57344          | yes        | __nv_fp8_e5m2                  |
/// | int4x2 | two signed 4-bit integers     | 7              | no         | none                           |
///
/// Arithmetic is done in float: the types widen to float without being asked, exactly, and narrow only when asked.
#include <kiln/core/numeric/bf16.hpp>
#include <kiln/core/numeric/convert.hpp>
#include <kiln/core/numeric/f16.hpp>
#include <kiln/core/numeric/fp8.hpp>
#include <kiln/core/numeric/int4.hpp>
#include <kiln/core/numeric/limits.hpp>
#include <kiln/core/numeric/packed.hpp>
#include <kiln/core/numeric/traits.hpp>
