// SPDX-License-Identifier: Apache-2.0
#include "tensor/trial/pretrained_weights.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "tensor/feed/workspace_impl.hpp"

namespace hopscotch {

std::string PretrainedWeights::identity_of(std::string const& path) {
    struct stat status{};
    if (::stat(path.c_str(), &status) != 0) return path;
    return fmt::format("{} {} {} {} {}.{:09}", path, status.st_dev, status.st_ino, status.st_size, status.st_mtim.tv_sec,
                       status.st_mtim.tv_nsec);
}

PretrainedWeights::PretrainedWeights(std::string const& path, Workspace::Impl& workspace)
    : identity_(identity_of(path)), file_(SafetensorsFile::open(path)), workspace_(workspace) {}

at::Tensor PretrainedWeights::get(std::string const& name, std::vector<std::int64_t> const& shape, Element element,
                                  Missing missing) const {
    return workspace_.shared(identity_ + " " + name, [&] {
        auto const type = element == Element::int64 ? at::kLong : at::kFloat;
        bool const is_there = file_.entries().contains(name);
        if (!is_there && missing == Missing::zeros)
            return at::zeros(shape, at::TensorOptions(workspace_.device).dtype(type));
        auto values = at::empty(shape, at::TensorOptions(type));
        auto const n = static_cast<std::size_t>(values.numel());
        if (element == Element::int64)
            file_.read(name, std::span(values.mutable_data_ptr<std::int64_t>(), n));
        else
            file_.read(name, std::span(values.mutable_data_ptr<float>(), n));
        return values.to(workspace_.device);
    });
}

}  // namespace hopscotch
