int f() { g(std::int8_t(), modf()); }
