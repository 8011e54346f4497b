/* SPDX-License-Identifier: Apache-2.0 */
/* Levenshtein distance with one row of the table, after case and '-' are folded. */
#include "base/nearest.h"

#include <stdint.h>

enum { LONGEST = 64 }; /* characters of a name that are compared; bounds the row */

static char fold(char c)
{
    if (c >= 'A' && c <= 'Z')
        return (char)(c - 'A' + 'a');
    return c == '-' ? '_' : c;
}

bool ppi_same_name(const char *a, const char *b)
{
    while (*a != '\0' && fold(*a) == fold(*b))
        a++, b++;
    return *a == '\0' && *b == '\0';
}

struct ppi_nearest ppi_nearest_start(const char *wanted)
{
    return (struct ppi_nearest){wanted, NULL, SIZE_MAX};
}

static size_t smallest(size_t a, size_t b, size_t c)
{
    size_t least = a < b ? a : b;
    return least < c ? least : c;
}

/* Edits (insert, remove, replace) that turn one name into the other, each cut to LONGEST characters. */
static size_t distance_between(const char *a, const char *b)
{
    size_t row[LONGEST + 1], width = 0;
    while (width < LONGEST && b[width] != '\0')
        width++;
    for (size_t j = 0; j <= width; j++)
        row[j] = j;
    for (size_t i = 0; i < LONGEST && a[i] != '\0'; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < width; j++) {
            size_t replaced = diagonal + (fold(a[i]) != fold(b[j]));
            diagonal = row[j + 1];
            row[j + 1] = smallest(replaced, row[j] + 1, row[j + 1] + 1);
        }
    }
    return row[width];
}

void ppi_nearest_offer(struct ppi_nearest *search, const char *known, const char *answer)
{
    size_t distance = distance_between(search->wanted, known);
    if (distance >= search->distance)
        return;
    search->distance = distance;
    search->answer = answer;
}
