// SPDX-License-Identifier: Apache-2.0
// Importers of sources that hold arrays: NumPy's npy and npz, HDF5 files of other programs, MNIST's idx, the binary batches
// of CIFAR, and token sequences. Each throws ConfigError for options, DataError that names file and row or key. After an
// exception nothing remains on disk.
#pragma once
#include "data/import/import_options.hpp"

namespace hopscotch {

enum class Channels { automatic, first, last };  // automatic: a row of rank 3 whose last size is 1, 3 or 4 and first is not

struct ImportArraysOptions : ImportOptions {
    // npy: sources are features.npy and labels.npy, or one .npz with the arrays named below.
    // h5: sources are one or several files with the datasets named below.
    std::string features, labels;  // names in an npz or h5; empty: found by name (features, x, images, data; labels, y, ...)
    Task task = Task::classification;
    Channels channels = Channels::automatic;
    std::int64_t vocabulary = 0;  // n: features are token ids below n, to be looked up in an embedding; 0: numbers
    std::string shape;            // of a row instead of the stored one, "1x8x8"
};
ImportReport import_npy_files(ImportArraysOptions const& options);
ImportReport import_h5_files(ImportArraysOptions const& options);

// MNIST's files, .gz too: images and labels in turn (train-images train-labels [t10k-images t10k-labels]: the second pair is
// the test split), or one directory that has them under their usual names.
ImportReport import_idx_files(ImportOptions const& options);

// data_batch_1.bin ... (CIFAR-10) or train.bin (CIFAR-100, fine labels), test_batch.bin or test.bin: files, or a directory.
ImportReport import_cifar_files(ImportOptions const& options);

struct ImportTokensOptions : ImportOptions {
    // sources: npy files with one row of integers each, or any other file, whose bytes are the tokens
    std::int64_t context = 128;   // tokens of a row
    std::int64_t vocabulary = 0;  // 0: 256 for bytes, else the largest token + 1
};
ImportReport import_token_files(ImportTokensOptions const& options);

}  // namespace hopscotch
