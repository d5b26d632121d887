#pragma once
/// The PTX of wgmma, one asm statement for each shape, type and source of A. Included by wgmma.hpp alone.
///
/// Operands 0 to N / 2 - 1 are the accumulators; the others follow, so their numbers depend on N and are given as text.
/// Only the pass for sm_90a reads any of this.
#include <cstdint>
#include <kiln/core/macros.hpp>
#include <kiln/core/numeric.hpp>
#include <type_traits>

#if KILN_SM90A
namespace kiln::sm90::detail {

// Names of the first 8 n accumulators in the text, and the accumulators themselves; `c` is "+f" or "+r".
#define KILN_NAMES_8 "%0,%1,%2,%3,%4,%5,%6,%7"
#define KILN_NAMES_16 KILN_NAMES_8 ",%8,%9,%10,%11,%12,%13,%14,%15"
#define KILN_NAMES_24 KILN_NAMES_16 ",%16,%17,%18,%19,%20,%21,%22,%23"
#define KILN_NAMES_32 KILN_NAMES_24 ",%24,%25,%26,%27,%28,%29,%30,%31"
#define KILN_NAMES_40 KILN_NAMES_32 ",%32,%33,%34,%35,%36,%37,%38,%39"
#define KILN_NAMES_48 KILN_NAMES_40 ",%40,%41,%42,%43,%44,%45,%46,%47"
#define KILN_NAMES_56 KILN_NAMES_48 ",%48,%49,%50,%51,%52,%53,%54,%55"
#define KILN_NAMES_64 KILN_NAMES_56 ",%56,%57,%58,%59,%60,%61,%62,%63"
#define KILN_NAMES_72 KILN_NAMES_64 ",%64,%65,%66,%67,%68,%69,%70,%71"
#define KILN_NAMES_80 KILN_NAMES_72 ",%72,%73,%74,%75,%76,%77,%78,%79"
#define KILN_NAMES_88 KILN_NAMES_80 ",%80,%81,%82,%83,%84,%85,%86,%87"
#define KILN_NAMES_96 KILN_NAMES_88 ",%88,%89,%90,%91,%92,%93,%94,%95"
#define KILN_NAMES_104 KILN_NAMES_96 ",%96,%97,%98,%99,%100,%101,%102,%103"
#define KILN_NAMES_112 KILN_NAMES_104 ",%104,%105,%106,%107,%108,%109,%110,%111"
#define KILN_NAMES_120 KILN_NAMES_112 ",%112,%113,%114,%115,%116,%117,%118,%119"
#define KILN_NAMES_128 KILN_NAMES_120 ",%120,%121,%122,%123,%124,%125,%126,%127"
#define KILN_NAMES_4 "%0,%1,%2,%3"
#define KILN_REGS_4(c) c(d[0]), c(d[1]), c(d[2]), c(d[3])
#define KILN_EIGHT(c, i) \
  c(d[i]), c(d[i + 1]), c(d[i + 2]), c(d[i + 3]), c(d[i + 4]), c(d[i + 5]), c(d[i + 6]), c(d[i + 7])
#define KILN_REGS_8(c) KILN_EIGHT(c, 0)
#define KILN_REGS_16(c) KILN_REGS_8(c), KILN_EIGHT(c, 8)
#define KILN_REGS_24(c) KILN_REGS_16(c), KILN_EIGHT(c, 16)
#define KILN_REGS_32(c) KILN_REGS_24(c), KILN_EIGHT(c, 24)
#define KILN_REGS_40(c) KILN_REGS_32(c), KILN_EIGHT(c, 32)
#define KILN_REGS_48(c) KILN_REGS_40(c), KILN_EIGHT(c, 40)
#define KILN_REGS_56(c) KILN_REGS_48(c), KILN_EIGHT(c, 48)
#define KILN_REGS_64(c) KILN_REGS_56(c), KILN_EIGHT(c, 56)
#define KILN_REGS_72(c) KILN_REGS_64(c), KILN_EIGHT(c, 64)
#define KILN_REGS_80(c) KILN_REGS_72(c), KILN_EIGHT(c, 72)
#define KILN_REGS_88(c) KILN_REGS_80(c), KILN_EIGHT(c, 80)
#define KILN_REGS_96(c) KILN_REGS_88(c), KILN_EIGHT(c, 88)
#define KILN_REGS_104(c) KILN_REGS_96(c), KILN_EIGHT(c, 96)
#define KILN_REGS_112(c) KILN_REGS_104(c), KILN_EIGHT(c, 104)
#define KILN_REGS_120(c) KILN_REGS_112(c), KILN_EIGHT(c, 112)
#define KILN_REGS_128(c) KILN_REGS_120(c), KILN_EIGHT(c, 120)

#define KILN_WGMMA_TEXT(n, k, types, names, a, b, p, tail)                                                             \
  "{\n.reg .pred p;\nsetp.ne.b32 p, " p ", 0;\nwgmma.mma_async.sync.aligned.m64n" n "k" k "." types " {" names "}, " a \
  ", " b ", p" tail ";\n}"

// A and B from shared memory. 16-bit types can be read transposed; 8-bit types cannot.
#define KILN_WGMMA_16(n, r, types, o0, o1, o2, o3, o4)                                            \
  asm volatile(KILN_WGMMA_TEXT(n, "16", types, KILN_NAMES_##r, o0, o1, o2, ", 1, 1, " o3 ", " o4) \
               : KILN_REGS_##r("+f")                                                              \
               : "l"(a), "l"(b), "r"(accumulate), "n"(TransA), "n"(TransB))
#define KILN_WGMMA_8(n, r, types, o0, o1, o2)                                        \
  asm volatile(KILN_WGMMA_TEXT(n, "32", types, KILN_NAMES_##r, o0, o1, o2, ", 1, 1") \
               : KILN_REGS_##r("+f")                                                 \
               : "l"(a), "l"(b), "r"(accumulate))
#define KILN_WGMMA_I(n, r, o0, o1, o2)                                               \
  asm volatile(KILN_WGMMA_TEXT(n, "32", "s32.s8.s8", KILN_NAMES_##r, o0, o1, o2, "") \
               : KILN_REGS_##r("+r")                                                 \
               : "l"(a), "l"(b), "r"(accumulate))
#define KILN_WGMMA_SHARED(n, r, o0, o1, o2, o3, o4)           \
  if constexpr (is<A, f16>)                                   \
    KILN_WGMMA_16(n, r, "f32.f16.f16", o0, o1, o2, o3, o4);   \
  else if constexpr (is<A, bf16>)                             \
    KILN_WGMMA_16(n, r, "f32.bf16.bf16", o0, o1, o2, o3, o4); \
  else if constexpr (is<A, e4m3> && is<B, e4m3>)              \
    KILN_WGMMA_8(n, r, "f32.e4m3.e4m3", o0, o1, o2);          \
  else if constexpr (is<A, e4m3>)                             \
    KILN_WGMMA_8(n, r, "f32.e4m3.e5m2", o0, o1, o2);          \
  else if constexpr (is<A, e5m2> && is<B, e4m3>)              \
    KILN_WGMMA_8(n, r, "f32.e5m2.e4m3", o0, o1, o2);          \
  else if constexpr (is<A, e5m2>)                             \
    KILN_WGMMA_8(n, r, "f32.e5m2.e5m2", o0, o1, o2);          \
  else                                                        \
    KILN_WGMMA_I(n, r, o0, o1, o2)

// A from four registers of each thread.
#define KILN_WGMMA_R(n, r, types, o0, o1, o2, o3, o4, o5, o6)                                                          \
  asm volatile(KILN_WGMMA_TEXT(n, "16", types, KILN_NAMES_##r, "{" o0 "," o1 "," o2 "," o3 "}", o4, o5, ", 1, 1, " o6) \
               : KILN_REGS_##r("+f")                                                                                   \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate), "n"(TransB))
#define KILN_WGMMA_REGISTERS(n, r, o0, o1, o2, o3, o4, o5, o6)     \
  if constexpr (is<A, f16>)                                        \
    KILN_WGMMA_R(n, r, "f32.f16.f16", o0, o1, o2, o3, o4, o5, o6); \
  else                                                             \
    KILN_WGMMA_R(n, r, "f32.bf16.bf16", o0, o1, o2, o3, o4, o5, o6)

template <class T, class U>
inline constexpr bool is = std::is_same_v<T, U>;

template <class A, class B, int TransA, int TransB, class Acc, int R>
KILN_DEVICE void product_shared(Acc (&d)[R], std::uint64_t a, std::uint64_t b, int accumulate) {
  if constexpr (R == 4) {
    KILN_WGMMA_SHARED("8", 4, "%4", "%5", "%6", "%7", "%8");
  } else if constexpr (R == 8) {
    KILN_WGMMA_SHARED("16", 8, "%8", "%9", "%10", "%11", "%12");
  } else if constexpr (R == 16) {
    KILN_WGMMA_SHARED("32", 16, "%16", "%17", "%18", "%19", "%20");
  } else if constexpr (R == 24) {
    KILN_WGMMA_SHARED("48", 24, "%24", "%25", "%26", "%27", "%28");
  } else if constexpr (R == 32) {
    KILN_WGMMA_SHARED("64", 32, "%32", "%33", "%34", "%35", "%36");
  } else if constexpr (R == 40) {
    KILN_WGMMA_SHARED("80", 40, "%40", "%41", "%42", "%43", "%44");
  } else if constexpr (R == 48) {
    KILN_WGMMA_SHARED("96", 48, "%48", "%49", "%50", "%51", "%52");
  } else if constexpr (R == 56) {
    KILN_WGMMA_SHARED("112", 56, "%56", "%57", "%58", "%59", "%60");
  } else if constexpr (R == 64) {
    KILN_WGMMA_SHARED("128", 64, "%64", "%65", "%66", "%67", "%68");
  } else if constexpr (R == 72) {
    KILN_WGMMA_SHARED("144", 72, "%72", "%73", "%74", "%75", "%76");
  } else if constexpr (R == 80) {
    KILN_WGMMA_SHARED("160", 80, "%80", "%81", "%82", "%83", "%84");
  } else if constexpr (R == 88) {
    KILN_WGMMA_SHARED("176", 88, "%88", "%89", "%90", "%91", "%92");
  } else if constexpr (R == 96) {
    KILN_WGMMA_SHARED("192", 96, "%96", "%97", "%98", "%99", "%100");
  } else if constexpr (R == 104) {
    KILN_WGMMA_SHARED("208", 104, "%104", "%105", "%106", "%107", "%108");
  } else if constexpr (R == 112) {
    KILN_WGMMA_SHARED("224", 112, "%112", "%113", "%114", "%115", "%116");
  } else if constexpr (R == 120) {
    KILN_WGMMA_SHARED("240", 120, "%120", "%121", "%122", "%123", "%124");
  } else if constexpr (R == 128) {
    KILN_WGMMA_SHARED("256", 128, "%128", "%129", "%130", "%131", "%132");
  }
}

template <class A, int TransB, int R>
KILN_DEVICE void product_registers(float (&d)[R], const std::uint32_t (&a)[4], std::uint64_t b, int accumulate) {
  if constexpr (R == 4) {
    KILN_WGMMA_REGISTERS("8", 4, "%4", "%5", "%6", "%7", "%8", "%9", "%10");
  } else if constexpr (R == 8) {
    KILN_WGMMA_REGISTERS("16", 8, "%8", "%9", "%10", "%11", "%12", "%13", "%14");
  } else if constexpr (R == 16) {
    KILN_WGMMA_REGISTERS("32", 16, "%16", "%17", "%18", "%19", "%20", "%21", "%22");
  } else if constexpr (R == 24) {
    KILN_WGMMA_REGISTERS("48", 24, "%24", "%25", "%26", "%27", "%28", "%29", "%30");
  } else if constexpr (R == 32) {
    KILN_WGMMA_REGISTERS("64", 32, "%32", "%33", "%34", "%35", "%36", "%37", "%38");
  } else if constexpr (R == 40) {
    KILN_WGMMA_REGISTERS("80", 40, "%40", "%41", "%42", "%43", "%44", "%45", "%46");
  } else if constexpr (R == 48) {
    KILN_WGMMA_REGISTERS("96", 48, "%48", "%49", "%50", "%51", "%52", "%53", "%54");
  } else if constexpr (R == 56) {
    KILN_WGMMA_REGISTERS("112", 56, "%56", "%57", "%58", "%59", "%60", "%61", "%62");
  } else if constexpr (R == 64) {
    KILN_WGMMA_REGISTERS("128", 64, "%64", "%65", "%66", "%67", "%68", "%69", "%70");
  } else if constexpr (R == 72) {
    KILN_WGMMA_REGISTERS("144", 72, "%72", "%73", "%74", "%75", "%76", "%77", "%78");
  } else if constexpr (R == 80) {
    KILN_WGMMA_REGISTERS("160", 80, "%80", "%81", "%82", "%83", "%84", "%85", "%86");
  } else if constexpr (R == 88) {
    KILN_WGMMA_REGISTERS("176", 88, "%88", "%89", "%90", "%91", "%92", "%93", "%94");
  } else if constexpr (R == 96) {
    KILN_WGMMA_REGISTERS("192", 96, "%96", "%97", "%98", "%99", "%100", "%101", "%102");
  } else if constexpr (R == 104) {
    KILN_WGMMA_REGISTERS("208", 104, "%104", "%105", "%106", "%107", "%108", "%109", "%110");
  } else if constexpr (R == 112) {
    KILN_WGMMA_REGISTERS("224", 112, "%112", "%113", "%114", "%115", "%116", "%117", "%118");
  } else if constexpr (R == 120) {
    KILN_WGMMA_REGISTERS("240", 120, "%120", "%121", "%122", "%123", "%124", "%125", "%126");
  } else if constexpr (R == 128) {
    KILN_WGMMA_REGISTERS("256", 128, "%128", "%129", "%130", "%131", "%132", "%133", "%134");
  }
}

#undef KILN_EIGHT
#undef KILN_WGMMA_TEXT
#undef KILN_WGMMA_16
#undef KILN_WGMMA_8
#undef KILN_WGMMA_I
#undef KILN_WGMMA_SHARED
#undef KILN_WGMMA_R
#undef KILN_WGMMA_REGISTERS
#undef KILN_NAMES_4
#undef KILN_REGS_4
#undef KILN_NAMES_8
#undef KILN_REGS_8
#undef KILN_NAMES_16
#undef KILN_REGS_16
#undef KILN_NAMES_24
#undef KILN_REGS_24
#undef KILN_NAMES_32
#undef KILN_REGS_32
#undef KILN_NAMES_40
#undef KILN_REGS_40
#undef KILN_NAMES_48
#undef KILN_REGS_48
#undef KILN_NAMES_56
#undef KILN_REGS_56
#undef KILN_NAMES_64
#undef KILN_REGS_64
#undef KILN_NAMES_72
#undef KILN_REGS_72
#undef KILN_NAMES_80
#undef KILN_REGS_80
#undef KILN_NAMES_88
#undef KILN_REGS_88
#undef KILN_NAMES_96
#undef KILN_REGS_96
#undef KILN_NAMES_104
#undef KILN_REGS_104
#undef KILN_NAMES_112
#undef KILN_REGS_112
#undef KILN_NAMES_120
#undef KILN_REGS_120
#undef KILN_NAMES_128
#undef KILN_REGS_128

}  // namespace kiln::sm90::detail
#endif
