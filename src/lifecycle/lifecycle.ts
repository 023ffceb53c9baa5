import type { Bindable } from './lifecycle.bindings.ts'

export {
  type Bindable,
  type BindingView,
  boundEvents,
  deleteBindings,
  listBindings,
  setBinding,
  unsetBinding,
} from './lifecycle.bindings.ts'
export {
  type LifecycleMail,
  queueLifecycleMails,
  queueManyLifecycleMails,
  withdrawLifecycleMails,
} from './lifecycle.queue.ts'

declare module '../store/work.ts' {
  interface App {
    readonly bindable: Bindable
  }
}
