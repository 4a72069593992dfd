#define R"(
)"__shfl_down