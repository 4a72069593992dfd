// SPDX-License-Identifier: Apache-2.0
#error "Thrust headers are needed: Debian's libthrust-dev, a CUDA toolkit's or rocThrust's (there is none)"
