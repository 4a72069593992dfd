void launch_blur(float *out, int n);
