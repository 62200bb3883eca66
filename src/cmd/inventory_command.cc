#include "cmd/inventory_command.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

#include "api/builtin.h"
#include "api/ipam.h"
#include "api/metallb.h"
#include "client/table.h"
#include "metallb/inventory_report.h"

namespace {

namespace json = boost::json;

// False, and said, where they cannot be listed or read.
bool add_list(const client::Session& session, const kube::Kind& kind, std::string_view ns,
              std::vector<metallb::ReportList>& lists) {
  const auto items = session.list(kind.resource, ns);
  if (!items) {
    session.fail(items.error());
    return false;
  }
  metallb::ReportList list{.kind = &kind, .objects = {}};
  for (const json::object& item : *items) {
    auto object = kind.decode(json::serialize(item));
    if (!object) {
      session.fail(object.error().message);
      return false;
    }
    list.objects.push_back(std::move(*object));
  }
  lists.push_back(std::move(list));
  return true;
}

void print_table(const client::Session& session, const std::vector<metallb::ReportRow>& rows) {
  client::Table table({"NAMESPACE", "SERVICE", "ADDRESS", "CLAIM", "PLAN"});
  for (const auto& row : rows) {
    table.add({row.ns, row.service, row.addresses, row.claim, row.why.empty() ? row.plan : row.plan + ": " + row.why});
  }
  table.print(session.out);
}

void print_json(const client::Session& session, const std::vector<metallb::ReportRow>& rows) {
  json::array list;
  for (const auto& row : rows) {
    json::object item{{"namespace", row.ns}, {"service", row.service}, {"address", row.addresses}, {"plan", row.plan}};
    if (!row.claim.empty()) item["claim"] = row.claim;
    if (!row.why.empty()) item["why"] = row.why;
    list.push_back(std::move(item));
  }
  session.out << json::serialize(list) << "\n";
}

}  // namespace

int inventory_command(const client::Session& session, const client::InventoryOptions& options) {
  std::vector<metallb::ReportList> lists;
  for (const kube::Kind* kind : {&api::IPAddressClass::kind(), &api::IPAddress::kind(), &api::IPAddressClaim::kind(),
                                 &api::Service::kind(), &api::IPAddressPool::kind()}) {
    const std::string ns = kind == &api::IPAddressPool::kind() ? options.metallb_namespace : "";
    if (!add_list(session, *kind, ns, lists)) return client::k_failed;
  }
  metallb::Options driver;
  driver.metallb_namespace = options.metallb_namespace;
  driver.placeholder_namespace = options.placeholder_namespace;
  driver.load_balancer_class = options.load_balancer_class;
  const auto rows = metallb::report_inventory(driver, options.class_name, std::move(lists));
  if (!rows) return session.fail(rows.error().message);
  if (options.output == "json") {
    print_json(session, *rows);
  } else if (rows->empty()) {
    session.err << fmt::format("No Service has an address of class {} without a claim.\n", options.class_name);
  } else {
    print_table(session, *rows);
  }
  return client::k_done;
}
