/* SPDX-License-Identifier: Apache-2.0 */
/* Buffered text for the caller's write function. */
#ifndef PPSCHED_BASE_WRITER_H
#define PPSCHED_BASE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ppsched/export.h>

enum { PPI_WRITER_SIZE = 8192 };

struct ppi_writer {
    ppsched_write_function write;
    void *user;
    bool stopped;              /* the caller's function has stopped the output */
    const char *out_of_memory; /* what a format had no memory for, so that it wrote nothing; NULL: none */
    size_t filled;
    char buffer[PPI_WRITER_SIZE];
};

void ppi_writer_start(struct ppi_writer *writer, ppsched_write_function write, void *user);

/* Sends what is left. WRITER where the caller's function stopped the output, NO_MEMORY where the format had too little
 * memory. */
ppsched_status ppi_writer_finish(struct ppi_writer *writer, ppsched_error *error);

void ppi_write(struct ppi_writer *writer, const char *text, size_t size);
void ppi_write_text(struct ppi_writer *writer, const char *text);
void ppi_write_repeated(struct ppi_writer *writer, char c, size_t count);
void ppi_write_integer(struct ppi_writer *writer, int64_t value);
void ppi_write_number(struct ppi_writer *writer, double value);

/* A JSON string, quotes included, and the same without quotes. */
void ppi_write_json_string(struct ppi_writer *writer, const char *text);
void ppi_write_json_characters(struct ppi_writer *writer, const char *text);

/* A JSON number; null for values that JSON cannot express. */
void ppi_write_json_number(struct ppi_writer *writer, double value);

/* A text, usually the name of a field, then an integer, or a JSON number. */
void ppi_write_field(struct ppi_writer *writer, const char *before, int64_t value);
void ppi_write_figure(struct ppi_writer *writer, const char *before, double value);

#endif
