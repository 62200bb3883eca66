#include "client/table.h"

#include <algorithm>
#include <string_view>

#include "client/document.h"

namespace client {
namespace {

constexpr std::size_t k_gap = 3;
constexpr std::size_t k_least = 6;

// Characters, not bytes.
std::size_t length(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

// Text of several lines would break the table.
std::string one_line(const std::string& cell) {
  const std::size_t cut = cell.find_first_of("\n\r\f");
  return harmless(cut == std::string::npos ? cell : cell.substr(0, cut) + "...");
}

void print_row(std::ostream& out, const Table::Row& row, const std::vector<std::size_t>& widths) {
  for (std::size_t i = 0; i < row.size(); ++i) {
    const std::string cell = one_line(row[i]);
    out << cell;
    if (i + 1 == row.size()) break;
    const std::size_t used = length(cell);
    out << std::string(widths[i] > used ? widths[i] - used : 1, ' ');
  }
  out << "\n";
}

}  // namespace

std::vector<std::size_t> Table::widths(bool with_header) const {
  std::vector<std::size_t> widths(header_.size(), k_least);
  const auto fit = [&](const Row& row) {
    widths.resize(std::max(widths.size(), row.size()), k_least);
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], length(one_line(row[i])) + k_gap);
  };
  if (with_header) fit(header_);
  for (const Row& row : rows_) fit(row);
  return widths;
}

void Table::print(std::ostream& out, bool with_header) const {
  const auto columns = widths(with_header);
  if (with_header) print_row(out, header_, columns);
  for (const Row& row : rows_) print_row(out, row, columns);
}

void Table::print_more(std::ostream& out, const Row& row) {
  rows_.push_back(row);
  print_row(out, row, widths(true));
}

}  // namespace client
