import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createTransport } from 'nodemailer'

export const paragraphs = 'A paragraph of a newsletter, as they are. '.repeat(330)
/** An email of 14 KB. */
export const html = `<p>${paragraphs}</p>`
export const text = 'A paragraph of a newsletter.'

export const perSecond = async (count: number, run: () => Promise<unknown>): Promise<number> => {
  const start = performance.now()
  await run()
  return count / ((performance.now() - start) / 1000)
}

/** Only nodemailer: sends the same number of emails with its pool of 5 connections. */
export const viaPool = (url: string, count: number) => async () => {
  const transport = createTransport({ url, pool: true } as never)
  const rate = await perSecond(count, () =>
    Promise.all(
      Array.from({ length: count }, (_, i) =>
        transport.sendMail({
          from: 'hello@shop.example',
          to: `p${i}@people.example`,
          subject: `Mail ${i}`,
          html,
          text,
        }),
      ),
    ),
  )
  transport.close()
  return rate
}

/** The relay of the benches, in a separate process. */
export const openSink = async () => {
  const sink = fork(join(import.meta.dirname, 'mail-sink.ts'))
  const [port] = (await once(sink, 'message')) as [number]
  return { url: `smtp://127.0.0.1:${port}`, close: () => sink.disconnect() }
}
