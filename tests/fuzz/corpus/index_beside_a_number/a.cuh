__device__//
t(){min(threadIdx<h,1);}