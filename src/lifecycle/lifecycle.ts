export { type BindingView, listBindings, setBinding, unsetBinding } from './lifecycle.bindings.ts'
export { type LifecycleMail, queueLifecycleMails } from './lifecycle.queue.ts'
