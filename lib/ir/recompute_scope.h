/* SPDX-License-Identifier: Apache-2.0 */
/* Which layers a runtime computes again that is told so by a word, a number or names, and not layer by layer. */
#ifndef PPSCHED_IR_RECOMPUTE_SCOPE_H
#define PPSCHED_IR_RECOMPUTE_SCOPE_H

#include "ir/layers.h"

enum ppi_reach {
    PPI_REACH_DECODERS, /* all but embedding, head and MTP layers, whatever they are called */
    PPI_REACH_MIDDLE,   /* all but embedding and head */
    PPI_REACH_NAMES     /* all layers of a name, where all of that name have the kind */
};

/* In the place of a kind's number: the runtime would compute the layer again, but it has no such kind. */
enum { PPI_NO_SUCH_KIND = 255 };

/* Whether it is one of the MTP layers. */
bool ppi_is_mtp(const ppsched_layer *layer);

/* The number of a layer's kind of recomputation with a name, or 0. */
uint8_t ppi_kind_named(const ppsched_layer *layer, const char *name);

/* The number of the kind that an entry's layers have where the runtime reaches them; 0 where it does not; or
 * PPI_NO_SUCH_KIND. */
uint8_t ppi_reached_kind(const ppsched_layers *layers, uint32_t entry, enum ppi_reach reach, const char *kind);

/* Whether all layers that the runtime reaches have the kind, and there are such. */
bool ppi_reach_is_whole(const ppsched_layers *layers, enum ppi_reach reach, const char *kind);

#endif
