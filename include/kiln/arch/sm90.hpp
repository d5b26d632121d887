#pragma once
/// Hopper's instructions, one thin function each, with host twins: TMA, mbarrier, wgmma, stmatrix, setmaxnreg,
/// clusters.
///
/// The scope's type chooses: PTX on the device, the twin on the host. wgmma and setmaxnreg exist in code for sm_90a
/// alone; in passes for other architectures all of these are empty, and a kernel that uses them has an empty body
/// there.
#include <kiln/arch/sm90/barrier.hpp>
#include <kiln/arch/sm90/descriptor.hpp>
#include <kiln/arch/sm90/in_turn.hpp>
#include <kiln/arch/sm90/remote.hpp>
#include <kiln/arch/sm90/stmatrix.hpp>
#include <kiln/arch/sm90/sync.hpp>
#include <kiln/arch/sm90/tensor_map.hpp>
#include <kiln/arch/sm90/tma.hpp>
#include <kiln/arch/sm90/wgmma.hpp>
