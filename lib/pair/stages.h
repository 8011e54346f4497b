/* SPDX-License-Identifier: Apache-2.0 */
/* The windows of a config's stages: the times of ops and pairs that follow from them. */
#ifndef PPSCHED_PAIR_STAGES_H
#define PPSCHED_PAIR_STAGES_H

#include "ir/config.h"
#include "ir/windows.h"

/* Sets the times of ops and of overlapped pairs by the windows of one stage that stands for all, or of each stage. */
ppsched_status ppi_config_set_windows(ppsched_config *config, const ppsched_pair_windows *const *stages, size_t count,
                                      ppsched_error *error);

/* Gives `to` the windows of `from`, with times multiplied by `factor`. Where it has fewer stages, those of the old ones are
 * appended, and the times of its pairs are set. `from` has windows. */
ppsched_status ppi_windows_restage(ppsched_config *to, const ppsched_config *from, double factor, ppsched_error *error);

/* Whether all pairs of these stages have few enough windows; REFUSED where they do not. */
ppsched_status ppi_windows_check_pairs(const struct ppi_windows *windows, ppsched_error *error);

/* An order of the windows of each pair that is given. */
struct ppi_pair_order {
    bool (*is_same)(const void *user, uint32_t a, uint32_t b); /* whether stages with the same windows have the same order */
    void (*write)(const void *user, int32_t *kinds, uint32_t forward, uint32_t backward); /* whose window is next, in turn */
    const void *user;
};

/* What a pair takes, and from its start to the ends of its forward and of its backward. */
struct ppi_pair_ends {
    double time, forward_end, backward_end;
};

/* The best order of a forward of one stage with a backward of another, B or I by `kind`. */
ppsched_status ppi_windows_find_pair(struct ppi_pair_ends *out, const struct ppi_windows *windows, uint32_t forward,
                                     uint32_t backward, uint8_t kind, const struct ppi_host *host, ppsched_error *error);

/* Sets the times of pairs of a config by these windows, which get the ends of both ops. `order` NULL: the best of each pair. */
ppsched_status ppi_windows_put_pairs(ppsched_config *config, struct ppi_windows *windows, const struct ppi_pair_order *order,
                                     ppsched_error *error);

#endif
