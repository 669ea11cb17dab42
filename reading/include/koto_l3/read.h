/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what koto-l3 stores: a store, a daemon's spool, a file of either (.kl3), or level-2 data
 * (.l2raw). Every function works on many events at once and fills arrays of the caller.
 *
 * A reader is opaque. Functions that take a const reader may be called by several threads at the
 * same time; l3_read_open, l3_read_refresh and l3_read_close may not run beside another call for
 * the same reader. No function prints, exits or throws. A function that fails returns -1 (or NULL),
 * and l3_read_error says why; what it has written to the caller's arrays is then undefined.
 *
 * Files are mapped into memory. A file that is shortened while a program reads it, or that its disk
 * cannot read, ends the program with the signal SIGBUS; a file that grows or is removed does not.
 *
 * Events are numbered from 0, in the order of the files and of the blocks in them. Numbers stay
 * valid when l3_read_refresh finds more. All values are the integers of docs/formats.md; each
 * field's description has the factor that makes MeV, mm and ns of them. */
#ifndef KOTO_L3_READ_H
#define KOTO_L3_READ_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The version of the library, such as "1.0.0". */
const char* l3_read_version(void);

/** Why the last call of this thread failed; empty before the first failure. It names the file and
 * the place, and is valid until the next failure in this thread. */
const char* l3_read_error(void);

typedef struct l3_reader l3_reader;

enum {
  /** Damaged blocks and events are left out and listed in L3_READ_DAMAGE. Their rows have the
   * state L3_READ_DAMAGED and zeros. Without this flag they make a function fail. */
  L3_READ_SKIP_DAMAGED = 1,
  /** The checksum of a block is verified whenever bytes of it are read, not only before most of
   * its waveforms are decoded (see l3_read_samples). */
  L3_READ_CHECK_ALL = 2
};

/** Opens a folder or a file, and reads the headers of all blocks, but no payloads: 64 bytes for
 * each block. `flags` is a sum of the constants above. Returns NULL if the path cannot be read, is
 * of another kind, or of a version that this library does not know. */
l3_reader* l3_read_open(const char* path, unsigned flags);

/** Frees the reader and its texts. NULL is allowed. */
void l3_read_close(l3_reader* reader);

/** Looks for blocks that were written since, in known and in new files. Returns the number of
 * events. A block that is still being written is not damage; it is found later. */
int64_t l3_read_refresh(l3_reader* reader);

/* ---- Tables ---------------------------------------------------------------------------------- */

/* The tables, and the fields of each; l3_read_fields has their types, units and meanings.
 *
 * EVENTS     a row for each event
 *              session run node settings (row of SETTINGS) spill number state
 *              flags kept_waveforms reference_time bytes
 *              selected (1: it has a summary; if 0, all below are 0 or null) settings_hash fired
 *              kept_by vetoes unknown trigger status photons_found asked control
 *              and the quantities, from calorimeter_energy to event_time
 * PHOTONS    a list for each event: energy time x y crystals
 * HITS       a list for each event: energy time module counter
 * DECISIONS  a list for each event, by bit: id prescale reason payload control
 * SESSIONS   a row for each session: session run node settings blocks events left_out bytes begin
 *            end
 * SETTINGS   a row for each set of settings: hash (0: no selection) record; texts: software menu
 *            detector calibration. A session without settings has a row with empty texts, and the
 *            readout of KOTO
 * LINES      a row for each line of each SETTINGS: settings bit id prescale payload control
 *            priority; text: name
 * COUNTERS   a row for each counter of each SETTINGS: settings bit threshold from to modules; text:
 *            name
 * CHANNELS   a row for each input of each SETTINGS, in the order of the readout: settings crate
 *            slot channel length kind (0 unused, 1 crystal, 2 counter) counter (its bit) module end
 *            x y size dead gain time least_height pedestal noise; texts: name ("crystal 17",
 *            "CBAR module 3 end 1") detector ("CSI", "CBAR")
 * DAMAGE     a row for each damaged place found so far: offset bytes events; texts: file what
 * PULSES     the fields of l3_read_pulses: pedestal peak peak_sample flags edge sum energy time */
typedef enum {
  L3_READ_EVENTS = 0,
  L3_READ_PHOTONS = 1,
  L3_READ_HITS = 2,
  L3_READ_DECISIONS = 3,
  L3_READ_SESSIONS = 4,
  L3_READ_SETTINGS = 5,
  L3_READ_LINES = 6,
  L3_READ_COUNTERS = 7,
  L3_READ_CHANNELS = 8,
  L3_READ_DAMAGE = 9,
  L3_READ_PULSES = 10
} l3_read_table;

typedef enum {
  L3_READ_U8 = 0,
  L3_READ_U16 = 1,
  L3_READ_U32 = 2,
  L3_READ_U64 = 3,
  L3_READ_I16 = 4,
  L3_READ_I32 = 5,
  L3_READ_F64 = 6,
  L3_READ_TEXT = 7 /* has no column: l3_read_text */
} l3_read_type;

/** The description of a column. */
typedef struct {
  const char* name;
  l3_read_type type;
  int nullable; /* 1: the least value of the type (an I32's -2147483648) means that there is none */
  double scale; /* value * scale is in `unit`; 1 for numbers without unit, bits and identifiers */
  const char* unit;  /* "MeV", "mm", "ns", "" ... */
  const char* about; /* the meaning, for people */
} l3_read_field;

/** Sets `*fields` to the fields of a table, in the order of its columns, and returns their number.
 * They are the same for every reader of this version of the library. */
size_t l3_read_fields(l3_read_table table, const l3_read_field** fields);

/** Returns the number of events, or of rows of a table of the whole reader; -1 for other tables. */
int64_t l3_read_size(const l3_reader* reader, l3_read_table table);

/** Names `count` rows or events: those in `rows`, in any order, or if `rows` is NULL first,
 * first + 1, ... */
typedef struct {
  uint64_t first;
  uint64_t count;
  const uint64_t* rows;
} l3_read_range;

/** Fills columns of L3_READ_EVENTS or of a table of the whole reader. `columns` has a pointer for
 * each field: to an array of `range->count` values, or NULL for a field that is not wanted; it is
 * always NULL for texts. Columns of L3_READ_EVENTS that need only the index (run, node, session,
 * settings) read nothing from disk. Returns the number of rows with damage (0 unless
 * L3_READ_SKIP_DAMAGED), or -1. */
int64_t l3_read_rows(const l3_reader* reader, l3_read_table table, const l3_read_range* range,
                     void* const* columns, int threads);

/** Fills L3_READ_PHOTONS, L3_READ_HITS or L3_READ_DECISIONS, one list after the other. That of the
 * event at place i of the range has rows offsets[i] ... offsets[i + 1] - 1. `offsets` has
 * `range->count` + 1 entries. `columns` is as above, with room for `room` rows each, or NULL to
 * fill offsets only. Returns the number of rows, even if only some of them fit, or -1. */
int64_t l3_read_lists(const l3_reader* reader, l3_read_table table, const l3_read_range* range,
                      uint64_t* offsets, void* const* columns, uint64_t room, int threads);

/** Returns a text field in UTF-8, or NULL if the row has no such field. Sets `*bytes` to its
 * length, unless NULL. A zero follows the text, which is valid until the reader is closed. */
const char* l3_read_text(const l3_reader* reader, l3_read_table table, uint64_t row,
                         const char* field, size_t* bytes);

/** Returns an event with its detector as JSON in UTF-8, which selection/display/event.js describes
 * and draws. Sets `*bytes` to its length, unless NULL. A zero follows the text, which is valid
 * until the next call in this thread. Returns NULL after an error, such as a damaged event, or a
 * session without settings. */
const char* l3_read_event_json(const l3_reader* reader, uint64_t event, size_t* bytes);

/* ---- Waveforms ------------------------------------------------------------------------------- */

/** State of a waveform, or of an event (L3_READ_PRESENT, L3_READ_DAMAGED). */
typedef enum {
  L3_READ_PRESENT = 0,
  L3_READ_NOT_KEPT = 1,    /* the menu limits what is kept of its events */
  L3_READ_NO_BOARD = 2,    /* the event lacks the board or its crate */
  L3_READ_OPAQUE = 3,      /* the board compressed its samples itself */
  L3_READ_UNDECODABLE = 4, /* the board or its crate sent words that are not samples */
  L3_READ_DAMAGED = 5,     /* its bytes in the file are damaged */
  L3_READ_NO_CHANNEL = 6,  /* the readout of its session has no such input of this length */
  L3_READ_NO_SETTINGS = 7  /* pulses only: the calibration of its session is not known */
} l3_read_state;

/** Fills samples of channels, in ADC counts (14 bits).
 *
 * channels  (n_channels, 3): number of the crate, slot, channel, as in L3_READ_CHANNELS
 * length    samples of a waveform: 64 (125 MHz, 8 ns apart) or 256 (500 MHz, 2 ns apart); channels
 *           of the other kind need a call of their own
 * samples   (count, n_channels, length); zeros where the state is not L3_READ_PRESENT
 * state     (count, n_channels) of l3_read_state
 * threads   number of decoding threads; 0: one per processor
 *
 * Channels in the order of L3_READ_CHANNELS are decoded in place, which is fastest. A call that
 * wants an eighth of the boards of an event or more reads whole blocks, and verifies each once.
 * A call that wants fewer reads only these boards, and checks lengths and the rules of the format,
 * unless the reader has L3_READ_CHECK_ALL. Returns the number of events with damage, or -1. */
int64_t l3_read_samples(const l3_reader* reader, const l3_read_range* range,
                        const uint8_t* channels, size_t n_channels, uint32_t length,
                        uint16_t* samples, uint8_t* state, int threads);

/** Fills pulses of channels as the trigger measures them, bit for bit: by its own code, from the
 * waveforms, with the calibration in the settings of the event's session. An event that kept
 * features instead of waveforms has the pulses that it stored.
 *
 * channels, state and threads are as in l3_read_samples. A channel of 64 samples has one row, of
 * 256 samples four rows (length / 64). `columns` has a pointer for each field of L3_READ_PULSES, or
 * NULL: to an array (count, n_channels, length / 64). Rows whose flags lack bit 0 hold no pulse. */
int64_t l3_read_pulses(const l3_reader* reader, const l3_read_range* range, const uint8_t* channels,
                       size_t n_channels, uint32_t length, void* const* columns, uint8_t* state,
                       int threads);

/** Verifies the checksums of the blocks that hold these events. Returns the number of events in
 * damaged blocks, which is above 0 only with L3_READ_SKIP_DAMAGED, or -1. */
int64_t l3_read_check(const l3_reader* reader, const l3_read_range* range, int threads);

#ifdef __cplusplus
}
#endif
#endif
