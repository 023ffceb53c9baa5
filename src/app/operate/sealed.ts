/** A column of texts sealed with `SVC_SECRET`, and the SQL expression of the context that each text was sealed with. */
export interface SealedColumn {
  table: string
  column: string
  /** Unique in the table. */
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
  { table: 'payment_providers', column: 'former_sealed_key', context: 'account_id' },
  { table: 'payment_providers', column: 'former_sealed_webhook_secret', context: 'account_id' },
  { table: 'installation', column: 'sealed_former_keys', context: `'installation'` },
]
