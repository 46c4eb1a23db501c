/* SPDX-License-Identifier: Apache-2.0
   A plug-in of a hopscotch to come: only the first two fields may be read. */
struct Plugin {
    int interface;
    char const* torch;
};
static struct Plugin const plugin = {99, "9.9.9"};
struct Plugin const* hopscotch_plugin(void);
struct Plugin const* hopscotch_plugin(void) { return &plugin; }
