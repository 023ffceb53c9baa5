export { type BindingView, listBindings, type Subject, setBinding, unsetBinding } from './lifecycle.bindings.ts'
export { type PlainMail, plainMail } from './lifecycle.mails.ts'
export { type LifecycleMail, queueLifecycleMails } from './lifecycle.queue.ts'
