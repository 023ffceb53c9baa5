import { defineEntity, p } from '@mikro-orm/postgresql'
import { owned, tenantFilter } from '../store/tenant.ts'
import type { FormField } from '../studio/studio.ts'

/** A signup form of a list. If the list is deleted, the form stays for the operator, but its page does not exist any more. */
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
    /** Its fields besides the email address. */
    fields: p.json<FormField[]>(),
    doubleOptIn: p.boolean(),
    /** Origins whose scripts may submit the form. */
    origins: p.array(),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
  },
})
export class Form extends FormSchema.class {}
FormSchema.setClass(Form)

/**
 * An unconfirmed signup, whose contact was sent a confirmation link. The contact is either pending, or active; an active one had
 * unsubscribed, or the signup changes its fields. The row is deleted when the signup is confirmed, the contact is activated in
 * another way or deleted, or the link expires. The row contains no email address.
 */
const FormSignupSchema = defineEntity({
  name: 'FormSignup',
  tableName: 'form_signups',
  indexes: [{ name: 'form_signups_mailed_index', properties: ['mailedAt'] }],
  properties: {
    accountId: p.text().collation('C').primary(),
    rowId: p.text().collation('C').primary(),
    listId: p.text().collation('C').primary(),
    /** The form that was submitted last. Its name is copied, because a link may outlive its form. */
    formId: p.text().collation('C'),
    formName: p.text(),
    /** The unconfirmed fields of an active contact. They are null if the contact is pending, and its row has the fields already. */
    fields: p.json<Record<string, string>>().nullable(),
    /** The fields of the form that was submitted. They are null if it was submitted before they were stored. */
    shown: p.json<FormField[]>().nullable(),
    mailedAt: p.datetime(),
    /** The email with the link. */
    messageId: p.text().collation('C').nullable(),
    /** The number of times that the email was sent again because it failed. */
    tries: p.integer().default(0),
  },
})
export class FormSignup extends FormSignupSchema.class {}
FormSignupSchema.setClass(FormSignup)

/** A person who submitted a form. The row stays when the address leaves its lists, so that the person counts once. */
const FormPersonSchema = defineEntity({
  name: 'FormPerson',
  tableName: 'form_people',
  filters: tenantFilter,
  indexes: [{ name: 'form_people_form_index', properties: ['accountId', 'formId'] }],
  properties: {
    accountId: p.text().collation('C').primary(),
    email: p.text().collation('C').primary(),
    formId: p.text().collation('C').primary(),
    /** When the person first submitted the form. */
    submittedAt: p.datetime(),
  },
})
export class FormPerson extends FormPersonSchema.class {}
FormPersonSchema.setClass(FormPerson)

/** Evidence that a person consented: a confirmed signup. The row stays when the form is deleted or the address leaves its lists. */
const FormConsentSchema = defineEntity({
  name: 'FormConsent',
  tableName: 'form_consents',
  filters: tenantFilter,
  indexes: [{ name: 'form_consents_email_index', properties: ['accountId', 'email'] }],
  properties: {
    accountId: p.text().collation('C').primary(),
    id: p.text().collation('C').primary(),
    email: p.text().collation('C'),
    listId: p.text().collation('C'),
    formId: p.text().collation('C'),
    formName: p.text(),
    fields: p.json<FormField[]>(),
    /** The client's address. It is null if `SVC_CONSENT_ADDRESSES` was off. */
    address: p.text().nullable(),
    at: p.datetime(),
  },
})
export class FormConsent extends FormConsentSchema.class {}
FormConsentSchema.setClass(FormConsent)
