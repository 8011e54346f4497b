/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzz target without a fuzzer: each file of the directory that is given. */
#include "fuzz/harness.h"

#include <dirent.h>

/* Runs one file; the memory is as large as the file, so that a sanitizer sees the first byte too far. */
static int run_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0)
        return 0;
    long size = ftell(file);
    rewind(file);
    uint8_t *data = size >= 0 ? malloc(size > 0 ? (size_t)size : 1) : NULL;
    int good = data != NULL && fread(data, 1, (size_t)size, file) == (size_t)size;
    fclose(file);
    if (good)
        LLVMFuzzerTestOneInput(data, (size_t)size);
    free(data);
    return good;
}

int main(int argc, char **argv)
{
    int files = 0;
    DIR *directory = argc == 2 ? opendir(argv[1]) : NULL;
    if (directory == NULL) {
        fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
        return 2;
    }
    for (struct dirent *entry = readdir(directory); entry != NULL; entry = readdir(directory)) {
        char path[4096];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", argv[1], entry->d_name);
        if (!run_file(path)) {
            fprintf(stderr, "cannot read %s\n", path);
            return 1;
        }
        files++;
    }
    closedir(directory);
    printf("%d files\n", files);
    return files == 0;
}
