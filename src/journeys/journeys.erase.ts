import { addressPattern, addressRegExp, erasedAddress, erasedText } from '../lib/erased.ts'
import { recordOf } from '../lib/file-faults.ts'
import { statement } from '../store/statement.ts'
import { types } from '../store/tables.ts'
import type { PersonalDataPart, Work } from '../store/work.ts'
import type { Definition } from './definition/definition.schema.ts'
import { stepsOf } from './files/files.ts'
import { journeyVersions } from './journeys.columns.ts'

/*
 * Addresses in definitions: in the filters and conditions of steps, and as Reply-To, as in segments and broadcasts. Other texts of a
 * definition are those of its operator, as the texts of projects are.
 */

const named = {
  row: types(journeyVersions, 'journeyId', 'version', 'definition'),
  parameters: { accountId: 'text', pattern: 'text' },
} as const
const naming = `select journey_id as "journeyId", version, definition from journey_versions
  where account_id = :accountId and definition::text ~* :pattern order by journey_id, version`

export const readVersions = statement('versions-naming', { row: named.row, parameters: named.parameters }, naming)
const lockVersions = statement(
  'lock-versions-naming',
  { row: named.row, parameters: named.parameters },
  `${naming} for update`,
)

/** The texts of a definition that an erasure changes, with their places. */
function* textsOf(definition: Definition): Generator<{ holder: Record<string, unknown>; name: string; text: string }> {
  for (const { step } of stepsOf(definition))
    for (const holder of [step, recordOf(step.where), recordOf(step.if)])
      for (const [name, text] of Object.entries(holder ?? {})) {
        const isText = holder === step ? name === 'where' || name === 'replyTo' : name !== 'field'
        if (isText && typeof text === 'string') yield { holder: holder!, name, text }
      }
}

/** The journeys whose filters, conditions or Reply-To name an address, by version, with these texts. */
export const namingJourneys: PersonalDataPart = {
  name: 'journeys',
  async read({ sql, accountId }, email) {
    const rows = await sql(readVersions, { accountId, pattern: addressPattern(email) })
    return rows.flatMap(({ journeyId, version, definition }) => {
      const texts = Array.from(textsOf(definition), ({ text }) => text).filter((text) =>
        addressRegExp(email).test(text),
      )
      return texts.length > 0 ? [{ id: journeyId, version, texts }] : []
    })
  },
}

const saveDefinition = statement(
  'save-erased-definition',
  { parameters: { accountId: 'text', journeyId: 'text', version: 'int4', definition: 'jsonb' } },
  'update journey_versions set definition = :definition where account_id = :accountId and journey_id = :journeyId and version = :version',
)

// A run that another process advances can't record then: it is read again.
const eraseWaits = statement(
  'erase-address-in-waits',
  { parameters: { accountId: 'text', pattern: 'text' } },
  `update journey_runs r set awaited_where = regexp_replace(awaited_where::text, :pattern, ${erasedAddress}, 'gi')::jsonb, revision = revision + 1
   from (
     select id from journey_runs where account_id = :accountId and awaited is not null and awaited_where::text ~* :pattern order by id for no key update
   ) named where r.account_id = :accountId and r.id = named.id`,
)

/** Removes an erased address from filters and conditions, and as Reply-To. Running engines use the change within ten seconds. */
export const eraseInDefinitions = async ({ sql, accountId }: Work, email: string): Promise<void> => {
  const pattern = addressPattern(email)
  for (const { journeyId, version, definition } of await sql(lockVersions, { accountId, pattern })) {
    for (const { holder, name, text } of textsOf(definition)) {
      if (name === 'replyTo' && text === email) delete holder[name]
      else holder[name] = text.replace(addressRegExp(email), erasedText)
    }
    await sql(saveDefinition, { accountId, journeyId, version, definition: JSON.stringify(definition) })
  }
  await sql(eraseWaits, { accountId, pattern })
}
