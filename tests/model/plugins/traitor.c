/* SPDX-License-Identifier: Apache-2.0
   A shared object that leaves a file behind wherever it is loaded. */
#include <stdio.h>
__attribute__((constructor)) static void execute(void) {
    FILE *file = fopen("executed", "w");
    if (file != NULL) fclose(file);
}
