// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/error.hpp"
#include "core/json.hpp"
#include "core/json_reader.hpp"

namespace hopscotch {
namespace json_test {

Json parse(std::string_view text) {
    Problems problems("f.json");
    auto json = parse_json(text, problems);
    EXPECT_EQ(problems.text(), "") << text;
    return json;
}

std::string complaints(std::string_view text) {
    Problems problems("f.json");
    parse_json(text, problems);
    return problems.text();
}

std::string at(Json const& json) {
    return std::to_string(json.at_position().line) + ":" + std::to_string(json.at_position().column);
}
std::string at(Position where) { return std::to_string(where.line) + ":" + std::to_string(where.column); }

TEST(Json, PositionsOfKeysAndValues) {
    auto const json = parse("{\n  \"a\": 12,\n  \"bc\" : [1.5, [true,null], {\"d\": \"x\"}],\n\t\"e\":-3e2}\n");
    EXPECT_EQ(at(json), "1:1");
    EXPECT_EQ(at(json.object()[0].key_position), "2:3");
    EXPECT_EQ(at(json.at("a")), "2:8");
    EXPECT_EQ(at(json.object()[1].key_position), "3:3");
    auto const& list = json.at("bc");
    EXPECT_EQ(at(list), "3:10");
    EXPECT_EQ(at(list.array()[0]), "3:11");
    EXPECT_EQ(at(list.array()[1]), "3:16");
    EXPECT_EQ(at(list.array()[1].array()[0]), "3:17");
    EXPECT_EQ(at(list.array()[1].array()[1]), "3:22");
    EXPECT_EQ(at(list.array()[2]), "3:29");
    EXPECT_EQ(at(list.array()[2].object()[0].key_position), "3:30");
    EXPECT_EQ(at(list.array()[2].at("d")), "3:35");
    EXPECT_EQ(at(json.object()[2].key_position), "4:2");
    EXPECT_EQ(at(json.at("e")), "4:6");
}

TEST(Json, PositionsAroundEscapesAndBrackets) {
    auto const json = parse(R"({"a\"b": "q\"]}", "c\\": "\\", "d": [[],[2]], "e": {}, "f": "", "g": 1 , "h":7})");
    EXPECT_EQ(at(json.object()[0].key_position), "1:2");
    EXPECT_EQ(at(json.at("a\"b")), "1:10");
    EXPECT_EQ(at(json.object()[1].key_position), "1:19");
    EXPECT_EQ(at(json.at("c\\")), "1:26");
    EXPECT_EQ(at(json.at("d")), "1:37");
    EXPECT_EQ(at(json.at("d").array()[0]), "1:38");
    EXPECT_EQ(at(json.at("d").array()[1]), "1:41");
    EXPECT_EQ(at(json.at("d").array()[1].array()[0]), "1:42");
    EXPECT_EQ(at(json.at("e")), "1:52");
    EXPECT_EQ(at(json.at("f")), "1:61");
    EXPECT_EQ(at(json.at("g")), "1:70");
    EXPECT_EQ(at(json.at("h")), "1:78");
    EXPECT_EQ(at(parse("  12")), "1:3");
    EXPECT_EQ(at(parse("\n\"x\"")), "2:1");
}

TEST(Json, DuplicateKeysWithTheirPath) {
    EXPECT_EQ(complaints("{\"a\": 1,\n \"a\": 2}"),
              "f.json:2:2: /a: duplicate key (first at line 1); remove one of the two");
    EXPECT_EQ(complaints("{\"a\": {\"x\": [0, {\"b\": 1,\n\"b\": 2}]}}"),
              "f.json:2:1: /a/x/1/b: duplicate key (first at line 1); remove one of the two");
    EXPECT_EQ(complaints("{\"a\": {\"b\": 1}, \"c\": {\"b\": 1}}"), "");
}

TEST(Json, AKeyThatComesAThousandTimesIsToldAThousandTimesNotAMillion) {
    std::string text = "{\"a\": 0";
    for (int i = 0; i < 1000; ++i) text += ", \"a\": 0";
    Problems problems("f.json");
    parse_json(text + "}", problems);
    EXPECT_EQ(problems.entries().size(), 1000U);
}

TEST(Json, SyntaxErrors) {
    EXPECT_EQ(complaints(""), "f.json:1:1: /: the file is empty (expected one JSON object)");
    EXPECT_EQ(complaints(" \n"), "f.json:2:1: /: the file is empty (expected one JSON object)");
    EXPECT_TRUE(complaints("{\"x\": NaN}").starts_with("f.json:1:7: /: syntax error")) << complaints("{\"x\": NaN}");
    EXPECT_TRUE(complaints("{\"x\": Infinity}").starts_with("f.json:1:7: ")) << complaints("{\"x\": Infinity}");
    EXPECT_TRUE(complaints("{\n\"x\": 1,\n}").starts_with("f.json:3:1: /: syntax error")) << complaints("{\n\"x\": 1,\n}");
    for (auto const* bad :
         {"{", "[1,", "{\"a\"}", "{\"a\":1} x", "\"open", "01", "'a'", "{a:1}", "// c\n{}", "1\"", "\"", "[1\"a\"]"})
        EXPECT_NE(complaints(bad), "") << bad;
    Problems problems("f.json");
    EXPECT_TRUE(parse_json("{\"a\": 1, \"b\": }", problems).is_null());
    EXPECT_THROW(parse_json_or_throw("{", "x.json"), DataError);
}

// In our words, not in those of an exception of the library.
TEST(Json, NumbersBeyondDoubleAndOtherEncodings) {
    std::string const too_large = " is too large for a number (at most about 1.8e308); write a smaller one";
    EXPECT_EQ(complaints("{\"a\": {\"lr\":\n 1e999}}"), "f.json:2:2: /a/lr: 1e999" + too_large);
    EXPECT_EQ(complaints("{\"a\": [1, -1e400 ]}"), "f.json:1:11: /a/1: -1e400" + too_large);
    EXPECT_EQ(complaints("{\"a\": 1e308, \"b\": 1e-999}"), "");
    EXPECT_EQ(complaints("9e9999"), "f.json:1:1: /: 9e9999" + too_large);
    auto const latin = complaints("{\"name\": \"Malm\xf6\"}");
    EXPECT_NE(latin.find("is not UTF-8 (this byte belongs to another encoding); save the file as UTF-8"), latin.npos)
        << latin;
    EXPECT_TRUE(is_number_too_large("1e999"));
    EXPECT_TRUE(is_number_too_large("-1e999"));
    for (auto const* text : {"1e99", "runs/1e999", "[1e999", "{"}) EXPECT_FALSE(is_number_too_large(text)) << text;
}

TEST(Json, DeepNestingIsAComplaintNotACrash) {
    for (std::size_t depth : {std::size_t{400}, std::size_t{501}, std::size_t{1'000'000}}) {
        auto const text = std::string(depth, '[') + std::string(depth, ']');
        auto const said = complaints(text);
        if (depth <= 500)
            EXPECT_EQ(said, "");
        else
            EXPECT_NE(said.find("nested too deeply (more than 500 levels)"), said.npos) << said;
    }
}

TEST(Json, NumbersKeepTheirKindAndValue) {
    auto const json = parse("[1, 1.0, -9223372036854775808, 9223372036854775807, 9223372036854775808, 1e-5, 0.1]");
    EXPECT_TRUE(json.array()[0].is_integer());
    EXPECT_FALSE(json.array()[1].is_integer());
    EXPECT_TRUE(json.array()[0] == json.array()[1]);
    EXPECT_EQ(json.array()[2].integer(), INT64_MIN);
    EXPECT_EQ(json.array()[3].integer(), INT64_MAX);
    EXPECT_FALSE(json.array()[4].is_integer());
    EXPECT_DOUBLE_EQ(json.array()[5].number(), 1e-5);
    EXPECT_THROW(json.array()[1].integer(), Error);
    EXPECT_THROW(json.array()[0].string(), Error);
}

TEST(Json, DumpIsReadBackAndHasNoNaN) {
    auto const text = R"({"a":[1,2.5,"x\"y",null,true],"b":{"c":0.1}})";
    EXPECT_EQ(parse(text).dump(), text);
    EXPECT_EQ(Json(std::numeric_limits<double>::quiet_NaN()).dump(), "null");
    EXPECT_EQ(Json(std::numeric_limits<double>::infinity()).dump(), "null");
    double const odd = 0.1 + 0.2;
    EXPECT_EQ(parse(Json(odd).dump()).number(), odd);
    EXPECT_EQ(Json("\xff").dump(), "\"\xef\xbf\xbd\"");  // not UTF-8: the replacement character
}

TEST(Json, ANumberBeyondItsRangeIsRefused) {
    constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
    EXPECT_EQ(Json(most).dump(), "9223372036854775807");
    EXPECT_THROW(Json(most + 1), Error);
}

TEST(Json, SetMakesTheObjectsOnTheWay) {
    Json json;
    json.set("train.optimizer.lr", 0.1);
    json.set("train.epochs", 3);
    EXPECT_EQ(json.dump(), R"({"train":{"optimizer":{"lr":0.1},"epochs":3}})");
    EXPECT_THROW((void)json.at("model"), Error);
    EXPECT_EQ(json.find("model"), nullptr);
}

TEST(Json, EqualityIgnoresOrderOfKeys) {
    EXPECT_TRUE(parse(R"({"a":1,"b":2})") == parse(R"({"b":2.0,"a":1})"));
    EXPECT_FALSE(parse(R"({"a":1})") == parse(R"({"a":"1"})"));
    EXPECT_FALSE(parse("[1]") == parse("[1,1]"));
    EXPECT_FALSE(parse("null") == parse("false"));
}

TEST(Json, CommentsAndLastCommasBecomeBlanks) {
    EXPECT_EQ(plain_json("{\"a\": [1, 2,], // two\r\n\"b\": {},\n}"), "{\"a\": [1, 2 ],       \r\n\"b\": {} \n}");
    EXPECT_EQ(plain_json("[\"a // b\", \"\\\"// c,\", ]"), "[\"a // b\", \"\\\"// c,\"  ]");
    // Nothing else is let through.
    for (auto const* wrong : {"[,]", "{,}", "[1,,]", "{\"a\":,}", "/* a */ 1", "[1 / 2]", ",", "[", "\"// a"})
        EXPECT_EQ(plain_json(wrong), wrong);
}

}  // namespace json_test
}  // namespace hopscotch
