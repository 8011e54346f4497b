/* SPDX-License-Identifier: Apache-2.0 */
/* View: a sequence of values that another object owns. */
#ifndef PPSCHED_VIEW_HPP
#define PPSCHED_VIEW_HPP

#include <stddef.h>

#include <iterator>
#include <type_traits>
#include <utility>

namespace ppsched {

/* A sequence of values that another object owns: a queue's ops, a list of numbers, or an argument. A View is a pointer and a
 * size, so pass it by value. */
template <typename Value>
class View {
public:
    using value_type = Value;
    using const_iterator = const Value *;
    using iterator = const_iterator;

    constexpr View() noexcept = default;
    constexpr View(const Value *data, size_t size) noexcept : data_(data), size_(size) {}

    /* A view of a vector, an array, or another container with contiguous values. */
    template <typename Row, typename Pointer = decltype(std::data(std::declval<const Row &>())),
              typename = std::enable_if_t<std::is_same_v<std::add_const_t<std::remove_pointer_t<Pointer>>, const Value>>>
    constexpr View(const Row &row) noexcept : data_(std::data(row)), size_(std::size(row))
    {
    }

    constexpr const Value *data() const noexcept { return data_; }
    constexpr size_t size() const noexcept { return size_; }
    constexpr bool empty() const noexcept { return size_ == 0; }
    constexpr const Value *begin() const noexcept { return data_; }
    constexpr const Value *end() const noexcept { return data_ + size_; }
    constexpr const Value &operator[](size_t i) const noexcept { return data_[i]; } /* i < size() */

private:
    const Value *data_ = nullptr;
    size_t size_ = 0;
};

} // namespace ppsched

#endif
