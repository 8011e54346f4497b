/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the JSON object that the library writes. */
#ifndef PPSCHED_FORMAT_JSON_READER_H
#define PPSCHED_FORMAT_JSON_READER_H

#include "json/scan.h"
#include "format/reading.h"

struct ppi_json_reader {
    struct ppi_reading *reading;
    struct ppi_json json;
    int64_t devices; /* as the text says */
};

ppsched_status ppi_read_json(struct ppi_reading *reading, const char *data, size_t size);

/* The value of "queues"; `user` is the struct ppi_json_reader. */
ppsched_status ppi_read_queues(void *user);

/* An integer within bounds. */
ppsched_status ppi_read_count(struct ppi_json_reader *r, int64_t least, int64_t largest, int64_t *value);

#endif
