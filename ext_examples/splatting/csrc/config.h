// SPDX-License-Identifier: Apache-2.0
#pragma once

#define NUM_CHANNELS 3  // red, green, blue
#define BLOCK_X 16      // a tile's width
#define BLOCK_Y 16      // and height: one thread for each pixel
#define BLOCK_SIZE (BLOCK_X * BLOCK_Y)
#define WARP_SIZE 32
#define FULL_MASK 0xffffffffu

#define ALPHA_MIN (1.0 / 255.0)  // less than that of a Gaussian is not seen
#define ALPHA_MAX 0.99           // more would leave nothing to divide by
#define T_MIN 0.0001             // a pixel that lets less through is done
#define NEAR_PLANE 0.2
#define LOW_PASS 0.3             // added to the variance, in pixels: a Gaussian is at least about as large as a pixel
