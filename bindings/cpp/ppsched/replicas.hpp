/* SPDX-License-Identifier: Apache-2.0 */
/* Replicas: pipelines of different speeds that share a global batch. */
#ifndef PPSCHED_REPLICAS_HPP
#define PPSCHED_REPLICAS_HPP

#include <memory>
#include <vector>

#include <ppsched/replicas.h>

#include <ppsched/config.hpp>
#include <ppsched/detail.hpp>
#include <ppsched/sized.hpp>

namespace ppsched {

using ReplicasOptions = Sized<ppsched_replicas_options>;
using ReplicasFigures = Sized<ppsched_replicas_figures>;
using Replica = Sized<ppsched_replica>;

/* The shares of replicas; see ppsched_replicas_create. Can be moved, not copied. */
class Replicas {
public:
    Replicas(const std::vector<const Config *> &configs, const ReplicasOptions &options)
    {
        ppsched_replicas *made = nullptr;
        const ppsched_replicas_options *given = &options;
        std::vector<const ppsched_config *> handles;
        for (const Config *config : configs)
            handles.push_back(config->get());
        detail::call(ppsched_replicas_create, &made, handles.data(), handles.size(), given);
        handle_.reset(made);
    }

    const ppsched_replicas *get() const noexcept { return handle_.get(); }

    ReplicasFigures figures() const { return detail::record_of<ReplicasFigures>(ppsched_replicas_get_figures, get()); }

    /* The share of a replica. Its pointers are borrowed from this object. */
    Replica replica(size_t number) const { return detail::record_of<Replica>(ppsched_replicas_get_replica, get(), number); }

private:
    std::unique_ptr<ppsched_replicas, detail::Destroy<ppsched_replicas_destroy>> handle_;
};

} // namespace ppsched

#endif
