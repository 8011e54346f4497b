/* SPDX-License-Identifier: Apache-2.0 */
/* Calibrator: fits a few constants of a device to measured runs. */
#ifndef PPSCHED_CALIBRATOR_HPP
#define PPSCHED_CALIBRATOR_HPP

#include <cstdint>
#include <memory>

#include <ppsched/calibrator.h>

#include <ppsched/config.hpp>
#include <ppsched/description.hpp>
#include <ppsched/detail.hpp>
#include <ppsched/model.hpp>
#include <ppsched/price.hpp>
#include <ppsched/sized.hpp>

namespace ppsched {

using CalibratedConstant = Sized<ppsched_calibrated_constant>;
using CalibratedRun = Sized<ppsched_calibrated_run>;

/* Measured runs, and the constants of a device that fit them best. Can be moved, not copied. */
class Calibrator {
public:
    /* The fit starts from the constants of `accelerator`. */
    explicit Calibrator(const ppsched_accelerator &accelerator, const ppsched_environment *environment = nullptr)
        : handle_(detail::make<ppsched_calibrator>(ppsched_calibrator_create, &accelerator, environment))
    {
    }

    const ppsched_calibrator *get() const noexcept { return handle_.get(); }

    /* Adds a run whose step took `step_time` seconds. Pointers in the arguments are read only during the call. */
    void append_run(const Description &description, const Training &training, const Pipeline &pipeline, double step_time)
    {
        detail::call(ppsched_calibrator_append_run, handle_.get(), description.get(), &training, &pipeline, step_time);
    }

    /* Fits the constants. If `progress` returns false, the call stops and throws Cancelled. If `progress` throws, the call
     * throws the same exception. */
    void run(const Progress &progress = nullptr)
    {
        detail::run_told(handle_.get(), ppsched_calibrator_set_progress, ppsched_calibrator_run, progress);
    }

    /* How many constants were fitted; and the constant with a number, before and after the fit. */
    uint32_t constant_count() const noexcept { return ppsched_calibrator_constant_count(get()); }
    CalibratedConstant constant(uint32_t constant) const
    {
        return detail::record_of<CalibratedConstant>(ppsched_calibrator_get_constant, get(), constant);
    }

    /* How many runs there are; and the run with a number, with its errors. */
    uint32_t run_count() const noexcept { return ppsched_calibrator_run_count(get()); }
    CalibratedRun run_at(uint32_t run) const
    {
        return detail::record_of<CalibratedRun>(ppsched_calibrator_get_run, get(), run);
    }

    /* The device with the fitted constants. Its pointers are borrowed from the calibrator. */
    Accelerator accelerator() const & { return detail::record_of<Accelerator>(ppsched_calibrator_get_accelerator, get()); }
    Accelerator accelerator() const && = delete;

private:
    std::unique_ptr<ppsched_calibrator, detail::Destroy<ppsched_calibrator_destroy>> handle_;
};

} // namespace ppsched

#endif
