// SPDX-License-Identifier: Apache-2.0
#include "fuzz/odd_shards.hpp"

#include <hdf5.h>

#include <array>
#include <vector>

#include "data/dataset/shard_layout.hpp"
#include "fuzz/mutate.hpp"

namespace hopscotch::fuzz {
namespace {

using Dims = std::vector<hsize_t>;

Hdf5Id space_of(Dims const& dims, Dims const& most = {}) {
    return Hdf5Id(H5Screate_simple(static_cast<int>(dims.size()), dims.data(), most.empty() ? nullptr : most.data()));
}

// A copy, which the handle may close.
Hdf5Id copy_of(hid_t type) { return Hdf5Id(H5Tcopy(type)); }

Hdf5Id odd_type(Rng& rng) {
    std::vector<hid_t> const plain{H5T_NATIVE_DOUBLE, H5T_NATIVE_INT8,    H5T_NATIVE_UINT16, H5T_NATIVE_INT32,
                                   H5T_NATIVE_UINT64, H5T_STD_I64BE,      H5T_IEEE_F32BE,    H5T_STD_B8LE,
                                   H5T_STD_REF_OBJ,   H5T_NATIVE_LDOUBLE, H5T_C_S1,          H5T_STD_U8BE,
                                   H5T_NATIVE_FLOAT,  H5T_NATIVE_INT64};
    hsize_t const two = 2;
    switch (rng.below(7)) {
        case 0: {
            auto type = copy_of(H5T_C_S1);
            H5Tset_size(type.handle(), one_in(rng, 2) ? H5T_VARIABLE : 1 + rng.below(9));
            return type;
        }
        case 1: return Hdf5Id(H5Tvlen_create(any_of(rng, plain)));
        case 2: return Hdf5Id(H5Tarray_create2(any_of(rng, plain), 1, &two));
        case 3: {
            Hdf5Id type(H5Tcreate(H5T_COMPOUND, 8));
            H5Tinsert(type.handle(), "a", 0, H5T_NATIVE_FLOAT);
            return type;
        }
        case 4: return Hdf5Id(H5Tenum_create(H5T_NATIVE_INT64));
        case 5: {  // of the right size and class, but of other bits
            auto type = copy_of(one_in(rng, 2) ? H5T_NATIVE_INT64 : H5T_NATIVE_UINT8);
            H5Tset_precision(type.handle(), 1 + rng.below(8));
            return type;
        }
        default: return copy_of(any_of(rng, plain));
    }
}

Dims odd_dims(Dims dims, Rng& rng) {
    switch (rng.below(6)) {
        case 0: dims.clear(); break;
        case 1: dims.push_back(1 + rng.below(3)); break;
        case 2: dims.pop_back(); break;
        case 3: dims.insert(dims.begin(), 1); break;
        case 4: dims[below(rng, dims.size())] = rng.below(40); break;
        default: dims.resize(32, 1);
    }
    return dims;
}

class OddShardWriter {
public:
    OddShardWriter(std::filesystem::path const& path, Manifest const& manifest, std::filesystem::path outside, Rng& rng)
        : manifest_(manifest),
          outside_(std::move(outside)),
          rng_(rng),
          file_(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)) {
        out_.rows = 1 + rng.below(20);
        huge_ = one_in(rng, 4);
        if (huge_) out_.rows = static_cast<std::int64_t>(std::uint64_t{1} << (20 + rng.below(40)));
    }

    OddShard write() {
        bool const both = one_in(rng_, 4), first = one_in(rng_, 2);
        write_dataset("features", features_layout(manifest_, out_.rows), both || first);
        write_dataset("labels", labels_layout(manifest_, out_.rows), both || !first);
        return out_;
    }

private:
    hid_t native(ElementType type) const {
        return type == ElementType::uint8   ? H5T_NATIVE_UINT8
               : type == ElementType::int64 ? H5T_NATIVE_INT64
                                            : H5T_NATIVE_FLOAT;
    }
    Dims dims_of(Hdf5Layout const& layout) const { return {layout.dims.begin(), layout.dims.end()}; }

    Hdf5Id create(std::string const& name, Hdf5Id const& type, Hdf5Id const& space, Hdf5Id const& properties) const {
        return Hdf5Id(H5Dcreate2(file_.handle(), name.c_str(), type.handle(), space.handle(), H5P_DEFAULT,
                                 properties.handle(), H5P_DEFAULT));
    }
    Hdf5Id properties() const { return Hdf5Id(H5Pcreate(H5P_DATASET_CREATE)); }

    // Huge ones get no room in the file: HDF5 only makes it when something is written.
    void write_good(std::string const& name, Hdf5Layout const& layout, Hdf5Id const& made_with) const {
        auto const dims = dims_of(layout);
        auto const dataset = create(name, copy_of(native(layout.type)), space_of(dims), made_with);
        if (!dataset || huge_) return;
        std::size_t bytes = element_bytes(layout.type);
        for (auto const n : dims) bytes *= n;
        std::vector<std::byte> const zeros(bytes);
        H5Dwrite(dataset.handle(), native(layout.type), H5S_ALL, H5S_ALL, H5P_DEFAULT, zeros.data());
    }

    void write_dataset(std::string const& name, Hdf5Layout const& layout, bool odd) {
        if (!odd) return write_good(name, layout, properties());
        switch (rng_.below(11)) {
            case 0: return;  // none at all
            case 1: Hdf5Id(H5Gcreate2(file_.handle(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)); return;
            case 2: return write_soft_link(name, layout);
            case 3: return write_external_link(name);
            case 4: create(name, odd_type(rng_), space_of(dims_of(layout)), properties()); return;
            case 5:
                create(name, copy_of(native(layout.type)), Hdf5Id(H5Screate(one_in(rng_, 2) ? H5S_SCALAR : H5S_NULL)),
                       properties());
                return;
            case 6:
                create(name, one_in(rng_, 2) ? odd_type(rng_) : copy_of(native(layout.type)),
                       space_of(odd_dims(dims_of(layout), rng_)), properties());
                return;
            case 7: return write_chunked(name, layout);
            case 8: return write_external_storage(name, layout);
            case 9: return write_virtual(name, layout);
            default: {
                auto const type = odd_type(rng_);
                H5Tcommit2(file_.handle(), name.c_str(), type.handle(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
            }
        }
    }

    void write_soft_link(std::string const& name, Hdf5Layout const& layout) const {
        write_good("stash", layout, properties());
        std::vector<std::string> const targets{"/stash", "/" + name, "/nowhere", "/", "/features", "../stash"};
        H5Lcreate_soft(any_of(rng_, targets).c_str(), file_.handle(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT);
    }

    void write_external_link(std::string const& name) {
        H5Lcreate_external(outside_.c_str(), ("/" + name).c_str(), file_.handle(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT);
        out_.leads_outside = true;
    }

    void write_chunked(std::string const& name, Hdf5Layout const& layout) const {
        auto dims = dims_of(layout);
        auto const made_with = properties();
        dims[0] = std::min<hsize_t>(dims[0], 1 + rng_.below(16));
        H5Pset_chunk(made_with.handle(), static_cast<int>(dims.size()), dims.data());
        if (one_in(rng_, 2)) H5Pset_deflate(made_with.handle(), 6);
        if (one_in(rng_, 4)) H5Pset_fletcher32(made_with.handle());
        write_good(name, layout, made_with);
    }

    void write_external_storage(std::string const& name, Hdf5Layout const& layout) {
        auto const made_with = properties();
        H5Pset_external(made_with.handle(), outside_.c_str(), 0, H5F_UNLIMITED);
        create(name, copy_of(native(layout.type)), space_of(dims_of(layout)), made_with);
        out_.leads_outside = true;
    }

    void write_virtual(std::string const& name, Hdf5Layout const& layout) {
        auto const made_with = properties();
        auto const space = space_of(dims_of(layout));
        H5Pset_virtual(made_with.handle(), space.handle(), outside_.c_str(), ("/" + name).c_str(), space.handle());
        create(name, copy_of(native(layout.type)), space, made_with);
        out_.leads_outside = true;
    }

    Manifest const& manifest_;
    std::filesystem::path outside_;
    Rng& rng_;
    Hdf5Id file_;
    OddShard out_;
    bool huge_ = false;
};

}  // namespace

OddShard write_odd_shard(std::filesystem::path const& path, Manifest const& manifest, std::filesystem::path const& outside,
                         Rng& rng) {
    Hdf5Lock const lock;  // silent, whatever HDF5 refuses to write
    return OddShardWriter(path, manifest, outside, rng).write();
}

}  // namespace hopscotch::fuzz
