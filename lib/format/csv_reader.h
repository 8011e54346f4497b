/* SPDX-License-Identifier: Apache-2.0 */
/* Reading PyTorch's CSV. */
#ifndef PPSCHED_FORMAT_CSV_READER_H
#define PPSCHED_FORMAT_CSV_READER_H

#include "format/reading.h"

ppsched_status ppi_read_csv(struct ppi_reading *reading, const char *data, size_t size);

#endif
