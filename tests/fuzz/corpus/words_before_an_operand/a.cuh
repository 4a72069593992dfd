__global__ void kernel(int *out) {
    decltype(made_of(1)) x = 2;
    using Told = decltype(own::told(1));
    out[0] = static_cast<int>(x) + static_cast<int>(sizeof(same<int>(1))) + static_cast<int>(Told(3));
}

template <typename T>
DEVICE auto twice_what_is_given_to_it
(T x) -> decltype(made_of(x)) { return x + x; }
