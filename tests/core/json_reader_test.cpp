// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "core/error.hpp"
#include "core/json_reader.hpp"

namespace hopscotch {
namespace json_reader_test {

struct Read {
    Problems problems{"f.json"};
    Json json;
    explicit Read(std::string_view text) { json = parse_json(text, problems); }
};

TEST(Reader, UnknownKeyNamesTheNearest) {
    Read in("{\"lr\": 1,\n \"momentun\": 2, \"zzz\": 3}");
    ObjectReader reader(in.json, "/train", in.problems);
    double lr = 0;
    double momentum = 0;
    reader.read("lr", lr);
    reader.read("momentum", momentum);
    reader.finish();
    EXPECT_EQ(lr, 1);
    EXPECT_EQ(in.problems.text(),
              "f.json:2:2: /train/momentun: unknown key; did you mean \"momentum\"?\n"
              "f.json:2:17: /train/zzz: unknown key (known: lr, momentum)");
}

TEST(Reader, WrongTypesLeaveTheDefault) {
    Read in(
        R"({"a": "1", "b": 1.5, "c": 1, "d": null, "e": [1, "x"], "f": true, "g": 3000000000, "h": "x", "i": [1], "j": 1})");
    ObjectReader reader(in.json, "", in.problems);
    auto const stays = [&](char const* key, auto const before) {
        auto value = before;
        reader.read(key, value);
        EXPECT_EQ(value, before) << key;
    };
    stays("a", 7.0);
    stays("b", std::int64_t{7});
    stays("c", false);
    stays("d", std::string("d"));
    stays("e", std::vector<std::int64_t>{7});
    stays("f", 7);
    stays("g", 7);
    stays("h", std::optional<double>(7));
    stays("i", std::vector<std::string>{"i"});
    stays("j", std::optional<bool>(true));
    reader.finish();
    EXPECT_EQ(in.problems.text(),
              "f.json:1:7: /a: expected a number (got a string)\n"
              "f.json:1:17: /b: expected an integer (got a number)\n"
              "f.json:1:27: /c: expected true or false (got an integer)\n"
              "f.json:1:35: /d: expected a string (got null)\n"
              "f.json:1:46: /e: element 1 must be an integer (got a string)\n"
              "f.json:1:61: /f: expected an integer (got a boolean)\n"
              "f.json:1:72: /g: out of range (got 3000000000)\n"
              "f.json:1:89: /h: expected a number or null (got a string)\n"
              "f.json:1:99: /i: expected an array of strings (got an array)\n"
              "f.json:1:109: /j: expected true, false or null (got an integer)");
}

TEST(Reader, RangesAndNames) {
    Read in(R"({"a": -1, "b": 0, "c": 2, "d": "sgdd", "e": "xyz", "f": null, "g": 5})");
    ObjectReader reader(in.json, "", in.problems);
    double a = 0;
    double b = 1;
    int c = 0;
    std::string d;
    std::string e;
    std::optional<double> f = 3;
    std::optional<std::int64_t> g;
    reader.read("a", a, at_least(0));
    reader.read("b", b, above(0));
    reader.read("c", c, between(0, 1));
    reader.read("d", d, one_of({"sgd", "adam"}));
    reader.read("e", e, one_of({"sgd", "adam"}));
    reader.read("f", f);
    reader.read("g", g);
    reader.missing("h", "write one");
    EXPECT_FALSE(f);
    EXPECT_EQ(g, 5);
    EXPECT_EQ(in.problems.text(),
              "f.json:1:1: /h: missing (required); write one\n"
              "f.json:1:7: /a: must be at least 0 (got -1)\n"
              "f.json:1:16: /b: must be greater than 0 (got 0)\n"
              "f.json:1:24: /c: must be between 0 and 1 (got 2)\n"
              "f.json:1:32: /d: unknown value \"sgdd\" (known: sgd, adam); did you mean \"sgd\"?\n"
              "f.json:1:45: /e: unknown value \"xyz\" (known: sgd, adam)");
}

TEST(Reader, ChildrenAndWrongKinds) {
    Read in(R"({"a": {"b": 1}, "c": 3})");
    ObjectReader reader(in.json, "", in.problems);
    int b = 0;
    auto a = reader.child("a");
    a.read("b", b);
    a.finish();
    auto c = reader.child("c");
    c.read("b", b);
    c.finish();
    reader.child("absent").finish();
    reader.finish();
    EXPECT_EQ(b, 1);
    EXPECT_EQ(in.problems.text(), "f.json:1:22: /c: expected an object (got an integer)");
}

TEST(Problems, OtherSourcesComeFirstAndNameThemselves) {
    Problems problems("f.json");
    problems.add({3, 4}, "/b", "late");
    problems.add({3, 1}, "/a", "early");
    auto const first = problems.add_source("--set a=1", "/a");
    auto const second = problems.add_source("--set c={}", "/c");
    problems.add(second, "/c/d", "unknown key");
    problems.add(first, "/a", "wrong");
    problems.add("as a whole");
    EXPECT_EQ(
        problems.text(),
        "--set a=1: wrong\n--set c={}: /c/d: unknown key\nf.json: as a whole\nf.json:3:1: /a: early\nf.json:3:4: /b: late");
    EXPECT_THROW(problems.throw_if_any(), ConfigError);
    EXPECT_NO_THROW(Problems("x").throw_if_any());
    Problems other("g.json");  // a position of another collection's source
    other.add(first, "/a", "wrong");
    EXPECT_EQ(other.text(), "g.json: /a: wrong");
}

TEST(Nearest, SwapsAndLimits) {
    EXPECT_EQ(nearest("lr", {"lr"}), "lr");
    EXPECT_EQ(nearest("batch_sise", {"batch_size", "beta1"}), "batch_size");
    EXPECT_EQ(nearest("epcohs", {"epochs", "ep"}), "epochs");
    EXPECT_EQ(nearest("zzzz", {"epochs"}), "");
    EXPECT_EQ(nearest("x", {}), "");
}

TEST(Nearest, LongWordsAreNoTypingErrors) {  // the distance takes time and memory with the product of both lengths
    std::string const long_word(1 << 20, 'k');
    EXPECT_EQ(nearest(long_word, {"epochs", std::string(1 << 20, 'x')}), "");
    EXPECT_EQ(nearest("epcohs", {long_word, "epochs"}), "epochs");
}

TEST(Reader, NoTextHasANulThatCutsItOff) {
    Read in("{\"path\": \"data\\u0000/../../secret\"}");
    ObjectReader reader(in.json, "", in.problems);
    std::string path = "as it was";
    reader.read("path", path);
    EXPECT_EQ(path, "as it was");
    EXPECT_EQ(in.problems.text(), "f.json:1:10: /path: must not contain \\u0000");
}

}  // namespace json_reader_test
}  // namespace hopscotch
