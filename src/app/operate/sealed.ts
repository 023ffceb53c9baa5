/** Where what `SVC_SECRET` seals is stored: a column, and SQL that gives the context that each text was sealed with. */
export interface SealedColumn {
  table: string
  column: string
  /** No two rows of the table have the same. */
  context: string
}

/** Every column of the database that holds sealed texts. */
export const sealedColumns: readonly SealedColumn[] = [
  { table: 'delivery_targets', column: 'sealed_secret', context: 'id' },
  { table: 'relays', column: 'sealed_password', context: 'account_id' },
  { table: 'domains', column: 'sealed_key', context: `account_id || ' ' || domain` },
  { table: 'bounce_mailboxes', column: 'sealed_password', context: `'bounces ' || account_id` },
  { table: 'payment_providers', column: 'sealed_key', context: 'account_id' },
  { table: 'payment_providers', column: 'sealed_webhook_secret', context: 'account_id' },
  { table: 'installation', column: 'sealed_former_keys', context: `'installation'` },
]
