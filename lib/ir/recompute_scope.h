/* SPDX-License-Identifier: Apache-2.0 */
/* The layers that a runtime recomputes if it is configured by a word, a number or names rather than layer by layer. */
#ifndef PPSCHED_IR_RECOMPUTE_SCOPE_H
#define PPSCHED_IR_RECOMPUTE_SCOPE_H

#include "ir/layers.h"

enum ppi_reach {
    PPI_REACH_DECODERS, /* all but embedding, head and MTP layers, by any name */
    PPI_REACH_MIDDLE,   /* all but embedding and head */
    PPI_REACH_NAMES     /* all layers of a name, if all of them have the kind */
};

/* In place of a kind's number: the runtime would recompute the layer, but it has no such kind. */
enum { PPI_NO_SUCH_KIND = 255 };

/* Whether it is an MTP layer. */
bool ppi_is_mtp(const ppsched_layer *layer);

/* The number of a layer's kind of recomputation called `name`, or 0. */
uint8_t ppi_kind_named(const ppsched_layer *layer, const char *name);

/* The number of the kind of an entry's layers if the runtime recomputes them; 0 if it does not; or PPI_NO_SUCH_KIND. */
uint8_t ppi_reached_kind(const ppsched_layers *layers, uint32_t entry, enum ppi_reach reach, const char *kind);

/* Whether all layers that the runtime recomputes have the kind, and there are any. */
bool ppi_reach_is_whole(const ppsched_layers *layers, enum ppi_reach reach, const char *kind);

#endif
