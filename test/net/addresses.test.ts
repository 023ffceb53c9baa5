import { describe, expect, test } from 'vitest'
import { anyAddress, clientOf, isPublicAddress, mayDial, parseCidrs, plainAddress } from '../../src/net/addresses.ts'

const refused = {
  'this network': ['0.0.0.0', '0.255.255.255'],
  private: ['10.0.0.0', '10.255.255.255', '172.16.0.0', '172.31.255.255', '192.168.0.0', '192.168.255.255'],
  CGNAT: ['100.64.0.1', '100.127.255.255'],
  loopback: ['127.0.0.1', '127.255.255.255', '::1'],
  'cloud agents': ['168.63.129.16', '::ffff:168.63.129.16', '100.100.100.200', '192.0.0.192', 'fd00:ec2::254'],
  'link-local': ['169.254.169.254', 'fe80::1', 'fe80::1%eth0', 'febf::1'],
  'IETF protocols': ['192.0.0.1', '192.88.99.1', '2001:1::1'],
  documentation: ['192.0.2.1', '198.51.100.1', '203.0.113.1', '2001:db8::1', '3fff::1', '3fff:fff::1'],
  benchmarking: ['198.18.0.1', '198.19.255.255', '2001:2::1'],
  multicast: ['224.0.0.1', '239.255.255.255', 'ff02::1'],
  'reserved and broadcast': ['240.0.0.1', '255.255.255.255'],
  unspecified: ['::'],
  'unique local': ['fc00::1', 'fdff::1'],
  'site-local': ['fec0::1'],
  'discard-only': ['100::1'],
  ORCHID: ['2001:10::1', '2001:20::1'],
  unassigned: ['4000::1', '5f00::1', '8000::1'],
  'IPv4-mapped': ['::ffff:127.0.0.1', '::ffff:7f00:1', '0:0:0:0:0:ffff:10.0.0.1'],
  'IPv4-compatible': ['::127.0.0.1', '::a00:1'],
  'IPv4-translated': ['::ffff:0:127.0.0.1'],
  NAT64: ['64:ff9b::7f00:1', '64:ff9b::10.0.0.1', '64:ff9b:1::1', '64:ff9b:1:ffff::8.8.8.8'],
  '6to4': ['2002:7f00:1::', '2002:a00:1::1', '2002:a9fe:a9fe::'],
  'Teredo, client or server': ['2001:0:808:808::80ff:fffe', '2001:0:7f00:1::f7f7:f7f7'],
  'not an address': ['', 'localhost', '127.1', '[::1]'],
}

const open = {
  IPv4: ['8.8.8.8', '1.1.1.1', '9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.0', '126.255.255.255'],
  'next to a private block': [
    '172.15.255.255',
    '172.32.0.0',
    '192.167.0.1',
    '198.17.0.1',
    '198.20.0.1',
    '223.255.255.255',
  ],
  IPv6: ['2606:4700:4700::1111', '2a00:1450::1', '2001:4860:4860::8888', '2001:200::1', '3ffe::1'],
  'a public IPv4 address inside an IPv6 address': [
    '::ffff:8.8.8.8',
    '::8.8.8.8',
    '64:ff9b::808:808',
    '2002:808:808::1',
    '2001:0:808:808::f7f7:f7f7',
  ],
}

describe('an address is not public', () => {
  for (const [kind, ips] of Object.entries(refused)) {
    test.each(ips)(`${kind}: %s`, (ip) => expect(isPublicAddress(ip)).toBe(false))
  }
})

describe('an address is public', () => {
  for (const [kind, ips] of Object.entries(open)) {
    test.each(ips)(`${kind}: %s`, (ip) => expect(isPublicAddress(ip)).toBe(true))
  }
})

test('a list of CIDR blocks and addresses permits the addresses that it names and no other private ones', () => {
  const allow = parseCidrs(' 127.0.0.0/8, fd00::/8 ,10.1.2.3')
  expect(['127.0.0.1', '::ffff:127.0.0.1', 'fd12::1', '10.1.2.3', '8.8.8.8'].map((ip) => mayDial(ip, allow))).toEqual(
    new Array(5).fill(true),
  )
  expect(['10.1.2.4', '::1', 'fc00::1', '2002:7f00:1::', 'localhost'].map((ip) => mayDial(ip, allow))).toEqual(
    new Array(5).fill(false),
  )
})

test('an empty list permits no private address, and anyAddress permits every address', () => {
  expect(mayDial('127.0.0.1', parseCidrs(''))).toBe(false)
  expect(['127.0.0.1', '::1', '10.0.0.1', 'fe80::1'].every((ip) => mayDial(ip, anyAddress))).toBe(true)
})

test.each([
  '10.0.0.0/33',
  '10.0.0/8',
  'fd00::/129',
  'localhost',
  '10.0.0.0/8/8',
  '10.0.0.0/',
  '10.0.0.0/-1',
  '1.2.3.4/a',
])('the error names an invalid block: %s', (text) =>
  expect(() => parseCidrs(`::1,${text}`)).toThrow(`"${text}" is not an address or a CIDR block`),
)

test.each([
  ['203.0.113.7', '203.0.113.7'],
  ['::ffff:203.0.113.7', '203.0.113.7'],
  ['::FFFF:CB00:7107', '203.0.113.7'],
  ['203.0.113.7:51812', '203.0.113.7'],
  ['[2001:db8::7]', '2001:db8::7'],
  ['[2001:db8::7]:51812', '2001:db8::7'],
  ['[::ffff:203.0.113.7]:51812', '203.0.113.7'],
  ['fe80::7%eth0', 'fe80::7'],
  ['2001:db8::7:443', '2001:db8::7:443'],
  ['unknown', 'unknown'],
  ['', ''],
])('%j, from a socket or a proxy, is the address %j', (written, address) => {
  expect(plainAddress(written)).toBe(address)
  expect(clientOf(written)).toBe(clientOf(address))
})
