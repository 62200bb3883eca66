// Aligned columns, as kubectl prints them.
#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace client {

class Table {
 public:
  using Row = std::vector<std::string>;

  explicit Table(Row header = {}) : header_(std::move(header)) {}
  void add(Row row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.empty(); }
  // Columns are as wide as their widest cell and three blanks more; the last one has no end.
  void print(std::ostream& out, bool with_header = true) const;
  // A further row, aligned to the columns of what was printed before.
  void print_more(std::ostream& out, const Row& row);

 private:
  std::vector<std::size_t> widths(bool with_header) const;

  Row header_;
  std::vector<Row> rows_;
};

}  // namespace client
