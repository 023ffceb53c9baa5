import { expect, test } from 'vitest'
import { imageSize } from '../../src/lib/image-size.ts'
import { harbourPng } from '../../src/tools/dev/picture.ts'

const webp = (format: string, rest: string) =>
  Buffer.concat([Buffer.from('RIFF\x10\0\0\0WEBP'), Buffer.from(format), Buffer.alloc(4), Buffer.from(rest, 'hex')])

test.each<[string, string, Buffer, object | null]>([
  ['a PNG', 'image/png', harbourPng, { width: 1120, height: 400 }],
  ['a lossy WebP', 'image/webp', webp('VP8 ', '0000009d012a40012c01'), { width: 320, height: 300 }],
  ['a lossless WebP', 'image/webp', webp('VP8L', '2f3f414a000000000000'), { width: 320, height: 298 }],
  ['an extended WebP', 'image/webp', webp('VP8X', '100000003f01002b0100'), { width: 320, height: 300 }],
  [
    'a JPEG, after another segment and a table',
    'image/jpeg',
    Buffer.from('ffd8ffe000044a46ffc4000400ffffc2000b0801' + '2c0140' + '0300', 'hex'),
    { width: 320, height: 300 },
  ],
  ['a PNG that is cut', 'image/png', harbourPng.subarray(0, 20), null],
  ['a PNG of no width', 'image/png', Buffer.alloc(30), null],
  ['a JPEG without a frame', 'image/jpeg', Buffer.from('ffd8ffe000044a46', 'hex'), null],
  ['a JPEG of zeros', 'image/jpeg', Buffer.alloc(10_000), null],
  ['a WebP that is cut', 'image/webp', webp('VP8X', '10'), null],
])('the size of %s', (_, type, image, size) => {
  expect(imageSize(image, type)).toEqual(size)
})
