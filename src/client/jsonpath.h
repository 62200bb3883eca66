// The part of kubectl's JSONPath templates that people use.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "client/document.h"

namespace client {

// "{.status.phase}", "{.items[*].metadata.name}", "{range .items[*]}{.metadata.name}{"\n"}{end}", with
//   .name  ['name']  .a\.b     members
//   [2]  [-1]  [*]  .*         items
//   [?(@.type=="Bound")]       items for which a comparison (== or !=) with a string, number, true or false holds
// and literals in quotes. What is missing prints as nothing.
class JsonPath {
 public:
  // The error names the place and what is understood there. A template without braces is one path.
  static base::Result<JsonPath> parse(std::string_view text);

  std::string print(const json::value& root) const;
  // What the first path of the template finds, in `root` itself: an object would become a value that is gone at once.
  std::vector<const json::value*> find(const json::value& root) const;
  std::vector<const json::value*> find(json::value&& root) const = delete;

  struct Step {
    enum class Kind { member, item, all, filter };
    Kind kind = Kind::member;
    std::string name = {};
    std::int64_t index = 0;
    std::vector<Step> filter = {};  // the path below each item
    bool equal = true;
    json::value operand = {};
  };
  struct Node {
    enum class Kind { literal, path, range };
    Kind kind = Kind::literal;
    std::string text = {};
    std::vector<Step> path = {};
    std::vector<Node> body = {};  // of a range
  };

 private:
  std::vector<Node> nodes_;
};

}  // namespace client
