#define M()\
__device__/*
