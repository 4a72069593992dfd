#define cuDe/(/
)