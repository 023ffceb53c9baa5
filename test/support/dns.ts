import { createSocket } from 'node:dgram'
import { opened } from './fixture.ts'

/** The records of a name; none is NODATA. With `mode` the server answers with a failure, or does not answer. */
export interface Records {
  A?: string[]
  AAAA?: string[]
  /** `[preference, exchange]`; the exchange `.` is a null MX. */
  MX?: [number, string][]
  /** Each record is split into strings of at most 255 bytes. */
  TXT?: string[][]
  mode?: 'nxdomain' | 'servfail' | 'silent'
  /** The delay of the response; 0 by default. */
  delayMs?: number
}

export interface DnsServer {
  /** `127.0.0.1:<port>`, in the format of `SVC_DNS_SERVERS`. */
  address: string
  /** The queries so far, as `A example.test`. */
  queries: string[]
  /** Sets a name's records. A function receives the number of earlier queries of that name and type, to change the answers. */
  set(name: string, records: Records | ((before: number) => Records)): void
  close(): Promise<void>
}

type RecordType = 'A' | 'AAAA' | 'MX' | 'TXT'
const types: Record<number, RecordType> = { 1: 'A', 15: 'MX', 16: 'TXT', 28: 'AAAA' }
const codes: Record<RecordType, number> = { A: 1, MX: 15, TXT: 16, AAAA: 28 }

const ipv6Bytes = (address: string): Buffer => {
  const [left = [], right = []] = new URL(`http://[${address}]/`).hostname
    .slice(1, -1)
    .split('::')
    .map((part) => part.split(':').filter(Boolean))
  const groups = [...left, ...new Array<string>(8 - left.length - right.length).fill('0'), ...right]
  return Buffer.from(groups.map((group) => group.padStart(4, '0')).join(''), 'hex')
}

const nameBytes = (name: string): Buffer =>
  Buffer.concat([
    ...name
      .split('.')
      .filter(Boolean)
      .map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)])),
    Buffer.from([0]),
  ])

const uint16 = (...values: number[]): Buffer => Buffer.from(values.flatMap((value) => [value >> 8, value & 255]))

const dataOf = (records: Records, type: RecordType): Buffer[] => {
  if (type === 'A') return (records.A ?? []).map((address) => Buffer.from(address.split('.').map(Number)))
  if (type === 'AAAA') return (records.AAAA ?? []).map(ipv6Bytes)
  if (type === 'TXT') {
    return (records.TXT ?? []).map((pieces) =>
      Buffer.concat(pieces.flatMap((piece) => [Buffer.from([piece.length]), Buffer.from(piece)])),
    )
  }
  return (records.MX ?? []).map(([preference, exchange]) => Buffer.concat([uint16(preference), nameBytes(exchange)]))
}

/** A record of the queried name (a pointer to offset 12), class IN, TTL 0. */
const recordBytes = (type: RecordType, data: Buffer): Buffer =>
  Buffer.concat([uint16(0xc00c, codes[type], 1, 0, 0, data.length), data])

/** The only question of a query: RFC 1035 section 4.1. */
const readQuestion = (query: Buffer) => {
  const labels: string[] = []
  let at = 12
  for (let length = query[at]!; length > 0; length = query[at]!) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  const type = types[query.readUInt16BE(at + 1)]
  return { name: labels.join('.').toLowerCase(), type, bytes: query.subarray(12, at + 5) }
}

/** Starts a real DNS server over UDP on a loopback port (0: a free one). A name without records does not exist. */
export const openDnsServer = async (port = 0): Promise<DnsServer> => {
  const zone = new Map<string, (before: number) => Records>()
  const queries: string[] = []
  const socket = createSocket('udp4')
  const waiting = new Set<NodeJS.Timeout>()

  const answer = (query: Buffer): { bytes: Buffer; delayMs: number } | null => {
    const { name, type, bytes } = readQuestion(query)
    const asked = `${type} ${name}`
    const before = queries.filter((earlier) => earlier === asked).length
    queries.push(asked)
    const records: Records = zone.get(name)?.(before) ?? { mode: 'nxdomain' }
    if (records.mode === 'silent') return null
    const code = records.mode === 'nxdomain' ? 3 : records.mode === 'servfail' ? 2 : 0
    const data = code === 0 && type ? dataOf(records, type).map((rdata) => recordBytes(type, rdata)) : []
    const header = uint16(query.readUInt16BE(0), 0x8180 | code, 1, data.length, 0, 0)
    return { bytes: Buffer.concat([header, bytes, ...data]), delayMs: records.delayMs ?? 0 }
  }

  socket.on('message', (query, from) => {
    const answered = answer(query)
    if (!answered) return
    const send = () => void socket.send(answered.bytes, from.port, from.address)
    if (answered.delayMs === 0) return send()
    const late = setTimeout(() => {
      waiting.delete(late)
      send()
    }, answered.delayMs)
    waiting.add(late)
  })
  await new Promise<void>((resolve) => socket.bind(port, '127.0.0.1', resolve))

  return {
    address: `127.0.0.1:${socket.address().port}`,
    queries,
    set: (name, records) => void zone.set(name, typeof records === 'function' ? records : () => records),
    close: () => {
      for (const late of waiting) clearTimeout(late)
      return new Promise((resolve) => socket.close(() => resolve()))
    },
  }
}

/** `openDnsServer` for the tests of this file or `describe`. */
export const useDnsServer = (): DnsServer => opened(() => openDnsServer())
