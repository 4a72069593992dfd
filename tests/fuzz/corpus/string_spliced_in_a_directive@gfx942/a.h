#define "
#define "\
"
)asm("mul.lo.u32%0,2,2;mul.hi.u32%1,2,2":"r"(),"r"():"r"())