#pragma once
/// The PTX ISA's own words on where matrix elements lie, typed as it prints them and not as the library computes them:
/// by fragment element i (a_i, b_i, c_i in register order, low bits first), %laneid, groupID and threadID_in_group.
namespace kiln::test::ptx {

struct place {
  int row, col;
  friend bool operator==(const place&, const place&) = default;
};

inline int group_id(int laneid) { return laneid >> 2; }
inline int thread_id_in_group(int laneid) { return laneid % 4; }

// mma.m16n8k16, .f16 and .bf16
inline place m16n8k16_a(int laneid, int i) {
  const int row = (0 <= i && i < 2) || (4 <= i && i < 6) ? group_id(laneid) : group_id(laneid) + 8;
  const int col = i < 4 ? thread_id_in_group(laneid) * 2 + (i & 0x1) : thread_id_in_group(laneid) * 2 + (i & 0x1) + 8;
  return {row, col};
}
inline place m16n8k16_b(int laneid, int i) {
  const int row = i < 2 ? thread_id_in_group(laneid) * 2 + (i & 0x1) : thread_id_in_group(laneid) * 2 + (i & 0x1) + 8;
  return {row, group_id(laneid)};
}
inline place m16n8k16_c(int laneid, int i) {
  const int row = i < 2 ? group_id(laneid) : group_id(laneid) + 8;
  return {row, thread_id_in_group(laneid) * 2 + (i & 0x1)};
}

// mma.m16n8k32, .u8, .s8, .e4m3 and .e5m2; C is that of m16n8k16.
inline place m16n8k32_a(int laneid, int i) {
  const int row = (0 <= i && i < 4) || (8 <= i && i < 12) ? group_id(laneid) : group_id(laneid) + 8;
  const int col = i < 8 ? thread_id_in_group(laneid) * 4 + (i & 0x3) : thread_id_in_group(laneid) * 4 + (i & 0x3) + 16;
  return {row, col};
}
inline place m16n8k32_b(int laneid, int i) {
  const int row = i < 4 ? thread_id_in_group(laneid) * 4 + (i & 0x3) : thread_id_in_group(laneid) * 4 + (i & 0x3) + 16;
  return {row, group_id(laneid)};
}

// mma.m16n8k8, .f16 and .bf16
inline place m16n8k8_f16_a(int laneid, int i) {
  const int row = i < 2 ? group_id(laneid) : group_id(laneid) + 8;
  return {row, thread_id_in_group(laneid) * 2 + (i & 0x1)};
}
inline place m16n8k8_f16_b(int laneid, int i) { return {thread_id_in_group(laneid) * 2 + i, group_id(laneid)}; }

// mma.m16n8k8, .tf32
inline place m16n8k8_tf32_a(int laneid, int i) {
  const int row = i == 0 || i == 2 ? group_id(laneid) : group_id(laneid) + 8;
  const int col = i == 0 || i == 1 ? thread_id_in_group(laneid) : thread_id_in_group(laneid) + 4;
  return {row, col};
}
inline place m16n8k8_tf32_b(int laneid, int i) {
  return {i == 0 ? thread_id_in_group(laneid) : thread_id_in_group(laneid) + 4, group_id(laneid)};
}

// ldmatrix .m8n8: which thread holds which pair of a row, from the figure of the fragment layout for one 8x8 matrix.
inline constexpr int ldmatrix_thread_of_pair[8][4] = {
    {0, 1, 2, 3},     {4, 5, 6, 7},     {8, 9, 10, 11},   {12, 13, 14, 15},
    {16, 17, 18, 19}, {20, 21, 22, 23}, {24, 25, 26, 27}, {28, 29, 30, 31},
};
// ldmatrix and stmatrix, table of addresses: threads 0-7 give the rows of the first matrix, 8-15 of the second, and so
// on.
inline constexpr int ldmatrix_first_thread[4] = {0, 8, 16, 24};

// Swizzling modes, 16-byte chunks: which chunk of a 128-byte line stands at each place of it, line by line, until the
// pattern repeats.
inline constexpr int swizzle_128b[8][8] = {
    {0, 1, 2, 3, 4, 5, 6, 7}, {1, 0, 3, 2, 5, 4, 7, 6}, {2, 3, 0, 1, 6, 7, 4, 5}, {3, 2, 1, 0, 7, 6, 5, 4},
    {4, 5, 6, 7, 0, 1, 2, 3}, {5, 4, 7, 6, 1, 0, 3, 2}, {6, 7, 4, 5, 2, 3, 0, 1}, {7, 6, 5, 4, 3, 2, 1, 0},
};
inline constexpr int swizzle_64b[4][8] = {
    {0, 1, 2, 3, 4, 5, 6, 7},
    {1, 0, 3, 2, 5, 4, 7, 6},
    {2, 3, 0, 1, 6, 7, 4, 5},
    {3, 2, 1, 0, 7, 6, 5, 4},
};
inline constexpr int swizzle_32b[2][8] = {
    {0, 1, 2, 3, 4, 5, 6, 7},
    {1, 0, 3, 2, 5, 4, 7, 6},
};

}  // namespace kiln::test::ptx
