#include "page/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string_view body(std::string_view path) {
  const page::File* file = page::find(path);
  return file == nullptr ? std::string_view() : file->body;
}

std::string_view header(std::string_view name) {
  const auto all = page::headers();
  const auto found = std::ranges::find(all, name, &page::Header::name);
  return found == all.end() ? std::string_view() : found->value;
}

TEST(Page, HasItsFiles) {
  EXPECT_THAT(body("/"), StartsWith("<!doctype html>"));
  EXPECT_THAT(body("/page.css"), HasSubstr(".cell"));
  EXPECT_THAT(body("/icon.svg"), StartsWith("<svg"));
  EXPECT_EQ(page::files().size(), 4U);
  for (const page::File& file : page::files()) EXPECT_EQ(page::find(file.path), &file);
}

TEST(Page, KnowsNothingElse) {
  for (const char* path : {"", "page.js", "/page.js/", "/../page.js", "/index.html", "/api", "/PAGE.JS"})
    EXPECT_EQ(page::find(path), nullptr) << path;
}

TEST(Page, IsOneScriptOfAllModules) {
  const std::string_view script = body("/page.js");
  // The first and the last of them, and nothing that a module of its own would need.
  EXPECT_THAT(script, HasSubstr("\nfunction parseAddress("));
  EXPECT_THAT(script, HasSubstr("\nnew Page().start();"));
  EXPECT_THAT(script, Not(HasSubstr("\nimport ")));
  EXPECT_THAT(script, Not(HasSubstr("\nexport ")));
}

TEST(Page, HasNoWayToMarkup) {
  for (const char* way :
       {"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "setHTML"})
    EXPECT_THAT(body("/page.js"), Not(HasSubstr(way)));
  for (const char* inlined : {"<style", " style=", " onclick=", "javascript:", "<script>"})
    EXPECT_THAT(body("/"), Not(HasSubstr(inlined)));
}

TEST(Page, NamesNoOtherOrigin) {
  for (const char* path : {"/", "/page.js", "/page.css"}) {
    EXPECT_THAT(body(path), Not(HasSubstr("http:"))) << path;
    EXPECT_THAT(body(path), Not(HasSubstr("https:"))) << path;
    EXPECT_THAT(body(path), Not(HasSubstr("url("))) << path;
  }
}

// The page carries the policy itself, for servers that cannot send headers; only framing cannot be forbidden there.
TEST(Page, CarriesThePolicyOfItsHeader) {
  const std::string policy(header("Content-Security-Policy"));
  const std::string framing = "frame-ancestors 'none'; ";
  const std::size_t at = policy.find(framing);
  ASSERT_NE(at, std::string::npos);
  EXPECT_THAT(body("/"), HasSubstr("content=\"" + std::string(policy).erase(at, framing.size()) + "\""));
}

TEST(Page, PolicyForbidsAllButItsOwn) {
  EXPECT_THAT(header("Content-Security-Policy"), StartsWith("default-src 'none'; "));
  EXPECT_THAT(header("Content-Security-Policy"), Not(HasSubstr("unsafe")));
  EXPECT_THAT(header("Content-Security-Policy"), Not(HasSubstr("*")));
  EXPECT_EQ(header("X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(header("Referrer-Policy"), "no-referrer");
}

TEST(Page, ReadsWhatItSays) {
  const std::string_view script = body("/page.js");
  EXPECT_EQ(page::reads().size(), 5U);
  for (const std::string_view path : page::reads())
    EXPECT_THAT(script, HasSubstr("\"" + std::string(path.substr(1)) + "\"]"));
  // And nothing else is asked for: one request is written in one place.
  EXPECT_EQ(script.find("apis/"), script.find("apis/local.sdn"));
}

TEST(Page, IsForBrowsers) {
  EXPECT_TRUE(page::wants_page("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"));
  for (const char* accept :
       {"", "*/*", "application/json", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"})
    EXPECT_FALSE(page::wants_page(accept)) << accept;
}

}  // namespace
