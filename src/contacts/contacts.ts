/*
 * The front of the contacts feature. SIGNATURES, being filled in:
 *
 * export type Verdict = { status: 'valid'|'risky'|'invalid'|'unknown', reasons: string[] }
 * verifyAddresses(app: Pick<App,'sql'|'resolver'|'now'>, emails: readonly string[]): Promise<Map<email, Verdict>>       before the transaction
 * recheckDomains(app: Pick<App,'sql'|'resolver'|'now'>, limit: number): Promise<number>
 *
 * export interface ContactWrite { email: string (normalised); fields: Record<string,string> }
 * export type Outcome = 'created'|'updated'|'unchanged'|'skipped'
 * writeContacts(work, listId, writes: readonly ContactWrite[] (distinct emails), verdicts: ReadonlyMap<string, Verdict>,
 *   options?: { keepExisting?: boolean; events?: boolean }): Promise<Map<email, Outcome>>
 *   missing('There is no list …'), invalid('A list can have at most 40 columns'). keepExisting: contacts of the list stay as they are -> 'skipped';
 *   also 'skipped' = plan limit reached.
 * normalizeFields(entries: Iterable<readonly [string, unknown]>, path?: PropertyKey[]): Record<string,string>   (null prototype; Problem invalid names the field)
 * mergeWrites(writes: Iterable<ContactWrite>): ContactWrite[]     one per address, fields merged in order
 * parseEmail: normalizeEmail of src/lib/email.ts; EmailInput (zod): trims, lowercases, 1..320, no NUL
 *
 * type List = { id, name, fields: string[], rowCount, createdAt, updatedAt }      // api.md ContactList
 * createList(work, { name, fields? }): Promise<List>   conflict when the name is taken
 * findList(work, idOrName): Promise<List>              missing
 * listLists(work): Promise<List[]>;  renameList(work, idOrName, name): Promise<List>
 * deleteList(work, idOrName, { dryRun }): Promise<{ list: List; contacts: number; addresses: number }>
 *
 * type Contact = src/events/shapes.ts Contact
 * findContacts(reader: Pick<Work,'sql'|'accountId'|'actor'|'now'>, { email, listId? }): Promise<Contact[]>      recorded in the access log
 * listContacts(work, { list?: idOrName, cursor?, limit }): Promise<{ contacts: Contact[]; nextCursor: string | null }>
 * showContact(work, email): Promise<Contact[]>          missing when in no list
 * exportContacts(app, accountId, listId): AsyncGenerator<Contact[]>    pages
 * upsertContact(app, accountId, actor, { listId, email, fields }): Promise<{ created, updated, skipped, contact }>
 * upsertBatch(app, accountId, actor, { listId, contacts: ContactWrite[] }): Promise<{ created, updated, skipped }>
 * eraseContact(work, email, { dryRun }): Promise<{ email: string; contacts: number; rejects: number }>
 * accessLog(work, { cursor?, limit }): Promise<{ accessLog: { id, at, actor, email, listId|null, found }[]; nextCursor: string | null }>
 */
