#if e()
.warpSize