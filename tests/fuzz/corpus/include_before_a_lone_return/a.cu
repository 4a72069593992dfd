#include"hipport/"__global__ l(){
}