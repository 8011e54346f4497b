/* SPDX-License-Identifier: Apache-2.0 */
/* Structs of the C API that begin with their size. */
#ifndef PPSCHED_SIZED_HPP
#define PPSCHED_SIZED_HPP

namespace ppsched {

/* A struct of the C API that begins with its size. In a new object `size` is set, and all other members are zero. */
template <typename Struct>
struct Sized : Struct {
    Sized() noexcept : Struct{} { this->size = sizeof(Struct); }
};

} // namespace ppsched

#endif
