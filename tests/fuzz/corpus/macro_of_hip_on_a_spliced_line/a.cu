\
MASK1(threadIdx