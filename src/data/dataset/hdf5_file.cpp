// SPDX-License-Identifier: Apache-2.0
#include "data/dataset/hdf5_file.hpp"

#include <fmt/format.h>
#include <hdf5.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "core/error.hpp"
#include "core/file.hpp"

namespace hopscotch {
namespace {

static_assert(sizeof(hid_t) == sizeof(std::int64_t));

std::recursive_mutex& hdf5_mutex() {
    static std::recursive_mutex one;
    return one;
}

herr_t keep_first(unsigned depth, H5E_error2_t const* error, void* out) {
    if (depth == 0 && error->desc != nullptr) *static_cast<std::string*>(out) = error->desc;
    return 0;
}

// The reason that HDF5 gives, at the bottom of its stack.
std::string reason() {
    std::string text;
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first, &text);
    return text.empty() ? "no reason given by HDF5" : text;
}

constexpr std::string_view k_read_hint = "check the disk, then import the dataset again";
constexpr std::string_view k_write_hint = "check free space and permissions";

hid_t native_type(ElementType type) {
    switch (type) {
        case ElementType::uint8: return H5T_NATIVE_UINT8;
        case ElementType::float32: return H5T_NATIVE_FLOAT;
        case ElementType::int64: return H5T_NATIVE_INT64;
        case ElementType::other: break;
    }
    throw Error("an HDF5 dataset of this element type cannot be read or written");
}

ElementType element_type(hid_t type) {
    auto const size = H5Tget_size(type);
    auto const kind = H5Tget_class(type);
    if (kind == H5T_FLOAT && size == 4) return ElementType::float32;
    if (kind == H5T_INTEGER && size == 1 && H5Tget_sign(type) == H5T_SGN_NONE) return ElementType::uint8;
    if (kind == H5T_INTEGER && size == 8 && H5Tget_sign(type) == H5T_SGN_2) return ElementType::int64;
    return ElementType::other;
}

// A link may lead out of the file, and with it out of the dataset directory.
void refuse_link(std::filesystem::path const& path, Hdf5Id const& file, std::string const& name) {
    H5L_info_t info{};
    if (H5Lget_info(file.handle(), name.c_str(), &info, H5P_DEFAULT) < 0 || info.type == H5L_TYPE_HARD) return;
    throw DataError(
        fmt::format("{}: '{}' is a link to another place (hopscotch reads only this file); import the dataset again",
                    path.string(), name));
}

Hdf5Id open_dataset(std::filesystem::path const& path, Hdf5Id const& file, std::string const& name) {
    refuse_link(path, file, name);
    Hdf5Id dataset(H5Dopen2(file.handle(), name.c_str(), H5P_DEFAULT));
    if (!dataset) hdf5_failed(path, fmt::format("no dataset '{}'", name), "import the dataset again");
    return dataset;
}

struct Selection {  // rows [first, first + rows): where they lie in the file, and the same block in memory
    Hdf5Id in_file, in_memory;
};

Selection select_rows(std::filesystem::path const& path, Hdf5Id const& dataset, std::int64_t first, std::int64_t rows) {
    Selection out{Hdf5Id(H5Dget_space(dataset.handle())), {}};
    auto const rank = H5Sget_simple_extent_ndims(out.in_file.handle());
    std::vector<hsize_t> count(static_cast<std::size_t>(std::max(rank, 1)));
    H5Sget_simple_extent_dims(out.in_file.handle(), count.data(), nullptr);
    std::vector<hsize_t> start(count.size(), 0);
    start[0] = static_cast<hsize_t>(first);
    count[0] = static_cast<hsize_t>(rows);
    if (H5Sselect_hyperslab(out.in_file.handle(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr) < 0)
        hdf5_failed(path, fmt::format("rows {} to {} cannot be selected", first, first + rows), k_read_hint);
    out.in_memory = Hdf5Id(H5Screate_simple(rank, count.data(), nullptr));
    return out;
}

ElementType stored_type(Hdf5Id const& dataset) {
    Hdf5Id const type(H5Dget_type(dataset.handle()));
    return element_type(type.handle());
}

void require_bytes(Selection const& selection, ElementType type, std::size_t bytes) {
    auto const elements = H5Sget_select_npoints(selection.in_file.handle());
    require(elements >= 0 && static_cast<std::size_t>(elements) * element_bytes(type) == bytes,
            "the buffer does not have the size of the rows");
}

}  // namespace

// The automatic error print-out is a setting per thread in thread-safe builds, so it is switched off each time.
Hdf5Lock::Hdf5Lock() : lock_(hdf5_mutex()) { H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); }

void hdf5_failed(std::filesystem::path const& path, std::string_view what, std::string_view suggestion) {
    throw DataError(fmt::format("{}: {} ({}); {}", path.string(), what, reason(), suggestion));
}

Hdf5Id hdf5_reading() {
    Hdf5Id properties(H5Pcreate(H5P_FILE_ACCESS));
#if H5_VERSION_GE(1, 10, 7)
    // Shards are never written while they are read, and locks fail on many parallel file systems.
    H5Pset_file_locking(properties.handle(), false, true);
#endif
    return properties;
}

std::size_t element_bytes(ElementType type) {
    constexpr std::size_t bytes[] = {1, 4, 8, 0};
    return bytes[static_cast<std::size_t>(type)];
}

std::string_view element_name(ElementType type) {
    constexpr std::string_view names[] = {"uint8", "float32", "int64", "another type"};
    return names[static_cast<std::size_t>(type)];
}

void Hdf5Close::operator()(std::int64_t id) noexcept {
    Hdf5Lock const lock;
    H5Idec_ref(id);  // closes any kind of object
}

Hdf5File Hdf5File::open(std::filesystem::path const& path) {
    std::error_code refused;  // also for a name that is too long
    if (!std::filesystem::exists(path, refused))
        throw DataError(
            fmt::format("{}: no such file (named in dataset.json); restore it or import the dataset again", path.string()));
    require_file(path);  // HDF5 would wait for the writer of a pipe
    Hdf5Lock const lock;
    auto const properties = hdf5_reading();
    Hdf5Id file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, properties.handle()));
    if (!file) hdf5_failed(path, "cannot be read as HDF5", "restore it or import the dataset again");
    return {path, std::move(file)};
}

Hdf5File Hdf5File::create(std::filesystem::path const& path) {
    Hdf5Lock const lock;
    Hdf5Id file(H5Fcreate(path.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT));
    if (!file) hdf5_failed(path, "cannot be created", k_write_hint);
    return {path, std::move(file)};
}

bool Hdf5File::has(std::string const& name) const {
    Hdf5Lock const lock;
    return H5Lexists(file_.handle(), name.c_str(), H5P_DEFAULT) > 0;
}

Hdf5Layout Hdf5File::layout(std::string const& name) const {
    Hdf5Lock const lock;
    auto const dataset = open_dataset(path_, file_, name);
    Hdf5Id const space(H5Dget_space(dataset.handle()));
    std::vector<hsize_t> dims(static_cast<std::size_t>(std::max(H5Sget_simple_extent_ndims(space.handle()), 0)));
    if (!dims.empty()) H5Sget_simple_extent_dims(space.handle(), dims.data(), nullptr);
    return {stored_type(dataset), {dims.begin(), dims.end()}};
}

void Hdf5File::check_stored(std::string const& name) const {
    constexpr double most_packed = 1100;  // deflate's best is 1032 to 1; a reader takes memory for the size in the file
    Hdf5Lock const lock;
    auto const dataset = open_dataset(path_, file_, name);
    Hdf5Id const properties(H5Dget_create_plist(dataset.handle()));
    if (H5Pget_layout(properties.handle()) == H5D_VIRTUAL || H5Pget_external_count(properties.handle()) > 0)
        throw DataError(fmt::format(
            "{}: the rows of '{}' are kept in another file (hopscotch reads only this one); import the dataset again",
            path_.string(), name));
    auto const [type, dims] = layout(name);
    auto const bytes =
        std::accumulate(dims.begin(), dims.end(), static_cast<double>(element_bytes(type)), std::multiplies<>());
    std::error_code ignored;
    auto const in_file =
        std::min<std::uintmax_t>(H5Dget_storage_size(dataset.handle()), std::filesystem::file_size(path_, ignored));
    if (bytes <= static_cast<double>(in_file) * (H5Pget_nfilters(properties.handle()) > 0 ? most_packed : 1)) return;
    throw DataError(
        fmt::format("{}: '{}' is not whole ({} bytes for rows of {:.0f}); restore it or import the dataset again",
                    path_.string(), name, in_file, bytes));
}

std::optional<std::int64_t> Hdf5File::offset_of_rows(std::string const& name) const {
    Hdf5Lock const lock;
    auto const dataset = open_dataset(path_, file_, name);
    Hdf5Id const type(H5Dget_type(dataset.handle()));
    auto const known = element_type(type.handle());
    if (known == ElementType::other || H5Tequal(type.handle(), native_type(known)) <= 0) return {};
    auto const offset = H5Dget_offset(dataset.handle());
    if (offset == HADDR_UNDEF) return {};  // chunked, compressed, or in another file
    return static_cast<std::int64_t>(offset);
}

void Hdf5File::create_dataset(std::string const& name, Hdf5Layout const& layout) const {
    Hdf5Lock const lock;
    std::vector<hsize_t> const dims(layout.dims.begin(), layout.dims.end());
    Hdf5Id const space(H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr));
    Hdf5Id const properties(H5Pcreate(H5P_DATASET_CREATE));
    H5Pset_layout(properties.handle(), H5D_CONTIGUOUS);
    H5Pset_fill_time(properties.handle(), H5D_FILL_TIME_NEVER);  // every row is written anyway
    H5Pset_obj_track_times(properties.handle(), false);          // the same rows make the same bytes
    Hdf5Id const dataset(H5Dcreate2(file_.handle(), name.c_str(), native_type(layout.type), space.handle(), H5P_DEFAULT,
                                    properties.handle(), H5P_DEFAULT));
    if (!dataset) hdf5_failed(path_, fmt::format("dataset '{}' cannot be created", name), k_write_hint);
}

void Hdf5File::read_rows(std::string const& name, std::int64_t first, std::int64_t rows, MutableBytes out) const {
    if (rows == 0) return;
    Hdf5Lock const lock;
    auto const dataset = open_dataset(path_, file_, name);
    auto const selection = select_rows(path_, dataset, first, rows);
    auto const type = stored_type(dataset);
    require_bytes(selection, type, out.size());
    if (H5Dread(dataset.handle(), native_type(type), selection.in_memory.handle(), selection.in_file.handle(), H5P_DEFAULT,
                out.data()) < 0)
        hdf5_failed(path_, fmt::format("rows {} to {} of '{}' cannot be read", first, first + rows, name), k_read_hint);
}

void Hdf5File::write_rows(std::string const& name, std::int64_t first, std::int64_t rows, ByteView data) const {
    if (rows == 0) return;
    Hdf5Lock const lock;
    auto const dataset = open_dataset(path_, file_, name);
    auto const selection = select_rows(path_, dataset, first, rows);
    auto const type = stored_type(dataset);
    require_bytes(selection, type, data.size());
    if (H5Dwrite(dataset.handle(), native_type(type), selection.in_memory.handle(), selection.in_file.handle(), H5P_DEFAULT,
                 data.data()) < 0)
        hdf5_failed(path_, fmt::format("rows {} to {} of '{}' cannot be written", first, first + rows, name), k_write_hint);
}

void Hdf5File::close() {
    Hdf5Lock const lock;
    if (file_ && H5Fflush(file_.handle(), H5F_SCOPE_LOCAL) < 0) hdf5_failed(path_, "cannot be written", k_write_hint);
    file_.reset();
}

}  // namespace hopscotch
