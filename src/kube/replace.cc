// Store::replace: a complete list becomes the store's content, in slices if it is long.
#include <utility>

#include "kube/check.h"
#include "kube/store.h"

namespace kube {
namespace {
// Done within the turn that brings the list.
constexpr std::size_t k_at_once = 1000;
// So many places are looked through in the time of taking in one object.
constexpr std::size_t k_sweep_share = 2;
}  // namespace

void Store::replace(std::vector<ObjectPtr> objects, std::string_view version) {
  replacement_ = std::make_unique<Replacement>();
  replacement_->objects = std::move(objects);
  replacement_->version = version;
  replacement_->reset = compare_versions(version, version_) < 0;
  ++replacements_;
  if (replacement_->reset) {
    tombstones_.clear();
    version_ = version;
  }
  advance(version);
  if (listener_.unfinished == nullptr) {
    while (!resume(k_at_once)) {
    }
  } else if (!resume(k_at_once)) {
    listener_.unfinished(*this);
  }
}

bool Store::resume(std::size_t objects) {
  if (!replacing()) return true;
  Replacement& work = *replacement_;
  for (; objects > 0 && work.next < work.objects.size(); --objects, ++work.next) {
    ObjectPtr object = std::move(work.objects[work.next]);
    Slot& place = slot(object->meta.ns, object->meta.name);
    take(place, std::move(object), &work);
  }
  if (work.next < work.objects.size()) return false;
  // Slots come in no order that would outlast the map's growth: then it starts over, which does no harm.
  for (std::size_t buckets = objects * k_sweep_share;; --buckets, ++work.bucket) {
    if (work.buckets != slots_.bucket_count()) {
      work.buckets = slots_.bucket_count();
      work.bucket = 0;
    }
    if (work.bucket == work.buckets) break;
    if (buckets == 0) return false;
    for (auto held = slots_.begin(work.bucket); held != slots_.end(work.bucket); ++held) sweep(*held->second, work);
  }
  finish_replacement();
  return true;
}

// What was held and is not in the list is gone, unless it is an own result that the list could not know yet.
void Store::sweep(Slot& slot, const Replacement& replacement) {
  if (slot.object == nullptr || slot.listed == replacements_) return;
  if (!replacement.reset && compare_versions(slot.object->meta.resourceVersion, replacement.version) > 0) return;
  put(slot, nullptr);
}

void Store::finish_replacement() {
  std::erase_if(tombstones_, [&](const auto& item) {
    const Tombstone& stone = item.second;
    const bool confirmed = compare_versions(replacement_->version, stone.version) >= 0 && stone.shown != replacements_;
    return stone.for_list || confirmed;
  });
  replacement_.reset();
  if (synced_) return;
  synced_ = true;
  if (served_ && listener_.touched) listener_.touched(availability_);
}

void Store::set_served(bool served) {
  if (std::exchange(served_, served) == served) return;
  if (synced_ && listener_.touched) listener_.touched(availability_);
}

}  // namespace kube
