/** What the product has acknowledged, in the state that the checks must find. */
export interface Ledger {
  /** The key is `<list id> <email>`. */
  contacts: Map<string, KnownContact>
  sends: KnownSend[]
  deals: KnownDeal[]
  /** The addresses that entered the journey. */
  travellers: string[]
  seats: { webinarId: string; email: string; status: 'confirmed' | 'waitlisted' }[]
  /** The counts that `svc contacts import` printed at its end. */
  imports: { id: string; rows: number; created: number; updated: number; unchanged: number }[]
}

export interface KnownContact {
  fields: Record<string, string>
  /** How often its fields changed after it was created. */
  changes: number
}

export interface KnownSend {
  key: string
  to: string
  id: string
  status: 'sent' | 'failed' | 'suppressed'
  error: string | null
}

export interface KnownDeal {
  id: string
  title: string
  value: string
  /** The ids of its stages since its creation, in order. */
  stages: string[]
}

export const createLedger = (): Ledger => ({
  contacts: new Map(),
  sends: [],
  deals: [],
  travellers: [],
  seats: [],
  imports: [],
})
