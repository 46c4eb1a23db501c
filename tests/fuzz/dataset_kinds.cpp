// SPDX-License-Identifier: Apache-2.0
// Dataset directories, read as `data verify`, the roll call and the trainers read them, with every data.cache.
#include <algorithm>
#include <numeric>
#include <optional>

#include "core/error.hpp"
#include "core/file.hpp"
#include "data/batches/batches.hpp"
#include "data/batches/shard_source.hpp"
#include "data/dataset/shard.hpp"
#include "data/dataset/verify.hpp"
#include "experiment/config.hpp"
#include "fuzz/kinds.hpp"
#include "fuzz/mutate.hpp"
#include "fuzz/odd_shards.hpp"
#include "rundir/records.hpp"
#include "tiny_dataset.hpp"

namespace hopscotch::fuzz {
namespace {

namespace fs = std::filesystem;
using testing::slurp;
using testing::write;

void visit_all(fs::path const& folder, ShardFile const& file, Manifest const& manifest, Cache cache) {
    DataConfig config;
    config.cache = cache;
    config.shuffle_rows = 4;
    auto const source = open_shard_source(folder, file, manifest, config);
    std::vector<std::uint32_t> order(static_cast<std::size_t>(source->rows()));
    std::iota(order.begin(), order.end(), 0U);
    auto const cut = batches(source->rows(), 8, LastBatch::keep);
    source->begin(order, cut);
    for (std::size_t i = 0; i < cut.size(); ++i) source->next();
    source->end();
}

// One complaint is enough, but none of the readers may do anything else.
void use(fs::path const& folder) {
    auto const manifest = read_manifest(folder);
    auto complaints = verify_files(folder).failures;
    for (auto const split : {Split::train, Split::valid, Split::test}) {
        summarise(folder, manifest, split);
        for (auto const& file : manifest.files(split))
            for (auto const cache : {Cache::all, Cache::window, Cache::none}) try {
                    if (cache != Cache::all && &file != &manifest.train.front()) continue;  // one is damaged
                    visit_all(folder, file, manifest, cache);
                } catch (DataError const& error) {
                    complaints.emplace_back(error.what());
                }
    }
    (void)dataset_hash(manifest);
    for (auto const& complaint : complaints)
        if (complaint.find("/dataset") == complaint.npos) throw DataError(complaint);  // names no file
    if (!complaints.empty()) throw DataError(complaints.front());
}

// Three datasets, of which one file or two are damaged at a time and put back after it.
class DatasetKind : public Kind {
public:
    DatasetKind() {
        testing::make_tiny_dataset(folder_.path() / "classes/dataset", 2, 9);
        Manifest targets;
        targets.task = Task::regression;
        targets.shape = {5};
        targets.outputs = 2;
        testing::make_random_dataset(folder_.path() / "targets/dataset", targets, 2, 9);
        Manifest tokens;
        tokens.task = Task::language;
        tokens.shape = {6};
        tokens.outputs = 11;
        tokens.categories = {11};
        testing::make_random_dataset(folder_.path() / "tokens/dataset", tokens, 2, 9);
    }
    std::string place() const override { return "/dataset"; }
    void read(fs::path const&) override { use(dataset_); }
    void damage(fs::path const&, Rng& rng) override {
        for (auto const& [file, bytes] : whole_) write(file, bytes);
        whole_.clear();
        dataset_ = folder_.path() / any_of(rng, std::vector<std::string>{"classes", "targets", "tokens"}) / "dataset";
        damage_dataset(rng);
    }

protected:
    virtual void damage_dataset(Rng& rng) = 0;
    fs::path const& dataset() const { return dataset_; }

    // The bytes of a file that will be damaged.
    std::string take(std::string const& name) {
        whole_.emplace_back(dataset_ / name, slurp(dataset_ / name));
        return whole_.back().second;
    }

    // A wrong hash would be found first.
    void write_manifest_for_shard(std::optional<std::int64_t> rows = {}) {
        auto manifest = read_manifest(dataset_);
        take("dataset.json");
        manifest.train[0].xxh64 = hash_file(dataset_ / "train-00000.h5");
        manifest.train[0].rows = rows.value_or(manifest.train[0].rows);
        write_manifest(dataset_, manifest);
    }

private:
    testing::TemporaryDirectory folder_;
    fs::path dataset_;
    std::vector<std::pair<fs::path, std::string>> whole_;
};

class ManifestKind : public DatasetKind {
public:
    std::string name() const override { return "manifest"; }

protected:
    void damage_dataset(Rng& rng) override {
        write(dataset() / "dataset.json", mutated_json(parse_json_or_throw(take("dataset.json"), "good"), rng));
    }
};

class ShardBytesKind : public DatasetKind {
public:
    std::string name() const override { return "shard_bytes"; }

protected:
    void damage_dataset(Rng& rng) override {
        auto bytes = take("train-00000.h5");
        auto const where = one_in(rng, 3) ? bytes.size() : std::size_t{1000};  // mostly where the structure is
        switch (rng.below(8)) {
            case 0: bytes.resize(below(rng, bytes.size())); break;
            case 1: bytes = mutated_bytes(std::move(bytes), rng); break;
            case 2: bytes.clear(); break;
            default:
                for (auto n = 1 + below(rng, 4); n > 0; --n) {
                    auto& byte = bytes[below(rng, std::min(where, bytes.size()))];
                    byte = static_cast<char>(one_in(rng, 2) ? byte ^ (1 << rng.below(8)) : static_cast<int>(rng.below(256)));
                }
        }
        write(dataset() / "train-00000.h5", bytes);
        write_manifest_for_shard();
    }
};

class ShardStructureKind : public DatasetKind {
public:
    std::string name() const override { return "shard_structure"; }
    void read(fs::path const& folder) override {
        if (odd_.leads_outside) {
            auto const manifest = read_manifest(dataset());
            check_shard(dataset(), manifest.train[0], manifest);
            throw std::runtime_error("a dataset in a file outside was not refused");
        }
        DatasetKind::read(folder);
    }

protected:
    void damage_dataset(Rng& rng) override {
        take("train-00000.h5");
        auto const secret = dataset().parent_path() / "secret.h5";
        fs::copy_file(dataset() / "train-00001.h5", secret, fs::copy_options::overwrite_existing);
        odd_ = write_odd_shard(dataset() / "train-00000.h5", read_manifest(dataset()), secret, rng);
        write_manifest_for_shard(one_in(rng, 10) ? std::nullopt : std::optional(odd_.rows));
    }

private:
    OddShard odd_;
};

}  // namespace

void add_dataset_kinds(std::vector<std::unique_ptr<Kind>>& out) {
    out.push_back(std::make_unique<ManifestKind>());
    out.push_back(std::make_unique<ShardBytesKind>());
    out.push_back(std::make_unique<ShardStructureKind>());
}

}  // namespace hopscotch::fuzz
