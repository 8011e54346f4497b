/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of memory of which the last may not be touched: whoever reads or writes there is stopped. */
#ifndef PPSCHED_TESTS_PAGES_H
#define PPSCHED_TESTS_PAGES_H

#include <stddef.h>

size_t page_size(void);
void *take_pages(size_t size); /* bytes, a multiple of page_size(); NULL where there are none */
void give_back_pages(void *pages, size_t size);

#endif
