/* SPDX-License-Identifier: Apache-2.0 */
/* A buffer in front of the caller's write function; after that has failed once nothing more is sent. */
#include "base/writer.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/number.h"

void ppi_writer_start(struct ppi_writer *writer, ppsched_write_function write, void *user)
{
    writer->write = write;
    writer->user = user;
    writer->stopped = false;
    writer->out_of_memory = NULL;
    writer->filled = 0;
}

static void send(struct ppi_writer *writer, const char *text, size_t size)
{
    if (!writer->stopped && size > 0)
        writer->stopped = writer->write(writer->user, text, size) != 0;
}

static void flush(struct ppi_writer *writer)
{
    send(writer, writer->buffer, writer->filled);
    writer->filled = 0;
}

ppsched_status ppi_writer_finish(struct ppi_writer *writer, ppsched_error *error)
{
    flush(writer);
    if (writer->out_of_memory != NULL)
        return ppi_fail_memory(error, writer->out_of_memory);
    if (writer->stopped)
        return ppi_fail(error, PPSCHED_ERROR_WRITER, "the writer stopped the export");
    return PPSCHED_OK;
}

void ppi_write(struct ppi_writer *writer, const char *text, size_t size)
{
    if (size > PPI_WRITER_SIZE - writer->filled)
        flush(writer);
    if (size > PPI_WRITER_SIZE) {
        send(writer, text, size);
        return;
    }
    memcpy(writer->buffer + writer->filled, text, size);
    writer->filled += size;
}

void ppi_write_text(struct ppi_writer *writer, const char *text)
{
    ppi_write(writer, text, strlen(text));
}

void ppi_write_repeated(struct ppi_writer *writer, char c, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ppi_write(writer, &c, 1);
}

void ppi_write_integer(struct ppi_writer *writer, int64_t value)
{
    char text[PPI_INTEGER_SIZE];
    ppi_write(writer, text, ppi_integer_to_text(text, value));
}

void ppi_write_number(struct ppi_writer *writer, double value)
{
    char text[PPI_NUMBER_SIZE];
    ppi_write(writer, text, ppi_number_to_text(text, value));
}

void ppi_write_json_characters(struct ppi_writer *writer, const char *text)
{
    static const char hex[] = "0123456789abcdef";
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        char escaped[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
        if (c == '"' || c == '\\') {
            escaped[1] = (char)c;
            ppi_write(writer, escaped, 2);
        } else if (c < 0x20) {
            ppi_write(writer, escaped, sizeof escaped);
        } else {
            ppi_write(writer, text, 1);
        }
    }
}

void ppi_write_json_string(struct ppi_writer *writer, const char *text)
{
    ppi_write(writer, "\"", 1);
    ppi_write_json_characters(writer, text);
    ppi_write(writer, "\"", 1);
}

void ppi_write_json_number(struct ppi_writer *writer, double value)
{
    if (ppi_is_finite(value))
        ppi_write_number(writer, value);
    else
        ppi_write_text(writer, "null");
}

void ppi_write_field(struct ppi_writer *writer, const char *before, int64_t value)
{
    ppi_write_text(writer, before);
    ppi_write_integer(writer, value);
}

void ppi_write_figure(struct ppi_writer *writer, const char *before, double value)
{
    ppi_write_text(writer, before);
    ppi_write_json_number(writer, value);
}
