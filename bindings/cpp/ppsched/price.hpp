/* SPDX-License-Identifier: Apache-2.0 */
/* Price: the step time of a layout with the parts of this time, and the memory of each device. */
#ifndef PPSCHED_PRICE_HPP
#define PPSCHED_PRICE_HPP

#include <cstdint>
#include <memory>

#include <ppsched/price.h>

#include <ppsched/detail.hpp>
#include <ppsched/model.hpp>
#include <ppsched/sized.hpp>

namespace ppsched {

using Pipeline = Sized<ppsched_pipeline>;
using StepPrice = Sized<ppsched_step_price>;
using DevicePrice = Sized<ppsched_device_price>;

/* The price of a layout. Can be moved, not copied. */
class Price {
public:
    /* Pointers in the pipeline are read only during the call. */
    explicit Price(const Model &model, const Pipeline &pipeline = {}, const ppsched_environment *environment = nullptr)
        : Price(detail::make<ppsched_price>(ppsched_price_create, model.get(), &pipeline, environment))
    {
    }

    /* Takes ownership of a price of the C API. */
    explicit Price(ppsched_price *handle) noexcept : handle_(handle) {}

    const ppsched_price *get() const noexcept { return handle_.get(); }

    StepPrice step() const { return detail::record_of<StepPrice>(ppsched_price_get_step, get()); }

    /* The memory of one device of a replica. */
    DevicePrice device(uint32_t device) const
    {
        return detail::record_of<DevicePrice>(ppsched_price_get_device, get(), device);
    }

    /* The pipeline that was priced, with defaults filled in. Its pointers are borrowed from the price. */
    Pipeline pipeline() const & { return detail::record_of<Pipeline>(ppsched_price_get_pipeline, get()); }
    Pipeline pipeline() const && = delete;

private:
    std::unique_ptr<ppsched_price, detail::Destroy<ppsched_price_destroy>> handle_;
};

} // namespace ppsched

#endif
