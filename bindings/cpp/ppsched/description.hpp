/* SPDX-License-Identifier: Apache-2.0 */
/* Description: the layers of a model and their blocks. */
#ifndef PPSCHED_DESCRIPTION_HPP
#define PPSCHED_DESCRIPTION_HPP

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ppsched/description.h>

#include <ppsched/detail.hpp>
#include <ppsched/sized.hpp>

namespace ppsched {

using Block = Sized<ppsched_block>;
using LayerKind = Sized<ppsched_layer_kind>;
using Tower = Sized<ppsched_tower>;
using DescriptionInfo = Sized<ppsched_description_info>;
using Transformer = Sized<ppsched_transformer>;

/* A description of a model. Immutable. Copies share it. */
class Description {
public:
    /* Reads JSON: the library's own form, or Hugging Face's config.json. The environment must outlive the description and all
     * its copies. */
    explicit Description(std::string_view text, const ppsched_environment *environment = nullptr)
        : Description(made<ppsched_description_read>(text.data(), text.size(), environment))
    {
    }

    /* Makes a first draft of a description from a config.json, even if the family is unknown. The call reads the fields that
     * have usual names. There is a warning for each field that is not understood; see ppsched_description_guess. */
    static Description guess(std::string_view text, const ppsched_environment *environment = nullptr)
    {
        return Description(made<ppsched_description_guess>(text.data(), text.size(), environment));
    }

    /* Pointers in the structs are read only during the call. */
    explicit Description(const DescriptionInfo &info, const ppsched_environment *environment = nullptr)
        : Description(made<ppsched_description_create>(static_cast<const ppsched_description_info *>(&info), environment))
    {
    }

    explicit Description(const Transformer &transformer, const ppsched_environment *environment = nullptr)
        : Description(
              made<ppsched_description_from_transformer>(static_cast<const ppsched_transformer *>(&transformer), environment))
    {
    }

    /* Takes ownership of one reference to a description of the C API. */
    explicit Description(const ppsched_description *taken) noexcept : handle_(taken) {}

    Description(const Description &other) noexcept : handle_(ppsched_description_retain(other.handle_)) {}
    Description(Description &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    ~Description() { ppsched_description_release(handle_); }

    Description &operator=(Description other) noexcept
    {
        std::swap(handle_, other.handle_);
        return *this;
    }

    const ppsched_description *get() const noexcept { return handle_; }

    /* The content of the description. Its pointers are borrowed from the description. */
    DescriptionInfo info() const & { return detail::record_of<DescriptionInfo>(ppsched_description_get_info, get()); }
    DescriptionInfo info() const && = delete;

    /* The warnings of the call that read the text, one line each: the fields that it ignored because they are unknown. After
     * `guess`, also the parts and sizes that it did not find. */
    std::vector<std::string> warnings() const
    {
        std::vector<std::string> lines;
        for (uint32_t i = 0; i < ppsched_description_warning_count(get()); i++)
            lines.emplace_back(ppsched_description_warning_at(get(), i));
        return lines;
    }

    /* The description as JSON, in the library's own form. */
    std::string json() const
    {
        std::string text;
        const auto write = [](void *user, const char *data, size_t size) noexcept -> int32_t {
            try {
                static_cast<std::string *>(user)->append(data, size);
            } catch (...) {
                return 1;
            }
            return 0;
        };
        ppsched_write_function function = write;
        void *user = &text;
        detail::call(ppsched_description_write, get(), function, user);
        return text;
    }

private:
    template <auto function, typename... Arguments>
    static const ppsched_description *made(Arguments... arguments)
    {
        const ppsched_description *description = nullptr;
        detail::call(function, &description, arguments...);
        return description;
    }

    const ppsched_description *handle_;
};

/* The families of Hugging Face's config.json that the library reads: values of model_type. */
inline std::vector<std::string> model_families()
{
    std::vector<std::string> names;
    for (uint32_t i = 0; i < ppsched_model_family_count(); i++)
        names.emplace_back(ppsched_model_family_at(i));
    return names;
}

} // namespace ppsched

#endif
