// SPDX-License-Identifier: Apache-2.0
#include "data/import/array/hdf5_array.hpp"

#include <fmt/format.h>
#include <hdf5.h>

#include <algorithm>
#include <bit>

#include "core/error.hpp"
#include "data/import/foreign_names.hpp"

namespace hopscotch {
namespace {

constexpr std::string_view k_hint = "check the file and the disk";
constexpr int k_deepest_group = 16;
constexpr std::size_t k_most_datasets = 100'000;
constexpr std::int64_t k_most_piece_bytes = 1 << 30;

Hdf5Id open_file(std::filesystem::path const& path) {
    if (!std::filesystem::exists(path)) throw DataError(path.string() + ": no such file; check the path");
    Hdf5Lock const lock;
    auto const properties = hdf5_reading();
    Hdf5Id file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, properties.handle()));
    if (!file) hdf5_failed(path, "cannot be read as HDF5", k_hint);
    return file;
}

struct Walk {
    std::string prefix;
    std::vector<std::string>& found;
    int depth = 0;
};

// Links are followed to datasets; groups are entered by hard links only, so that soft links make no endless path.
herr_t visit_link(hid_t group, char const* name, H5L_info_t const* link, void* state) {
    auto& walk = *static_cast<Walk*>(state);
    Hdf5Id const object(H5Oopen(group, name, H5P_DEFAULT));
    if (walk.found.size() == k_most_datasets) return 0;
    if (!object) {  // a soft link that leads nowhere; or an object of a newer HDF5: opening it reports the error
        if (link->type == H5L_TYPE_HARD) walk.found.push_back(walk.prefix + name);
        return 0;
    }
    auto const kind = H5Iget_type(object.handle());
    if (kind == H5I_DATASET) walk.found.push_back(walk.prefix + name);
    if (kind != H5I_GROUP || link->type != H5L_TYPE_HARD || walk.depth == k_deepest_group) return 0;
    Walk inner{walk.prefix + name + "/", walk.found, walk.depth + 1};
    return H5Literate(object.handle(), H5_INDEX_NAME, H5_ITER_INC, nullptr, visit_link, &inner);
}

std::string_view package_of(H5Z_filter_t filter) {
    switch (filter) {
        case H5Z_FILTER_SZIP: return "an HDF5 library built with libaec";
        case 307:
        case 32004:
        case 32008: return "the Debian package hdf5-filter-plugin";
        case 32000: return "the Debian package hdf5-plugin-lzf";
        case 32001: return "the Debian package hdf5-filter-plugin-blosc-serial";
        case 32013: return "the Debian package hdf5-filter-plugin-zfp-serial";
        default: return "its plug-in (HDF5_PLUGIN_PATH names the folder)";
    }
}

std::string_view class_name(H5T_class_t kind) {
    switch (kind) {
        case H5T_COMPOUND: return "structures";
        case H5T_REFERENCE: return "references";
        case H5T_VLEN: return "lists of different lengths";
        case H5T_ARRAY: return "arrays as elements";
        case H5T_OPAQUE:
        case H5T_BITFIELD: return "opaque bytes";
        default: return "elements of an unknown class";
    }
}

hid_t native_type(NumberType type) {
    return visit_type(type, [](auto element) -> hid_t {
        using T = decltype(element);
        if constexpr (std::is_same_v<T, double>) return H5T_NATIVE_DOUBLE;
        if constexpr (std::is_same_v<T, std::int8_t>) return H5T_NATIVE_INT8;
        if constexpr (std::is_same_v<T, std::uint8_t>) return H5T_NATIVE_UINT8;
        if constexpr (std::is_same_v<T, std::int16_t>) return H5T_NATIVE_INT16;
        if constexpr (std::is_same_v<T, std::uint16_t>) return H5T_NATIVE_UINT16;
        if constexpr (std::is_same_v<T, std::int32_t>) return H5T_NATIVE_INT32;
        if constexpr (std::is_same_v<T, std::uint32_t>) return H5T_NATIVE_UINT32;
        if constexpr (std::is_same_v<T, std::int64_t>) return H5T_NATIVE_INT64;
        if constexpr (std::is_same_v<T, std::uint64_t>) return H5T_NATIVE_UINT64;
        return H5T_NATIVE_FLOAT;
    });
}

// IEEE 754 binary16, as h5py writes float16.
Hdf5Id half_type() {
    Hdf5Id out(H5Tcopy(H5T_NATIVE_FLOAT));
    H5Tset_fields(out.handle(), 15, 10, 5, 0, 10);
    H5Tset_size(out.handle(), sizeof(Half));
    H5Tset_ebias(out.handle(), 15);
    return out;
}

bool is_half(Hdf5Id const& file_type) {
    if (H5Tget_size(file_type.handle()) != sizeof(Half)) return false;
    Hdf5Id const here(H5Tcopy(file_type.handle()));  // in this machine's byte order
    H5Tset_order(here.handle(), H5Tget_order(H5T_NATIVE_FLOAT));
    return H5Tequal(here.handle(), half_type().handle()) > 0;
}

// Without its padding. A NUL within a padded text stays: two texts could be equal without it.
std::string text_of(char const* text, std::size_t longest, H5T_str_t padding) {
    if (padding == H5T_STR_NULLTERM) return {text, std::find(text, text + longest, '\0')};
    std::string out(text, longest);
    out.resize(out.find_last_not_of('\0') + 1);
    if (padding == H5T_STR_SPACEPAD) out.resize(out.find_last_not_of(' ') + 1);
    return out;
}

}  // namespace

std::vector<std::string> hdf5_datasets(std::filesystem::path const& path) {
    auto const file = open_file(path);
    Hdf5Lock const lock;
    std::vector<std::string> out;
    Walk walk{"", out};
    if (H5Literate(file.handle(), H5_INDEX_NAME, H5_ITER_INC, nullptr, visit_link, &walk) < 0)
        hdf5_failed(path, "its datasets cannot be listed", k_hint);
    std::sort(out.begin(), out.end());
    for (auto const& name : out)
        require_utf8(name, path.string(), "the name of a dataset,", "rename it, for example with h5py: file.move(old, new)");
    return out;
}

Hdf5Array::Hdf5Array(std::filesystem::path path, std::string dataset)
    : path_(std::move(path)),
      dataset_name_(std::move(dataset)),
      name_(path_.string() + ":" + dataset_name_),
      file_(open_file(path_)) {
    Hdf5Lock const lock;
    dataset_ = Hdf5Id(H5Dopen2(file_.handle(), dataset_name_.c_str(), H5P_DEFAULT));
    if (!dataset_)
        hdf5_failed(path_, fmt::format("the dataset '{}' cannot be opened", dataset_name_),
                    "if a newer HDF5 wrote it, write it again with libver='earliest'");
    read_type();
    read_shape();
    check_storage();
}

void Hdf5Array::read_type() {
    file_type_ = Hdf5Id(H5Dget_type(dataset_.handle()));
    auto const type = file_type_.handle();
    auto const kind = H5Tget_class(type);
    auto const bytes = H5Tget_size(type);
    if (kind == H5T_STRING) {
        type_ = {NumberKind::text, 0};
    } else if (kind == H5T_FLOAT) {
        type_ = {NumberKind::real, is_half(file_type_) ? 2U : bytes <= 4 ? 4U : 8U};
    } else if ((kind == H5T_INTEGER || kind == H5T_ENUM) && bytes <= 8) {  // h5py writes bool as an enumeration
        Hdf5Id const integer(kind == H5T_ENUM ? H5Tget_super(type) : H5Tcopy(type));
        type_ = {H5Tget_sign(integer.handle()) == H5T_SGN_NONE ? NumberKind::unsigned_integer : NumberKind::integer,
                 std::bit_ceil(bytes)};
    } else {
        throw DataError(fmt::format("{}: holds {}; numbers are needed", name_, class_name(kind)));
    }
}

void Hdf5Array::read_shape() {
    Hdf5Id const space(H5Dget_space(dataset_.handle()));
    std::vector<hsize_t> dims(static_cast<std::size_t>(std::max(H5Sget_simple_extent_ndims(space.handle()), 0)));
    if (dims.empty())
        throw DataError(fmt::format("{}: a single value, or none; an array with a row for each example is needed", name_));
    H5Sget_simple_extent_dims(space.handle(), dims.data(), nullptr);
    std::uint64_t bytes = std::max<std::size_t>(type_.bytes, 1);
    for (auto const n : dims) {
        if (n == 0) throw DataError(fmt::format("{}: the array is empty (a size of its shape is 0)", name_));
        if (__builtin_mul_overflow(bytes, n, &bytes) || bytes > INT64_MAX)
            throw DataError(fmt::format("{}: more than 2^63 bytes; is the file damaged?", name_));
    }
    shape_.assign(dims.begin(), dims.end());
}

void Hdf5Array::check_storage() {
    Hdf5Id const properties(H5Dget_create_plist(dataset_.handle()));
    auto const layout = H5Pget_layout(properties.handle());
    check_filters(properties);
    if (layout == H5D_CHUNKED) {
        std::vector<hsize_t> chunk(shape_.size());
        H5Pget_chunk(properties.handle(), static_cast<int>(chunk.size()), chunk.data());
        chunk_rows_ = static_cast<std::int64_t>(std::min(chunk[0], static_cast<hsize_t>(shape_[0])));
    }
    if (layout != H5D_VIRTUAL) return;
    // HDF5 reads fill values where a source of a virtual dataset is not there.
    std::size_t sources = 0;
    H5Pget_virtual_count(properties.handle(), &sources);
    for (std::size_t i = 0; i < sources; ++i) {
        char source[4096] = {};
        H5Pget_virtual_filename(properties.handle(), i, source, sizeof source);
        std::filesystem::path const file = source;
        if (file == "." || file.string().find('%') != std::string::npos) continue;
        if (!std::filesystem::exists(path_.parent_path() / file) && !std::filesystem::exists(file))
            throw DataError(
                fmt::format("{}: its source {} is missing (a virtual dataset); copy that file too", name_, source));
    }
}

void Hdf5Array::check_filters(Hdf5Id const& properties) const {
    auto const count = H5Pget_nfilters(properties.handle());
    for (int i = 0; i < count; ++i) {
        unsigned flags = 0, settings = 0;
        std::size_t values = 0;
        char label[256] = {};
        auto const id = H5Pget_filter2(properties.handle(), static_cast<unsigned>(i), &flags, &values, nullptr, sizeof label,
                                       label, &settings);
        if (id < 0 || H5Zfilter_avail(id) > 0) continue;
        throw DataError(
            fmt::format("{}: packed with HDF5 filter {} ({}), which is not installed; install {}, or save the file "
                        "with compression='gzip'",
                        name_, static_cast<int>(id), label[0] == '\0' ? "no name" : label, package_of(id)));
    }
}

std::int64_t Hdf5Array::piece_rows() const {
    auto const rows = ArraySource::piece_rows();
    auto const most =
        std::max<std::int64_t>(k_most_piece_bytes / static_cast<std::int64_t>(std::max<std::size_t>(row_bytes(), 1)), 1);
    return std::min(std::max(rows / chunk_rows_, std::int64_t{1}) * chunk_rows_, most);
}

void Hdf5Array::read_elements(std::int64_t rows, Hdf5Id const& memory_type, void* out) {
    Hdf5Id const in_file(H5Dget_space(dataset_.handle()));
    std::vector<hsize_t> start(shape_.size(), 0), count(shape_.begin(), shape_.end());
    start[0] = static_cast<hsize_t>(next_row_);
    count[0] = static_cast<hsize_t>(rows);
    Hdf5Id const in_memory(H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr));
    if (H5Sselect_hyperslab(in_file.handle(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr) < 0 ||
        H5Dread(dataset_.handle(), memory_type.handle(), in_memory.handle(), in_file.handle(), H5P_DEFAULT, out) < 0)
        hdf5_failed(path_, fmt::format("rows {} to {} of '{}' cannot be read", next_row_, next_row_ + rows, dataset_name_),
                    k_hint);
    next_row_ += rows;
}

void Hdf5Array::read(std::int64_t rows, MutableBytes out) {
    require(out.size() == static_cast<std::size_t>(rows) * row_bytes(), "the buffer does not have the size of the rows");
    Hdf5Lock const lock;
    bool const halves = type_ == NumberType{NumberKind::real, sizeof(Half)};
    read_elements(rows, halves ? half_type() : Hdf5Id(H5Tcopy(native_type(type_))), out.data());
}

void Hdf5Array::read_texts(std::int64_t rows, std::vector<std::string>& out) {
    Hdf5Lock const lock;
    auto const count = static_cast<std::size_t>(rows) * row_elements();
    auto const padding = H5Tget_strpad(file_type_.handle());
    if (H5Tis_variable_str(file_type_.handle()) <= 0) {
        auto const bytes = H5Tget_size(file_type_.handle());
        std::vector<char> texts(count * bytes);
        read_elements(rows, file_type_, texts.data());
        for (std::size_t i = 0; i < count; ++i) out.push_back(text_of(texts.data() + i * bytes, bytes, padding));
        return;
    }
    std::vector<char*> texts(count, nullptr);
    read_elements(rows, file_type_, texts.data());
    for (auto* text : texts) {
        out.emplace_back(text == nullptr ? "" : text);
        H5free_memory(text);
    }
}

}  // namespace hopscotch
