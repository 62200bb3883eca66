#include "sandbox/negotiation.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace sandbox {
namespace {

struct MediaType {
  std::string_view type;
  std::map<std::string_view, std::string_view, std::less<>> parameters;
  std::string_view parameter(std::string_view name) const {
    const auto found = parameters.find(name);
    return found == parameters.end() ? std::string_view() : found->second;
  }
};

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (const std::string_view part = trimmed(text.substr(0, end)); !part.empty()) parts.push_back(part);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::vector<MediaType> media_types(std::string_view accept) {
  std::vector<MediaType> types;
  for (const std::string_view clause : split(accept, ',')) {
    MediaType media;
    for (const std::string_view part : split(clause, ';')) {
      if (media.type.empty()) {
        media.type = part;
        continue;
      }
      const std::size_t equals = std::min(part.find('='), part.size());
      media.parameters[part.substr(0, equals)] = part.substr(std::min(equals + 1, part.size()));
    }
    types.push_back(std::move(media));
  }
  return types;
}

bool is_json(std::string_view type) { return type == "application/json" || type == "*/*" || type == "application/*"; }

}  // namespace

Outcome<Form> negotiate(std::string_view accept) {
  const std::vector<MediaType> types = media_types(accept);
  if (types.empty()) return Form{};
  for (const MediaType& media : types) {
    if (!is_json(media.type)) continue;
    const std::string_view as = media.parameter("as");
    if (as.empty()) return Form{};
    const std::string_view version = media.parameter("v");
    if (media.parameter("g") != "meta.k8s.io" || (version != "v1" && version != "v1beta1")) continue;
    if (as == "Table") return Form{.shape = Shape::table, .version = std::string(version)};
    if (as == "PartialObjectMetadata") return Form{.shape = Shape::partial, .version = std::string(version)};
    if (as == "PartialObjectMetadataList") return Form{.shape = Shape::partials, .version = std::string(version)};
  }
  return refuse({.code = 406,
                 .reason = "NotAcceptable",
                 .message = "only the following media types are accepted: application/json",
                 .bare = true});
}

std::string_view aggregated_discovery(std::string_view accept) {
  for (const MediaType& media : media_types(accept)) {
    if (!is_json(media.type)) continue;
    if (media.parameter("g") == "apidiscovery.k8s.io" && media.parameter("as") == "APIGroupDiscoveryList")
      return media.parameter("v") == "v2beta1" ? "v2beta1" : media.parameter("v") == "v2" ? "v2" : "";
    if (media.parameter("as").empty()) return "";
  }
  return "";
}

}  // namespace sandbox
