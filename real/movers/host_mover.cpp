// See host_mover.h.
#include "real/movers/host_mover.h"

#include "sim/core/check.h"

namespace busbw::real {
namespace {

class HostMover : public Mover {
 public:
  HostMover(std::unique_ptr<Mover> inside, std::unique_ptr<Mover> between,
            std::vector<bool> same_host)
      : inside_(std::move(inside)),
        between_(std::move(between)),
        same_host_(std::move(same_host)) {}

  [[nodiscard]] std::string describe() const override {
    return inside_->describe() + " inside the host, " + between_->describe() + " between hosts";
  }
  void add_memory(std::byte* start, std::size_t bytes) override {
    inside_->add_memory(start, bytes);
    between_->add_memory(start, bytes);
  }
  [[nodiscard]] verbs::Registration registration() const override {
    verbs::Registration all = inside_->registration();
    const verbs::Registration more = between_->registration();
    all.regions += more.regions;
    all.bytes += more.bytes;
    all.us += more.us;
    return all;
  }
  std::string open(const Group& group, const std::vector<Link>& links) override {
    CHECK(same_host_.size() == group.names.size(), "{} ranks placed of {}", same_host_.size(),
          group.names.size());
    self_ = group.self;
    std::vector<Link> near;
    std::vector<Link> far;
    for (const Link& link : links) {
      if (link.id.source == self_ || link.id.destination == self_)
        (is_near(link.id) ? near : far).push_back(link);
    }
    WireWriter writer;
    const std::string inside = inside_->open(group, near);
    writer.text(inside).text(between_->open(group, far));
    return writer.take();
  }
  void connect(const std::vector<std::string>& offers, const Patience& patience) override {
    std::vector<std::string> inside;
    std::vector<std::string> between;
    for (const std::string& offer : offers) {
      WireReader reader(offer, "a rank");
      inside.push_back(reader.text());
      between.push_back(reader.text());
      reader.end();
    }
    inside_->connect(inside, patience);
    between_->connect(between, patience);
  }
  void established() override {
    inside_->established();
    between_->established();
  }
  Sender& sender(const LinkId& id) override { return mover_of(id).sender(id); }
  Receiver& receiver(const LinkId& id) override { return mover_of(id).receiver(id); }
  [[nodiscard]] LinkView look_at(const LinkId& id) override { return mover_of(id).look_at(id); }
  bool progress() override {
    const bool near = inside_->progress();
    return between_->progress() || near;
  }
  bool arm(std::vector<int>& descriptors) override {
    const bool near = inside_->arm(descriptors);
    return between_->arm(descriptors) && near;
  }

 private:
  [[nodiscard]] bool is_near(const LinkId& id) const {
    const RankId other = id.source == self_ ? id.destination : id.source;
    return same_host_[other.index()];
  }
  Mover& mover_of(const LinkId& id) { return is_near(id) ? *inside_ : *between_; }

  std::unique_ptr<Mover> inside_;
  std::unique_ptr<Mover> between_;
  std::vector<bool> same_host_;
  RankId self_;
};

}  // namespace

std::unique_ptr<Mover> make_host_mover(std::unique_ptr<Mover> inside,
                                       std::unique_ptr<Mover> between,
                                       std::vector<bool> same_host) {
  return std::make_unique<HostMover>(std::move(inside), std::move(between), std::move(same_host));
}

}  // namespace busbw::real
