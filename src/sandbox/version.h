// One stored version of an object. Internal to the sandbox.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "sandbox/json.h"
#include "sandbox/kind.h"

namespace sandbox {

using Document = std::shared_ptr<const json::object>;

// The parsed documents that were used last, bounded by their number and by the bytes of their texts.
class RecentDocuments {
 public:
  void keep(Document document, std::size_t bytes);

 private:
  std::deque<std::pair<Document, std::size_t>> kept_;
  std::size_t bytes_ = 0;
};

// Immutable; metadata.resourceVersion is `revision`. It is kept as text, which takes a fifth of the memory of a parsed
// document and is what most answers are made of, with a note of what selectors ask for.
class Version {
 public:
  // `recent` keeps the document for a while.
  Version(const Kind& kind, std::uint64_t revision, json::object document, std::shared_ptr<RecentDocuments> recent);

  std::uint64_t revision() const { return revision_; }
  // May be read from any thread, as the revision; all else belongs to the server's.
  const std::string& text() const { return text_; }
  // The text without the kind and apiVersion that it begins with.
  std::string untyped_text() const;
  // Parsed now unless it was used lately.
  Document document() const;
  std::size_t bytes() const { return text_.size() + noted_.size() + sizeof(Version); }

  std::optional<std::string_view> label(std::string_view name) const;
  // A field that the kind says can be selected by; nullopt if the kind did not say so when this was stored.
  std::optional<std::string_view> field(std::string_view dotted) const;

 private:
  std::optional<std::string_view> noted(char what, std::string_view name) const;

  std::uint64_t revision_;
  std::string text_;
  std::size_t type_bytes_ = 0;  // of the text: up to what follows kind and apiVersion
  std::string noted_;           // 'l' or 'f', name, value, …; both with their lengths before them
  std::shared_ptr<RecentDocuments> recent_;
  mutable std::weak_ptr<const json::object> document_;
};
using VersionPtr = std::shared_ptr<const Version>;

}  // namespace sandbox
