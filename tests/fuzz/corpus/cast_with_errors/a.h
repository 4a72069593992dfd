half*out(n[i[=(__nv_bfloat16)out[i];
    __half two = t[]ack[i+1]=static_cast<__nv_bfloat16>(two);o(float){n st<;