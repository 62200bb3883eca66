// The part of kubectl that this program has, for machines without it: same words, same output.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "client/session.h"

namespace client {

// "svc web", "svc/web ipclaim/web", "svc,ipclaim": kinds and names as kubectl takes them.
struct Target {
  const kube::Resource* kind = nullptr;
  std::string name;  // "": all of the kind
};
base::Result<std::vector<Target>> parse_targets(const std::vector<std::string>& args);

struct GetOptions {
  std::vector<std::string> args;
  std::string output;  // "", wide, yaml, json, name, jsonpath=TEMPLATE
  std::string selector;
  std::string field_selector;
  bool no_headers = false;
  bool watch = false;
};
int get(const Session& session, const GetOptions& options);

// Creates or changes what the files describe. "-" is standard input.
int apply(const Session& session, const std::vector<std::string>& files);

struct DeleteOptions {
  std::vector<std::string> args;
  std::vector<std::string> files;
  std::string selector;
  bool all = false;
  bool ignore_not_found = false;
  bool wait = true;
  base::Duration timeout{};  // zero: a week
};
int remove(const Session& session, const DeleteOptions& options);

// `changes`: "key=value" sets, "key-" removes.
int annotate(const Session& session, const std::vector<std::string>& args, bool overwrite);

struct PatchOptions {
  std::vector<std::string> args;
  std::string type = "merge";
  std::string patch;  // JSON or YAML
  std::string subresource;
};
int patch(const Session& session, const PatchOptions& options);

struct WaitOptions {
  std::vector<std::string> args;
  std::string condition;  // jsonpath=PATH=VALUE, condition=TYPE[=STATUS], delete, create
  base::Duration timeout = std::chrono::seconds(30);
};
int wait(const Session& session, const WaitOptions& options);

// A newline-free YAML or JSON text, or the documents of a file ("-": standard input).
base::Result<std::vector<json::object>> read_documents(const std::string& file);

// Where objects of a kind are: the session's namespace, everywhere, or "" for cluster-scoped kinds.
std::string place_of(const Session& session, const kube::Resource& kind, bool single);

}  // namespace client
