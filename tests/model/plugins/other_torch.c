/* SPDX-License-Identifier: Apache-2.0
   A plug-in as a long gone LibTorch would have made it: only the first two fields may be read. */
struct Plugin {
    int interface;
    char const* torch;
};
static struct Plugin const plugin = {1, "1.13.1"};
struct Plugin const* hopscotch_plugin(void);
struct Plugin const* hopscotch_plugin(void) { return &plugin; }
