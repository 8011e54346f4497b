/* SPDX-License-Identifier: Apache-2.0 */
/* Export formats. Each writes a schedule with its timeline, which may be NULL where the format allows it; some are read
 * too. */
#ifndef PPSCHED_FORMAT_FORMATS_H
#define PPSCHED_FORMAT_FORMATS_H

#include <stdbool.h>

#include "eval/timeline.h"
#include "format/reading.h"
#include "base/writer.h"

struct ppi_format {
    const char *name; /* that of its enumerator */
    bool needs_timeline;
    bool tells_graphs; /* writes stage graphs; others refuse schedules with one */
    bool tells_slices; /* writes slices of microbatches; others refuse schedules with slices */
    /* OK, or REFUSED where the format cannot hold the schedule. May be NULL. */
    ppsched_status (*fits)(const ppsched_schedule *schedule, ppsched_error *error);
    void (*write)(struct ppi_writer *writer, const ppsched_schedule *schedule, const ppsched_timeline *timeline,
                  const ppsched_export_options *options);
    /* Reads a text of the format. NULL where it is only written. */
    ppsched_status (*read)(struct ppi_reading *reading, const char *data, size_t size);
};

#define PPI_FORMAT(number, name, file) extern const struct ppi_format ppi_##name##_format;
#include "format/list.h"
#undef PPI_FORMAT

/* Finds a format by number. ARGUMENT where there is none. */
ppsched_status ppi_format_find(const struct ppi_format **out, int32_t format, ppsched_error *error);

/* Start and end of each op of a queue. */
static inline const ppsched_span *ppi_spans_of(const ppsched_timeline *timeline, const ppsched_queue *queue)
{
    return timeline->spans + queue->first;
}

#endif
