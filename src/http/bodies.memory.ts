import { Problem } from '../lib/problem.ts'

const megabyte = 1024 * 1024

/** Memory of the bodies that wait for their answers, counted per owner: the account or client address. */
class MemoryBudget {
  readonly #max: { total: number; perOwner: number }
  readonly #perOwner = new Map<string, number>()
  #total = 0

  constructor(max: { total: number; perOwner: number }) {
    this.#max = max
  }

  /** Takes memory for an owner. Throws Problem `unavailable` if it would exceed a maximum. A negative number releases memory. */
  take(owner: string, bytes: number): void {
    const owned = (this.#perOwner.get(owner) ?? 0) + bytes
    if (bytes > 0 && (owned > this.#max.perOwner || this.#total + bytes > this.#max.total))
      throw new Problem('unavailable', 'Too many uploads are in progress: try again', { retryAfterSeconds: 2 })
    this.#total += bytes
    if (owned > 0) this.#perOwner.set(owner, owned)
    else this.#perOwner.delete(owner)
  }
}

/** Returns the budgets of a server. Requests without a key take no memory from those with one. */
export const createBudgets = () => ({
  keyed: new MemoryBudget({ total: 64 * megabyte, perOwner: 32 * megabyte }),
  open: new MemoryBudget({ total: 16 * megabyte, perOwner: 4 * megabyte }),
})

/** Most bodies fit into a few small buffers. A body that fills 64 of them continues in larger ones. */
const smallBytes = 16 * 1024
const maxSmall = 64
const largeBytes = 256 * 1024

/**
 * The buffers of a body that is being received. It copies chunks into larger buffers, because each chunk would keep the whole socket
 * buffer that it points into.
 */
export class BodyBuffers {
  buffers: Buffer[] = []
  length = 0
  readonly #budget: MemoryBudget
  readonly #owner: string
  #taken = 0
  /** Unused bytes of the last buffer. */
  #free = 0

  constructor(budget: MemoryBudget, owner: string) {
    this.#budget = budget
    this.#owner = owner
  }

  /** Appends a chunk. Throws Problem `unavailable` if the budget has no memory for it. */
  append(chunk: Buffer): void {
    for (let at = 0; at < chunk.length; ) {
      if (this.#free === 0) this.#addBuffer()
      const last = this.buffers.at(-1)!
      const copied = chunk.copy(last, last.length - this.#free, at)
      at += copied
      this.#free -= copied
    }
    this.length += chunk.length
  }

  /** Returns the memory to the budget. The kept-alive connection would hold the buffers until its next request. */
  release(): void {
    this.#budget.take(this.#owner, -this.#taken)
    this.buffers = []
    this.#taken = 0
    this.#free = 0
  }

  #addBuffer(): void {
    const size = this.buffers.length < maxSmall ? smallBytes : largeBytes
    this.#budget.take(this.#owner, size)
    this.buffers.push(Buffer.allocUnsafeSlow(size))
    this.#taken += size
    this.#free = size
  }
}
