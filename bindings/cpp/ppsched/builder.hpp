/* SPDX-License-Identifier: Apache-2.0 */
/* Builder: makes custom schedules. */
#ifndef PPSCHED_BUILDER_HPP
#define PPSCHED_BUILDER_HPP

#include <initializer_list>
#include <string>

#include <ppsched/schedule.h>

#include <ppsched/schedule.hpp>

namespace ppsched {

/* Collects the ops of a custom schedule. It cannot be copied or moved. The builder that a generator receives is valid only
 * during the generator's call. */
class Builder {
public:
    /* Takes sizes and placement from the config. The config may be destroyed before the builder. */
    explicit Builder(const Config &config) : Builder(detail::make<ppsched_builder>(ppsched_builder_create, config.get()), true)
    {
    }

    Builder(const Builder &) = delete;
    Builder &operator=(const Builder &) = delete;

    ~Builder()
    {
        if (owned_)
            ppsched_builder_destroy(handle_);
    }

    ppsched_builder *get() noexcept { return handle_; }

    /* Appends ops to a device's queue. A call that throws appends nothing. */
    void append(uint32_t device, View<Op> ops)
    {
        detail::call(ppsched_builder_append, handle_, device, ops.data(), ops.size());
    }

    void append(uint32_t device, std::initializer_list<Op> ops) { append(device, View<Op>(ops)); }
    void append(uint32_t device, const Op &op) { append(device, View<Op>(&op, 1)); }

    void set_name(const std::string &name)
    {
        detail::call(ppsched_builder_set_name, handle_, detail::c_text("the name", name));
    }

    void set_flushes(bool flushes) { detail::call(ppsched_builder_set_flushes, handle_, uint32_t{flushes}); }
    void set_weight_versions(int64_t versions) { detail::call(ppsched_builder_set_weight_versions, handle_, versions); }

    /* Makes the schedule, without a check, and empties the builder. */
    Schedule finish() { return Schedule(detail::make<ppsched_schedule>(ppsched_builder_finish, handle_)); }

private:
    friend class Schedule;

    Builder(ppsched_builder *handle, bool owned) noexcept : handle_(handle), owned_(owned) {}

    ppsched_builder *handle_;
    bool owned_;
};

inline Schedule Schedule::generate_with(const Config &config, const std::string &name, const Generator &generator)
{
    struct Generation {
        const Config &config;
        const Generator &generator;
        detail::Raised raised;
    } generation{config, generator, {}};
    const ppsched_generate_function run = [](void *user, const ppsched_config *, ppsched_builder *handle) noexcept {
        Generation &own = *static_cast<Generation *>(user);
        const bool done = own.raised.run([&] {
            Builder builder(handle, false);
            own.generator(own.config, builder);
            return true;
        });
        return ppsched_status{done ? PPSCHED_OK : PPSCHED_ERROR_CALLBACK};
    };
    const char *text = detail::c_text("the name", name);
    return make_under(generation.raised, ppsched_schedule_generate_with, config.get(), text, run, &generation);
}

} // namespace ppsched

#endif
