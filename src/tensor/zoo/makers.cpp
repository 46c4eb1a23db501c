// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "tensor/own/plugin.hpp"
#include "tensor/own/torchscript.hpp"
#include "tensor/zoo/networks.hpp"

namespace hopscotch {

MakeNetwork maker_of(std::string const& model) {
    static std::map<std::string, MakeNetwork> const makers{{"logistic", make_logistic},
                                                           {"mlp", make_mlp},
                                                           {"lenet", make_lenet},
                                                           {"cnn", make_cnn},
                                                           {"resnet20", make_resnet},
                                                           {"resnet32", make_resnet},
                                                           {"resnet56", make_resnet},
                                                           {"mobilenet_v2", make_mobilenet_v2},
                                                           {"resnet18", make_resnet},
                                                           {"resnet34", make_resnet},
                                                           {"resnet50", make_resnet},
                                                           {"vgg16", make_vgg16},
                                                           {"vgg16_bn", make_vgg16},
                                                           {"wide_and_deep", make_wide_and_deep},
                                                           {"lstm", make_lstm},
                                                           {"gpt", make_gpt},
                                                           {"vit", make_vit},
                                                           {"plugin", make_plugin},
                                                           {"torchscript", make_torchscript}};
    auto const found = makers.find(model);
    return found == makers.end() ? nullptr : found->second;
}

}  // namespace hopscotch
