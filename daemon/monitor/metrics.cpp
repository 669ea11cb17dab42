// SPDX-License-Identifier: Apache-2.0
#include "daemon/monitor/metrics.hpp"

#include <sstream>
#include <string_view>
#include <utility>

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

namespace l3 {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using labels = std::vector<ClientMetric::Label>;

constexpr double seconds_per_ns = 1e-9;

// Gathers families; each call adds one, or one more series of the family added last.
class exposition {
public:
  exposition& counter(std::string_view name, const char* help) {
    return family(name, help, MetricType::Counter);
  }
  exposition& gauge(std::string_view name, const char* help) {
    return family(name, help, MetricType::Gauge);
  }
  exposition& histogram(std::string_view name, const char* help) {
    return family(name, help, MetricType::Histogram);
  }

  template <class Number>
  exposition& value(Number v, labels l = {}) {
    ClientMetric& m = series(std::move(l));
    // One of the two is written, by the family's type.
    m.counter.value = m.gauge.value = static_cast<double>(v);
    return *this;
  }
  exposition& values(const reason_counts& by_reason) {
    for (const auto& [reason, n] : by_reason) value(n, {{"reason", reason}});
    return *this;
  }
  exposition& distribution(const histogram_snapshot& h, labels l = {}) {
    ClientMetric& m = series(std::move(l));
    m.histogram.sample_count = h.count;
    m.histogram.sample_sum = h.sum;
    for (std::size_t i = 0; i < h.bounds.size(); ++i) {
      m.histogram.bucket.push_back({h.up_to[i], static_cast<double>(h.bounds[i]) * seconds_per_ns});
    }
    return *this;
  }

  [[nodiscard]] std::string text() const {
    std::ostringstream out;
    prometheus::TextSerializer().Serialize(out, families_);
    return out.str();
  }

private:
  exposition& family(std::string_view name, const char* help, MetricType type) {
    families_.push_back({"koto_l3_" + std::string(name), help, type, {}});
    return *this;
  }
  ClientMetric& series(labels l) {
    ClientMetric& m = families_.back().metric.emplace_back();
    m.label = std::move(l);
    return m;
  }

  std::vector<MetricFamily> families_;
};

void add_process(exposition& out, const metrics_snapshot& s) {
  out.gauge("memory_planned_bytes", "Allocated at the start; nothing large is later.")
      .value(static_cast<double>(s.memory_planned));
  out.gauge("build_info", "Version of the program.").value(1, {{"version", s.version}});
  out.gauge("backend_info", "Where the kernels run.")
      .value(1, {{"backend", s.backend}, {"device", s.device}});
  out.gauge("start_time_seconds", "When the daemon started, since 1970-01-01 UTC.")
      .value(s.started);
  out.gauge("last_run_lost_events", "Events that were in memory when the run before this start did "
                                    "not end properly, at most; 0 if it ended properly.")
      .value(s.last_run_lost);
  out.counter("reloads_total", "Times the configuration was read again; refused: it had mistakes "
                               "and changed nothing.")
      .value(s.reloads_applied, {{"outcome", "applied"}})
      .value(s.reloads_refused, {{"outcome", "refused"}});
  out.gauge("state", "1 for the state that the daemon is in.");
  for (std::size_t p = 0; p < phases; ++p) {
    const auto which = static_cast<phase>(p);
    out.value(s.state.now == which ? 1 : 0, {{"state", std::string(name_of(which))}});
  }
  out.gauge("degraded", "1 for each reason why the daemon is degraded.");
  for (std::size_t t = 0; t < troubles; ++t) {
    out.value(s.state.has[t] ? 1 : 0, {{"reason", std::string(name_of(static_cast<trouble>(t)))}});
  }
  out.gauge("ready", "1 if data that comes now is taken and computed.")
      .value(s.state.ready() ? 1 : 0);
}

void add_input(exposition& out, const metrics_snapshot& s) {
  out.counter("datagrams_total", "Datagrams, or over TCP records, received.");
  for (const auto& l : s.inputs) out.value(l.datagrams, {{"link", l.name}});
  out.counter("received_bytes_total", "Bytes received.");
  for (const auto& l : s.inputs) out.value(l.bytes, {{"link", l.name}});
  out.counter("kernel_drops_total", "Datagrams for which the socket had no room.");
  for (const auto& l : s.inputs) out.value(l.kernel_drops, {{"link", l.name}});

  const datagram_account& d = s.account.datagrams;
  out.counter("refused_total", "Datagrams and records refused.").values(d.malformed);
  out.counter("chunks_total", "Datagrams taken, by what they were; those that are duplicate "
                              "or late are also data.")
      .value(d.data, {{"kind", "data"}})
      .value(d.trailers, {{"kind", "trailer"}})
      .value(d.end_of_spill, {{"kind", "end_of_spill"}})
      .value(d.duplicate, {{"kind", "duplicate"}})
      .value(d.late, {{"kind", "late"}});
  out.counter("spills_total", "Spills that ended.").value(s.spills);
}

void add_fragments(exposition& out, const metrics_snapshot& s) {
  const fragment_account& f = s.account.fragments;
  out.counter("fragments_seen_total", "Fragments of which anything arrived.").value(f.seen);
  out.counter("fragments_total", "Fragments by what became of them; duplicate: came again, "
                                 "counted once for each event and crate, and dropped.")
      .value(f.admitted, {{"outcome", "admitted"}})
      .value(f.incomplete, {{"outcome", "incomplete"}})
      .value(sum_of(f.malformed), {{"outcome", "malformed"}})
      .value(f.late, {{"outcome", "late"}})
      .value(f.duplicate, {{"outcome", "duplicate"}});
  out.counter("fragments_malformed_total", "Fragments whose content was wrong.")
      .values(f.malformed);
  out.gauge("fragments_in_flight", "Fragments of events that are being built.")
      .value(s.fragments_in_flight);
  out.gauge("fragments_unaccounted", "Fragments seen minus all that is known to have become of "
                                     "them; 0 if nothing was lost silently.")
      .value(fragments_unaccounted(s));
}

void add_events(exposition& out, const metrics_snapshot& s) {
  const event_account& e = s.account.events;
  out.counter("events_admitted_total", "Events admitted.").value(e.admitted);
  out.counter("events_total", "Admitted events by what became of them.")
      .value(e.forwarded, {{"outcome", "forwarded"}})
      .value(e.rejected, {{"outcome", "rejected"}})
      .value(sum_of(e.shed), {{"outcome", "shed"}});
  out.counter("events_shed_total", "Admitted events that were given up.").values(e.shed);
  out.gauge("events_in_flight", "Admitted events on their way.").value(e.in_flight);
  out.gauge("events_unaccounted", "Events admitted minus all that is known to have become of them; "
                                  "0 if nothing was lost silently.")
      .value(events_unaccounted(s));
  out.counter("events_incomplete_total", "Events that lacked fragments at their time limit.")
      .value(s.events_incomplete);
  out.counter("events_parked_total", "Events that ended outside the frame in which they began.")
      .value(s.events_parked);
  out.counter("boards_damaged_total",
              "Boards that could not be decoded and were stored as they came.")
      .value(s.boards_damaged);
  out.counter("boards_opaque_total", "Boards that had compressed their samples themselves.")
      .value(s.boards_opaque);
  out.counter("waveform_bytes_total", "Bytes of the fragments of packed events.")
      .value(s.waveform_bytes);
  out.counter("packed_bytes_total", "Bytes of packed events.").value(s.packed_bytes);
}

void add_lines(exposition& out, const metrics_snapshot& s) {
  if (s.lines.empty()) return;
  out.counter("line_events_total", "Events on which a trigger line fired, and what its prescale "
                                   "left of them.");
  for (const line_snapshot& l : s.lines) {
    out.value(l.fired, {{"line", l.name}, {"outcome", "fired"}});
    out.value(l.kept, {{"line", l.name}, {"outcome", "kept"}});
  }
  out.counter("line_refused_total", "Rejected events, by why each line did not keep them.");
  for (const line_snapshot& l : s.lines)
    for (const auto& [reason, n] : l.refused) out.value(n, {{"line", l.name}, {"reason", reason}});
  out.gauge("line_prescale", "One in so many of a line's events is kept.");
  for (const line_snapshot& l : s.lines) out.value(l.prescale, {{"line", l.name}});
  out.counter("line_shed_total",
              "Events that a line kept and that were given up for want of room.");
  for (const line_snapshot& l : s.lines) out.value(l.shed, {{"line", l.name}});
  out.gauge("line_shed_prescale",
            "Beside its own prescale, one in so many of a line's events is kept "
            "while there is hardly room; 0: none.");
  for (const line_snapshot& l : s.lines) out.value(l.shed_prescale, {{"line", l.name}});
  out.counter("events_not_judged_total",
              "Events kept because they had more clusters or hits than there is room for.")
      .value(s.events_not_judged);
}

void add_pipeline(exposition& out, const metrics_snapshot& s) {
  out.gauge("frames", "Frames by state.");
  for (std::size_t i = 0; i < s.frames.size(); ++i)
    out.value(s.frames[i], {{"state", frame_state_names[i]}});
  out.histogram("stage_duration_seconds", "Time a frame spends in a stage.")
      .distribution(s.compute_time, {{"stage", "compute"}})
      .distribution(s.drain_time, {{"stage", "drain"}});
  out.histogram("event_latency_seconds",
                "From the last fragment of an event to the acknowledgement of its block.")
      .distribution(s.event_latency);
}

void add_engine(exposition& out, const metrics_snapshot& s) {
  const engine_snapshot& e = s.engine;
  out.counter("engine_failures_total", "Frames that the device did not compute, or not rightly.");
  for (const auto& [kind, n] : e.failures) out.value(n, {{"kind", kind}});
  out.gauge("engine_bypassed", "1 while the CPU computes what the device should.")
      .value(e.bypassed ? 1 : 0);
  out.counter("bypassed_frames_total", "Frames that the CPU computed in the device's place.")
      .value(e.frames_bypassed);
  out.counter("engine_restarts_total", "Times the device was tried again after a failure.")
      .value(e.restarts);
  out.counter("verified_events_total",
              "Packed events that were unpacked on the CPU and compared with what came in.")
      .value(e.events_verified);
  out.counter("wrong_events_total", "Those of them that did not unpack to what came in.")
      .value(e.events_wrong);
  out.counter("batches_dumped_total", "Batches that hurt and were written to compute.dumps.")
      .value(e.batches_dumped);
  out.counter(
         "batches_not_dumped_total",
         "Batches that hurt and were not: one was being written, too soon after another, or for "
         "want of room.")
      .value(e.batches_not_dumped);
}

void add_spool(exposition& out, const spool_snapshot& s) {
  out.gauge("spool_bytes", "Bytes of blocks on disk that the receiver has not stored.")
      .value(s.bytes);
  out.gauge("spool_disk_bytes", "Bytes of the spool's files.").value(s.disk_bytes);
  out.gauge("spool_room_bytes", "Bytes that may still be written to the spool.").value(s.capacity);
  out.gauge("spool_blocks", "Blocks on disk that the receiver has not stored.").value(s.blocks);
  out.gauge("spool_events", "Events on disk that the receiver has not stored; copies of what also "
                            "waits in memory included.")
      .value(s.events);
  out.counter("spilled_events_total", "Events that went to disk for lack of room in memory.")
      .value(s.spilled);
  out.counter("spool_write_errors_total", "Blocks that the disk did not take at once.")
      .value(s.write_errors);
  out.counter("spool_damaged_total", "Places on disk where blocks were damaged and set aside.")
      .value(s.damaged);
  out.counter("spool_missing_blocks_total",
              "Blocks whose file is gone from the spool, with unknown numbers of events.")
      .value(s.missing);
}

void add_output(exposition& out, const metrics_snapshot& s) {
  if (s.spool) add_spool(out, *s.spool);
  out.gauge("outbox_bytes", "Bytes in the outbox: not yet stored by the receiver.")
      .value(s.outbox_bytes);
  out.gauge("outbox_capacity_bytes", "Bytes that the outbox can hold.").value(s.outbox_capacity);
  out.gauge("outbox_blocks", "Sealed blocks in the outbox.").value(s.outbox_blocks);
  out.counter("blocks_sent_total", "Blocks sent, repeats not counted.").value(s.blocks_sent);
  out.counter("blocks_resent_total", "Blocks sent again.").value(s.blocks_resent);
  out.counter("blocks_stored_total", "Blocks that the receiver has stored.").value(s.blocks_stored);
  out.counter("sent_bytes_total", "Bytes of blocks sent, repeats included.").value(s.bytes_sent);
  out.counter("reconnects_total", "Times the output line had to say hello again.")
      .value(s.reconnects);
  out.counter("refusals_total", "Refusals by the receiver.").value(s.refusals);
  out.gauge("receiver_connected", "1 while the receiver answers.")
      .value(s.receiver_connected ? 1 : 0);
}

} // namespace

histogram_snapshot snapshot_of(const latency_histogram& h) {
  histogram_snapshot s;
  // Buckets first: entries that come meanwhile may then miss from them, but no bucket exceeds the
  // count.
  for (std::size_t i = 0; i < s.bounds.size(); ++i)
    s.up_to[i] = h.count_up_to(std::chrono::nanoseconds(s.bounds[i]));
  s.median = in_seconds(h.quantile(0.5));
  s.p99 = in_seconds(h.quantile(0.99));
  s.sum = in_seconds(h.sum());
  s.count = h.count();
  return s;
}

std::int64_t events_unaccounted(const metrics_snapshot& s) {
  const event_account& e = s.account.events;
  return static_cast<std::int64_t>(e.admitted - e.forwarded - e.rejected - sum_of(e.shed) -
                                   e.in_flight);
}

std::int64_t fragments_unaccounted(const metrics_snapshot& s) {
  const fragment_account& f = s.account.fragments;
  return static_cast<std::int64_t>(f.seen - f.admitted - f.incomplete - sum_of(f.malformed) -
                                   f.late - f.duplicate - s.fragments_in_flight);
}

std::string render_metrics(const metrics_snapshot& s) {
  exposition out;
  add_process(out, s);
  add_input(out, s);
  add_fragments(out, s);
  add_events(out, s);
  add_lines(out, s);
  add_pipeline(out, s);
  add_engine(out, s);
  add_output(out, s);
  return out.text();
}

} // namespace l3
