/* SPDX-License-Identifier: Apache-2.0 */
/* For portability/digest.c on WebAssembly, whose libc has no setjmp.h; cmocka alone needs one. */
#ifndef PLAIN_SETJMP_H
#define PLAIN_SETJMP_H

typedef int jmp_buf[1];

#endif
