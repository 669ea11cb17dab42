/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a store by the C interface alone: every table, every list, samples and pulses. It prints
 * what there is, and fails if a function does. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "koto_l3/read.h"

static void require(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "%s: %s\n", what, l3_read_error());
  exit(1);
}

static size_t size_of(l3_read_type type) {
  static const size_t sizes[] = {1, 2, 4, 8, 2, 4, 8, 0};
  return sizes[type];
}

static void read_table(const l3_reader* reader, l3_read_table table, int is_list) {
  const l3_read_field* fields;
  const size_t n = l3_read_fields(table, &fields);
  const l3_read_range all = {0, (uint64_t)l3_read_size(reader, is_list ? L3_READ_EVENTS : table),
                             NULL};
  uint64_t* offsets = malloc((all.count + 1) * sizeof *offsets);
  void* columns[64] = {NULL};
  uint64_t rows = all.count, row;
  size_t f;
  require(n > 0 && n <= 64, "a table has fields");
  if (is_list) {
    const int64_t there = l3_read_lists(reader, table, &all, offsets, NULL, 0, 1);
    require(there >= 0, "lists have a length");
    rows = (uint64_t)there;
  }
  for (f = 0; f < n; ++f)
    if (fields[f].type != L3_READ_TEXT) columns[f] = malloc(rows * size_of(fields[f].type) + 1);
  if (is_list)
    require(l3_read_lists(reader, table, &all, offsets, columns, rows, 2) == (int64_t)rows,
            "lists");
  else
    require(l3_read_rows(reader, table, &all, columns, 2) == 0, "rows");
  for (f = 0; f < n; ++f)
    for (row = 0; fields[f].type == L3_READ_TEXT && row < rows; ++row) {
      size_t bytes;
      const char* const text = l3_read_text(reader, table, row, fields[f].name, &bytes);
      require(text != NULL && text[bytes] == 0, fields[f].name);
    }
  printf("table %d: %lu rows of %lu fields\n", (int)table, (unsigned long)rows, (unsigned long)n);
  for (f = 0; f < n; ++f) free(columns[f]);
  free(offsets);
}

int main(int argc, char** argv) {
  const uint8_t channels[6] = {0, 3, 0, 0, 3, 1};
  l3_reader* reader;
  l3_read_range all = {0, 0, NULL};
  uint16_t* samples;
  uint8_t* state;
  void* pulses[8] = {NULL};
  int table;
  require(argc == 2, "usage: read_in_c STORE");
  require(l3_read_open("/nonexistent", 0) == NULL &&
              strstr(l3_read_error(), "/nonexistent") != NULL,
          "a missing store is named");
  reader = l3_read_open(argv[1], 0);
  require(reader != NULL, argv[1]);
  for (table = L3_READ_EVENTS; table < L3_READ_PULSES; ++table)
    read_table(reader, (l3_read_table)table,
               table >= L3_READ_PHOTONS && table <= L3_READ_DECISIONS);
  all.count = (uint64_t)l3_read_size(reader, L3_READ_EVENTS);
  samples = malloc(all.count * 2 * 64 * sizeof *samples);
  state = malloc(all.count * 2);
  require(l3_read_samples(reader, &all, channels, 2, 64, samples, state, 0) == 0, "samples");
  require(l3_read_pulses(reader, &all, channels, 2, 64, pulses, state, 0) == 0, "pulses");
  require(l3_read_check(reader, &all, 0) == 0, "checksums");
  require(l3_read_refresh(reader) == (int64_t)all.count, "no event has come");
  require(l3_read_samples(reader, &all, channels, 2, 65, samples, state, 1) == -1, "65 samples");
  all.first = 1;
  require(l3_read_check(reader, &all, 1) == -1, "there is no such event");
  printf("%s: %s\n", l3_read_version(), l3_read_error());
  free(samples);
  free(state);
  l3_read_close(reader);
  return 0;
}
