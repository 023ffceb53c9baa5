/** The files that still number the parameters of statements, or write their rows' types by hand. The list only gets shorter. */
export const positional: readonly string[] = [
  'activity/activity.purge.ts',
  'app/find-ids.ts',
  'app/operate/rotate.ts',
  'contacts/contacts.find.ts',
  'contacts/contacts.purge.ts',
  'contacts/contacts.timeline.ts',
  'contacts/imports/checkpoint.ts',
  'contacts/write/delete-list.ts',
  'contacts/write/known.ts',
  'contacts/write/remove.ts',
  'contacts/write/write.count.ts',
  'contacts/write/write.statement.ts',
  'segments/segments.scan.ts',
  'store/backup/backup.write.ts',
  'store/clock.ts',
  'store/schema.ts',
]
