/* SPDX-License-Identifier: Apache-2.0 */
/* How calls report errors: a status whose values are fixed, and an optional record of details. */
#ifndef PPSCHED_STATUS_H
#define PPSCHED_STATUS_H

#include <stdint.h>

#include <ppsched/export_macro.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Result of every call that can fail. A value never changes its meaning and is never reused. */
typedef int32_t ppsched_status;

/* Values of ppsched_status. The names of these enumerators do not begin with the name of their
 * enum, because callers write these names most often. The names of all other enumerators do. */
enum ppsched_status_value {
    PPSCHED_OK = 0,
    PPSCHED_ERROR_ARGUMENT = 1,         /* a null pointer, or an unknown value */
    PPSCHED_ERROR_NO_MEMORY = 2,        /* the allocator returned null */
    PPSCHED_ERROR_RANGE = 3,            /* a number that is NaN, infinite, negative or out of its
                                           bounds; or the number of something that does not exist,
                                           such as a device */
    PPSCHED_ERROR_LENGTH = 4,           /* a list with a wrong number of values */
    PPSCHED_ERROR_STRUCT_SIZE = 5,      /* `size` of a struct is not set or not accepted; or the
                                           caller's struct is longer than the library's, and the
                                           additional bytes are not zero (ppsched.h: sized
                                           structs) */
    PPSCHED_ERROR_UNKNOWN_STRATEGY = 6, /* no strategy has this name */
    PPSCHED_ERROR_UNKNOWN_OPTION = 7,   /* the strategy has no such option */
    PPSCHED_ERROR_REFUSED = 8,          /* a strategy or a placement does not support the problem;
                                           or a lowering, format or runtime does not support the
                                           schedule or layout */
    PPSCHED_ERROR_INVALID_SCHEDULE = 9, /* a schedule is incomplete, has an op twice or on the wrong
                                           device, or cannot be executed */
    PPSCHED_ERROR_MISMATCH = 10,        /* two arguments do not belong together: for instance, a
                                           schedule and a config have different numbers of devices
                                           or stages */
    PPSCHED_ERROR_BUFFER = 11,    /* the caller's buffer is too small; `*needed` has the least size
                                     that is enough */
    PPSCHED_ERROR_WRITER = 12,    /* the caller's writer callback (export.h) asked to stop */
    PPSCHED_ERROR_CALLBACK = 13,  /* the caller's generator callback (schedule.h) failed */
    PPSCHED_ERROR_INTERNAL = 14,  /* a defect of the library */
    PPSCHED_ERROR_CANCELLED = 15, /* the caller's progress callback asked to stop */
    PPSCHED_ERROR_SYNTAX = 16     /* a text that does not follow its format */
};

/* Where a call or member gives the number of something, such as a device, this value means that
 * there is no such thing. */
#define PPSCHED_NONE 4294967295u

/* Details of a failed call. The caller owns the record, or passes NULL in its place. A call that
 * succeeds does not change the record. 512 bytes, no padding. */
typedef struct ppsched_error {
    ppsched_status status;
    uint32_t device;      /* the device that the error is about; PPSCHED_NONE if there is none */
    uint32_t stage;       /* the stage that the error is about; PPSCHED_NONE if there is none */
    uint32_t microbatch;  /* the microbatch that the error is about; PPSCHED_NONE if there is
                             none */
    uint32_t position;    /* index in a device's queue or in a list; PPSCHED_NONE if there is
                             none */
    uint32_t reserved[3]; /* 0 */
    char message[480];    /* one line of UTF-8: what is wrong, where, and what is accepted */
} ppsched_error;

/* The status's name, such as "PPSCHED_ERROR_RANGE"; "unknown status" for an unknown value. The text
 * has static storage. */
PPSCHED_API const char *ppsched_status_name(ppsched_status status);

/* A short text for the status; "unknown status" for an unknown value. The text has static
 * storage. */
PPSCHED_API const char *ppsched_status_text(ppsched_status status);

#ifdef __cplusplus
}
#endif
#endif
