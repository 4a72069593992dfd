#define \
cudaEr