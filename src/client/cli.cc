#include "client/cli.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <numeric>

#include "client/document.h"
#include "client/kubectl.h"
#include "client/product.h"
#include "kube/flags.h"

namespace client {
namespace {

constexpr const char* k_name = "kubectl-address";

// What the command line comes to.
struct Line {
  Connection connection;
  bool all_namespaces = false;
  bool waits = false;  // a command that tells, when Ctrl-C ends its wait, how far it is
  std::function<int(const Session&)> action;
};

void add_global(CLI::App& app, Line& line, bool everywhere) {
  const auto* group = "Global";
  app.add_option("--kubeconfig", line.connection.kubeconfig,
                 "Where the API server is; default: $KUBECONFIG, ~/.kube/config")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--context", line.connection.context, "Context of the kubeconfig")->type_name("NAME")->group(group);
  app.add_option("-n,--namespace", line.connection.ns, "Namespace; default: the context's")
      ->type_name("NAME")
      ->group(group);
  if (everywhere) app.add_flag("-A,--all-namespaces", line.all_namespaces, "In all namespaces")->group(group);
  app.add_option("--as", line.connection.as, "User to speak as, if you may")->type_name("USER")->group(group);
}

// A command with its own options; they live as long as the command line.
template <class Options>
CLI::App& command(CLI::App& app, Line& line, const std::string& name, const std::string& help,
                  std::shared_ptr<Options> options, int (*act)(const Session&, const Options&),
                  const std::string& group, bool everywhere = false) {
  CLI::App& sub = *app.add_subcommand(name, help)->group(group);
  add_global(sub, line, everywhere);
  sub.callback([&line, options, act] {
    line.action = [options, act](const Session& session) { return act(session, *options); };
  });
  return sub;
}

void add_waiting(CLI::App& sub, Line& line, Waiting& waiting) {
  sub.preparse_callback([&line](std::size_t) { line.waits = true; });
  sub.add_flag("--wait", waiting.wait, "Wait until it has happened (the default); --wait=false does not");
  kube::add_duration(sub, "--timeout", waiting.timeout, {}, "How long to wait");
}

// --- the product's commands ---

struct PairOptions {
  std::string claim;
  std::string service;
  Waiting waiting;
};
struct ReleaseOptions {
  std::string name;
  bool even_if_attached = false;
  Waiting waiting;
};
struct NoOptions {};

const std::string k_tenants = "For tenants";
const std::string k_admins = "For administrators";
const std::string k_kubectl = "As kubectl has them, for machines without it";

void add_claim(CLI::App& app, Line& line) {
  auto options = std::make_shared<ClaimOptions>();
  auto& sub = command(app, line, "claim", "Claim an address, which is yours until you release the claim", options,
                      claim, k_tenants);
  sub.add_option("NAME", options->name, "Name of the claim")->required();
  sub.add_option("--class", options->class_name, "Where it is to come from; default: the default class. See: classes")
      ->type_name("NAME");
  sub.add_option("--family", options->family, "IPv4, IPv6, or Dual for one of each")
      ->type_name("FAMILY")
      ->capture_default_str()
      ->transform(CLI::IsMember({"IPv4", "IPv6", "Dual"}, CLI::ignore_case));
  sub.add_option("--address", options->address, "This address and no other: the address, or the name of its object")
      ->type_name("ADDRESS");
  add_waiting(sub, line, options->waiting);
}

void add_pair(CLI::App& app, Line& line, const std::string& name, const std::string& help,
              int (*act)(const Session&, const PairOptions&)) {
  auto options = std::make_shared<PairOptions>();
  auto& sub = command(app, line, name, help, options, act, k_tenants);
  sub.add_option("CLAIM", options->claim, "Name of the claim")->required();
  sub.add_option("SERVICE", options->service, "Name of the Service, of type LoadBalancer")->required();
  add_waiting(sub, line, options->waiting);
}

void add_product(CLI::App& app, Line& line) {
  add_claim(app, line);
  add_pair(app, line, "attach", "Let a Service use the address of a claim",
           [](const Session& s, const PairOptions& o) { return attach(s, o.claim, o.service, o.waiting); });
  auto detached = std::make_shared<PairOptions>();
  auto& detaching = command<PairOptions>(
      app, line, "detach", "Take the address back from a Service; the claim keeps it", detached,
      [](const Session& s, const PairOptions& o) { return detach(s, o.service, o.waiting); }, k_tenants);
  detaching.add_option("SERVICE", detached->service, "Name of the Service")->required();
  add_waiting(detaching, line, detached->waiting);
  add_pair(app, line, "move", "Take the address of a claim from whichever Service has it to another one",
           [](const Session& s, const PairOptions& o) { return move(s, o.claim, o.service, o.waiting); });

  auto released = std::make_shared<ReleaseOptions>();
  auto& releasing = command<ReleaseOptions>(
      app, line, "release", "Delete a claim: its address is yours no longer", released,
      [](const Session& s, const ReleaseOptions& o) { return release(s, o.name, o.even_if_attached, o.waiting); },
      k_tenants);
  releasing.add_option("CLAIM", released->name, "Name of the claim")->required();
  releasing.add_flag("--even-if-attached", released->even_if_attached,
                     "Also when a Service uses it, which then loses the address");
  add_waiting(releasing, line, released->waiting);

  command<NoOptions>(
      app, line, "list", "Your claims, what they have, and which Service uses it", std::make_shared<NoOptions>(),
      [](const Session& s, const NoOptions&) { return list(s); }, k_tenants, true);
  auto asked = std::make_shared<std::string>();
  auto& asking = command<std::string>(
      app, line, "who", "Whose an address is, as far as you may know", asked,
      [](const Session& s, const std::string& a) { return who(s, a); }, k_tenants, true);
  asking.add_option("ADDRESS", *asked, "An IPv4 or IPv6 address")->required();
  command<NoOptions>(
      app, line, "classes", "Where addresses come from, and how many are left", std::make_shared<NoOptions>(),
      [](const Session& s, const NoOptions&) { return classes(s); }, k_tenants);

  auto recycled = std::make_shared<ReleaseOptions>();
  auto& recycling = command<ReleaseOptions>(
      app, line, "recycle", "Let anybody claim an address that was Released", recycled,
      [](const Session& s, const ReleaseOptions& o) { return recycle(s, o.name, o.waiting); }, k_admins);
  recycling.add_option("ADDRESS", recycled->name, "The address, or the name of its object")->required();
  add_waiting(recycling, line, recycled->waiting);
}

void add_inventory(CLI::App& app, Line& line, int (*inventory)(const Session&, const InventoryOptions&)) {
  auto options = std::make_shared<InventoryOptions>();
  auto& sub = command(app, line, "inventory",
                      "Which Services have addresses of a class without a claim, and whether "
                      "they can be adopted",
                      options, inventory, k_admins);
  sub.add_option("CLASS", options->class_name, "A class of the MetalLB driver")->required();
  sub.add_option("--metallb-namespace", options->metallb_namespace, "As the driver has it")
      ->type_name("NAME")
      ->capture_default_str();
  sub.add_option("--placeholder-namespace", options->placeholder_namespace, "As the driver has it")
      ->type_name("NAME")
      ->capture_default_str();
  sub.add_option("--load-balancer-class", options->load_balancer_class, "As the driver has it")->type_name("NAME");
  sub.add_option("-o,--output", options->output, "json")->type_name("FORMAT")->check(CLI::IsMember({"json"}));
}

// --- kubectl's ---

std::string without_equals(std::string text) { return text.starts_with('=') ? text.substr(1) : text; }

void add_get(CLI::App& app, Line& line) {
  auto options = std::make_shared<GetOptions>();
  auto& sub = command(app, line, "get", "Show objects", options, get, k_kubectl, true);
  sub.add_option("KIND", options->args, "KIND, KIND NAME…, KIND/NAME…, or KIND,KIND")->type_name("")->required();
  sub.add_option("-o,--output", options->output, "wide, yaml, json, name or jsonpath=TEMPLATE")
      ->type_name("FORMAT")
      ->transform(without_equals);
  sub.add_option("-l,--selector", options->selector, "Labels, such as app=web")->type_name("LABELS");
  sub.add_option("--field-selector", options->field_selector, "Fields, such as status.phase=Bound")
      ->type_name("FIELDS");
  sub.add_flag("--no-headers", options->no_headers, "Rows only");
  sub.add_flag("-w,--watch", options->watch, "Go on showing changes until interrupted");
}

void add_apply(CLI::App& app, Line& line) {
  auto files = std::make_shared<std::vector<std::string>>();
  auto& sub = command(app, line, "apply", "Create or change what a file describes", files, apply, k_kubectl);
  sub.add_option("-f,--filename", *files, "YAML or JSON; - is standard input")
      ->type_name("FILE")
      ->allow_extra_args(false)
      ->required();
}

void add_delete(CLI::App& app, Line& line) {
  auto options = std::make_shared<DeleteOptions>();
  auto& sub = command(app, line, "delete", "Delete objects, and wait until they are gone", options, remove, k_kubectl);
  sub.add_option("KIND", options->args, "KIND NAME…, KIND/NAME…, or KIND with -l or --all")->type_name("");
  sub.add_option("-f,--filename", options->files, "What the file describes")
      ->type_name("FILE")
      ->allow_extra_args(false);
  sub.add_option("-l,--selector", options->selector, "Labels, such as app=web")->type_name("LABELS");
  sub.add_flag("--all", options->all, "All of the kind in the namespace");
  sub.add_flag("--ignore-not-found", options->ignore_not_found, "It may be gone already");
  sub.add_flag("--wait", options->wait, "Wait until they are gone (the default); --wait=false does not");
  kube::add_duration(sub, "--timeout", options->timeout, {}, "How long to wait; 0s: a week");
}

struct AnnotateOptions {
  std::vector<std::string> args;
  bool overwrite = false;
};

void add_annotate(CLI::App& app, Line& line) {
  auto options = std::make_shared<AnnotateOptions>();
  auto& sub = command<AnnotateOptions>(
      app, line, "annotate", "Set or remove annotations", options,
      [](const Session& s, const AnnotateOptions& o) { return annotate(s, o.args, o.overwrite); }, k_kubectl);
  sub.add_option("WHAT", options->args, "KIND NAME KEY=VALUE… KEY-…")->type_name("")->required();
  sub.add_flag("--overwrite", options->overwrite, "Also where an annotation has another value");
}

void add_patch(CLI::App& app, Line& line) {
  auto options = std::make_shared<PatchOptions>();
  auto& sub = command(app, line, "patch", "Change fields of an object", options, patch, k_kubectl);
  sub.add_option("WHAT", options->args, "KIND NAME")->type_name("")->required();
  sub.add_option("-p,--patch", options->patch, "The fields to change, in JSON or YAML; null removes one")
      ->type_name("PATCH")
      ->required();
  sub.add_option("--type", options->type, "merge, the only one here")->type_name("TYPE")->capture_default_str();
  sub.add_option("--subresource", options->subresource, "Such as status")->type_name("NAME");
}

void add_wait(CLI::App& app, Line& line) {
  auto options = std::make_shared<WaitOptions>();
  auto& sub = command(app, line, "wait", "Wait until something is so", options, wait, k_kubectl);
  sub.add_option("WHAT", options->args, "KIND NAME, or KIND/NAME…")->type_name("")->required();
  sub.add_option("--for", options->condition, "jsonpath=PATH=VALUE, condition=TYPE[=STATUS], delete or create")
      ->type_name("CONDITION");
  kube::add_duration(sub, "--timeout", options->timeout, {}, "How long to wait");
}

// --- wrong command lines ---

// How many letters make the difference.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t corner = row[0]++;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = corner + (a[i - 1] == b[j - 1] ? 0 : 1);
      corner = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

// The first word that should be a command and is none; "" if all is well.
std::string unknown_command(const CLI::App& app, const std::vector<std::string>& args) {
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (args[i] == "-n" || args[i] == "--namespace" || args[i] == "--kubeconfig" || args[i] == "--context" ||
        args[i] == "--as") {
      ++i;
    } else if (!args[i].starts_with('-')) {
      const auto subs = app.get_subcommands({});
      const bool known = std::ranges::any_of(subs, [&](const CLI::App* sub) { return sub->get_name() == args[i]; });
      return known ? std::string() : args[i];
    }
  }
  return {};
}

std::string suggestion(const CLI::App& app, const std::string& word) {
  std::string best;
  std::string all;
  for (const CLI::App* sub : app.get_subcommands({})) {
    const std::string& name = sub->get_name();
    all += (all.empty() ? "" : ", ") + name;
    if (distance(word, name) <= 2 && (best.empty() || distance(word, name) < distance(word, best))) best = name;
  }
  return best.empty() ? "the commands are " + all : "did you mean " + best + "?";
}

int complain(const Program& program, const CLI::App& app, const CLI::ParseError& error,
             const std::vector<std::string>& args) {
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
    if (dynamic_cast<const CLI::CallForVersion*>(&error) != nullptr) {
      program.out << error.what() << "\n";
      return k_done;
    }
    program.out << app.help();
    return k_done;
  }
  const auto chosen = app.get_subcommands();
  const std::string help = fmt::format("{}{} --help", k_name, chosen.empty() ? "" : " " + chosen.front()->get_name());
  if (args.empty()) {
    program.err << app.help();
    return k_usage;
  }
  program.err << fmt::format("error: {}\nSee: {}\n", error.what(), help);
  return k_usage;
}

}  // namespace

namespace {

// What the name of a namespace can be (RFC 1123).
bool is_label(std::string_view name) {
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !name.empty() && name.size() <= 63 && plain(name.front()) && plain(name.back()) &&
         std::ranges::all_of(name, [&](char c) { return plain(c) || c == '-'; });
}

// "-n=" and "--namespace=" are empty as well; "key=" of annotate sets an empty value.
bool is_empty_argument(std::string_view arg) {
  return arg.empty() || (arg.starts_with('-') && arg.find('=') == arg.size() - 1);
}

// What a command has printed is its answer: if it could not be written, the command has failed.
int flushed(const Program& program, int status) {
  program.out.flush();
  if (program.out || status != k_done) return status;
  program.err << "error: the answer cannot be written\n";
  return k_failed;
}

}  // namespace

int run(const std::vector<std::string>& args, const Program& program) {
  Line line;
  CLI::App app(
      "Claims, attaches and moves IP addresses that belong to you. Also a plugin of kubectl: kubectl address COMMAND",
      k_name);
  app.set_version_flag("--version", fmt::format("{} {}", k_name, program.version));
  app.require_subcommand(1);
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::Throw);
  add_global(app, line, false);
  add_product(app, line);
  if (program.inventory != nullptr) add_inventory(app, line, program.inventory);
  add_get(app, line);
  add_apply(app, line);
  add_delete(app, line);
  add_annotate(app, line);
  add_patch(app, line);
  add_wait(app, line);
  if (const std::string word = unknown_command(app, args); !word.empty()) {
    program.err << fmt::format("error: there is no command \"{}\"; {}\nSee: {} --help\n", word, suggestion(app, word),
                               k_name);
    return k_usage;
  }
  // An empty name would mean all of a kind to the server; it comes of a variable that is not set.
  if (std::ranges::any_of(args, is_empty_argument)) {
    program.err << fmt::format("error: an argument is empty; is a variable not set?\nSee: {} --help\n", k_name);
    return k_usage;
  }
  try {
    app.parse(std::vector<std::string>(args.rbegin(), args.rend()));
  } catch (const CLI::ParseError& error) {
    return complain(program, app, error, args);
  }
  if (const std::string& ns = line.connection.ns; !ns.empty() && !is_label(ns)) {
    program.err << fmt::format(
        "error: \"{}\" cannot be a namespace: its name has lower case letters, digits and '-', 63 at most, and none of "
        "its ends is a '-'\nSee: {} --help\n",
        harmless(ns), k_name);
    return k_usage;
  }
  auto connected = program.connect(line.connection);
  if (!connected) {
    program.err << "error: " << connected.error().message << "\n";
    return k_failed;
  }
  const Session session{.server = *connected->server,
                        .ns = line.connection.ns.empty() ? connected->ns : line.connection.ns,
                        .all_namespaces = line.all_namespaces,
                        .out = program.out,
                        .err = program.err,
                        .program = k_name};
  if (line.waits) session.server.catch_interrupt();
  const int status = flushed(program, line.action(session));
  if (!session.server.interrupted()) return status;
  program.err << "interrupted: the wait is over, and what was asked for goes on in the cluster\n";
  return k_interrupted;
}

}  // namespace client
