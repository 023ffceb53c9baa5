import { defineEntity, p } from '@mikro-orm/postgresql'
import { owned, tenantFilter } from '../store/owned.ts'
import type { FormField } from '../studio/studio.ts'

/** A signup form of a list. Its list may be gone: then nobody finds it any more but the operator. */
const FormSchema = defineEntity({
  name: 'Form',
  tableName: 'forms',
  filters: tenantFilter,
  uniques: [{ properties: ['accountId', 'name'] }],
  properties: {
    id: p.text().collation('C').primary(),
    ...owned,
    name: p.text(),
    listId: p.text().collation('C'),
    /** What it asks for beside the address. */
    fields: p.json<FormField[]>(),
    doubleOptIn: p.boolean(),
    /** Sites whose scripts may post to it. */
    origins: p.array(),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
  },
})
export class Form extends FormSchema.class {}
FormSchema.setClass(Form)

/** A pending contact that was mailed a link to confirm by; it goes when the contact is active, or gone. No address in it. */
const FormSignupSchema = defineEntity({
  name: 'FormSignup',
  tableName: 'form_signups',
  properties: {
    accountId: p.text().collation('C').primary(),
    rowId: p.text().collation('C').primary(),
    listId: p.text().collation('C').primary(),
    /** The form that was submitted last, as it was named then: a link holds longer than its form may. */
    formId: p.text().collation('C'),
    formName: p.text(),
    mailedAt: p.datetime(),
  },
})
export class FormSignup extends FormSignupSchema.class {}
FormSignupSchema.setClass(FormSignup)
