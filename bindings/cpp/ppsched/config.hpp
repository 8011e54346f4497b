/* SPDX-License-Identifier: Apache-2.0 */
/* Config: a problem. */
#ifndef PPSCHED_CONFIG_HPP
#define PPSCHED_CONFIG_HPP

#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>

#include <ppsched/config.h>
#include <ppsched/scenarios.h>
#include <ppsched/environment.h>
#include <ppsched/stage_graph.h>

#include <ppsched/detail.hpp>
#include <ppsched/sized.hpp>
#include <ppsched/view.hpp>

namespace ppsched {

using Environment = Sized<ppsched_environment>;
using ModelEnd = Sized<ppsched_model_end>;

class Layers;
struct Split;

/* A progress callback. A search calls it regularly. It returns whether the search continues. It must not change the config. */
using Progress = std::function<bool(const ppsched_progress &progress)>;

/* A problem: sizes, placement, costs, and options of the strategy. A copy is independent, and has the same progress
 * callback. */
class Config {
public:
    /* The environment's functions must not throw, and must stay valid until all objects made from the config are freed. */
    Config(int64_t devices, int64_t stages, int64_t microbatches, const ppsched_environment *environment = nullptr)
        : handle_(detail::make<ppsched_config>(ppsched_config_create, devices, stages, microbatches, environment))
    {
    }

    /* Takes ownership of a config of the C API. */
    explicit Config(ppsched_config *taken) noexcept : handle_(taken) {}

    Config(const Config &other)
        : handle_(detail::make<ppsched_config>(ppsched_config_copy, other.get())), progress_(other.progress_)
    {
    }

    Config(Config &&other) noexcept : handle_(std::move(other.handle_)), progress_(std::move(other.progress_)) {}

    Config &operator=(Config other) noexcept
    {
        handle_.swap(other.handle_);
        progress_.swap(other.progress_);
        return *this;
    }

    /* The handle, for calls of the C API. Such calls do not use the progress callback. */
    ppsched_config *get() noexcept { return handle_.get(); }
    const ppsched_config *get() const noexcept { return handle_.get(); }

    uint32_t devices() const noexcept { return ppsched_config_devices(get()); }
    uint32_t stages() const noexcept { return ppsched_config_stages(get()); }
    uint32_t microbatches() const noexcept { return ppsched_config_microbatches(get()); }
    uint32_t iterations() const noexcept { return ppsched_config_iterations(get()); }
    uint32_t slices() const noexcept { return ppsched_config_slices(get()); }
    ppsched_placement placement() const noexcept { return static_cast<ppsched_placement>(ppsched_config_placement(get())); }
    bool forward_only() const noexcept { return ppsched_config_forward_only(get()) != 0; }
    bool split_backward() const noexcept { return ppsched_config_split_backward(get()) != 0; }
    ppsched_sender_waits sender_waits() const noexcept
    {
        return static_cast<ppsched_sender_waits>(ppsched_config_sender_waits(get()));
    }
    const Progress &progress() const noexcept { return progress_; }

    void set_iterations(int64_t iterations) { detail::call(ppsched_config_set_iterations, get(), iterations); }
    void set_slices(int64_t slices) { detail::call(ppsched_config_set_slices, get(), slices); }
    void set_weight_versions(int64_t versions) { detail::call(ppsched_config_set_weight_versions, get(), versions); }
    /* Renumbers the devices: device order[p] becomes device p. See ppsched_config_order_devices. */
    void order_devices(const std::vector<uint32_t> &order)
    {
        detail::call(ppsched_config_order_devices, get(), order.data(), order.size());
    }
    /* Sets the robust objective, which searches minimise if times vary; see ppsched_config_set_robust_objective. */
    void set_goal(ppsched_rank_by rank_by, int64_t scenarios, const ppsched_scenario_options &options, double quantile = 0.9)
    {
        detail::call(ppsched_config_set_robust_objective, get(), rank_by, quantile, scenarios, &options);
    }
    void set_forward_only(bool is_forward_only) { detail::call(ppsched_config_set_forward_only, get(), is_forward_only); }
    void set_split_backward(bool is_allowed) { detail::call(ppsched_config_set_split_backward, get(), is_allowed); }
    /* Sets whether a device waits until its output has arrived; see ppsched_config_set_sender_waits. */
    void set_sender_waits(ppsched_sender_waits waits) { detail::call(ppsched_config_set_sender_waits, get(), waits); }
    void set_placement(ppsched_placement placement) { place(placement, {}); }

    /* A custom placement: the device of each stage. */
    void set_placement(View<uint32_t> map) { place(PPSCHED_PLACEMENT_MAP, map); }
    void set_placement(std::initializer_list<uint32_t> map) { place(PPSCHED_PLACEMENT_MAP, map); }

    /* One or more devices for each stage; see ppsched_config_set_stage_devices. */
    void set_stage_devices(const std::vector<std::vector<uint32_t>> &devices)
    {
        const Lists lists(devices);
        detail::call(ppsched_config_set_stage_devices, get(), lists.counts.data(), lists.values.data(), devices.size());
    }

    /* The stages whose outputs each stage reads; see ppsched_config_set_stage_inputs. */
    void set_stage_inputs(const std::vector<std::vector<uint32_t>> &inputs)
    {
        const Lists lists(inputs);
        detail::call(ppsched_config_set_stage_inputs, get(), lists.counts.data(), lists.values.data(), inputs.size());
    }

    /* The passes of each stage. An empty list restores the default. */
    void set_stage_passes(const std::vector<ppsched_stage_passes> &passes)
    {
        const std::vector<int32_t> numbers(passes.begin(), passes.end());
        detail::call(ppsched_config_set_stage_passes, get(), numbers.data(), numbers.size());
    }

    /* The microbatches that a stage runs. An empty list means all. */
    void set_stage_microbatches(uint32_t stage, const std::vector<uint32_t> &microbatches)
    {
        detail::call(ppsched_config_set_stage_microbatches, get(), stage, microbatches.data(), microbatches.size());
    }

    /* Sets the numbers of a quantity: a list, or one number in place of all numbers of the list. An empty list restores the
     * default. */
    void set_values(ppsched_quantity quantity, View<double> values)
    {
        detail::call(ppsched_config_set_values, get(), static_cast<int32_t>(quantity), values.data(), values.size());
    }

    void set_values(ppsched_quantity quantity, std::initializer_list<double> values)
    {
        set_values(quantity, View<double>(values));
    }

    void set_values(ppsched_quantity quantity, double value) { set_values(quantity, View<double>(&value, 1)); }

    /* The numbers of a quantity that were set. Empty if the quantity has its default. The view is valid until the quantity is
     * set again, or the config is destroyed. */
    View<double> values(ppsched_quantity quantity) const &
    {
        size_t count = 0;
        const double *values = ppsched_config_values(get(), static_cast<int32_t>(quantity), &count);
        return {values, count};
    }

    View<double> values(ppsched_quantity quantity) const && = delete;

    /* Sets or removes an option of the strategy. Options are checked when the strategy makes a schedule. */
    void set_option(const std::string &name, const std::string &value)
    {
        set_option_text(name, detail::c_text("the option's value", value));
    }

    void set_option(const std::string &name, int64_t value) { set_option_text(name, std::to_string(value).c_str()); }
    void clear_option(const std::string &name) { set_option_text(name, nullptr); }

    /* Sets the progress callback of searches. It runs in the thread that generates the schedule. An empty function means no
     * callback. */
    void set_progress(Progress progress) noexcept { progress_.swap(progress); }

    /* The same model in another number of stages; see ppsched_config_with_stages. Costs of stages are summed or divided. The
     * costs of embedding and head are not divided. */
    [[nodiscard]] Config with_stages(int64_t stages, const ModelEnd &embedding = {}, const ModelEnd &head = {}) const
    {
        return {detail::make<ppsched_config>(ppsched_config_with_stages, get(), stages, &embedding, &head), progress_};
    }

    /* The same batch divided into another number of microbatches; see ppsched_config_with_microbatches. */
    [[nodiscard]] Config with_microbatches(int64_t microbatches) const
    {
        return {detail::make<ppsched_config>(ppsched_config_with_microbatches, get(), microbatches), progress_};
    }

    /* The same problem with the stages that a split of layers gives; see layers.hpp. */
    [[nodiscard]] Config from_layers(const Layers &layers, const Split &split) const;

    /* Throws if the lists of numbers contradict each other. */
    void validate() const { detail::call(ppsched_config_validate, get()); }

private:
    /* Several lists, put one after another into one list, and their lengths. */
    struct Lists {
        explicit Lists(const std::vector<std::vector<uint32_t>> &lists)
        {
            for (const std::vector<uint32_t> &list : lists) {
                counts.push_back(static_cast<uint32_t>(list.size()));
                values.insert(values.end(), list.begin(), list.end());
            }
            values.reserve(1); /* so that data() is not null */
        }
        std::vector<uint32_t> counts, values;
    };

    Config(ppsched_config *taken, const Progress &progress) : handle_(taken), progress_(progress) {}

    void place(ppsched_placement placement, View<uint32_t> map)
    {
        detail::call(ppsched_config_set_placement, get(), static_cast<int32_t>(placement), map.data(), map.size());
    }

    void set_option_text(const std::string &name, const char *value)
    {
        detail::call(ppsched_config_set_option, get(), detail::c_text("the option's name", name), value);
    }

    std::unique_ptr<ppsched_config, detail::Destroy<ppsched_config_destroy>> handle_;
    Progress progress_; /* set in a copy of the C config by each call that generates, so threads may share this Config */
};

namespace detail {

/* What the C API passes to a progress callback. Its address must not change while a call uses it. */
struct Teller {
    Progress progress;
    Raised *raised; /* exceptions of the current call; null: the callback is not called */

    static int32_t tell(void *user, const ppsched_progress *progress) noexcept
    {
        const Teller &own = *static_cast<Teller *>(user);
        return own.raised == nullptr || own.raised->run([&] { return own.progress(*progress); }) ? 0 : 1;
    }

    /* A copy of a config, with this progress callback. */
    Config copy_of(const Config &config)
    {
        Config copy(make<ppsched_config>(ppsched_config_copy, config.get()));
        call(ppsched_config_set_progress, copy.get(), tell, this);
        return copy;
    }
};

/* Runs an object. Sets its progress callback only for this call. If `progress` throws, throws the same exception. */
template <typename Object, typename SetProgress, typename Run>
void run_told(Object *object, SetProgress set_progress, Run run, const Progress &progress)
{
    Raised raised;
    Teller teller{progress, &raised};
    ppsched_error record;
    if (progress)
        call(set_progress, object, Teller::tell, &teller);
    const ppsched_status status = run(object, &record);
    set_progress(object, nullptr, nullptr, nullptr);
    raised.rethrow();
    check(status, record);
}

} // namespace detail

} // namespace ppsched

#endif
