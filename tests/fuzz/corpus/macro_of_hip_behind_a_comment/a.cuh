/*
*/#include<hip/>MASK1