)asm("mov.u32%0,clock":"r"(t))
#define T asm ("nanosleep.u32"#)