export { listPayments, type PaymentView, paymentStatuses, showPayment } from './checkout.find.ts'
export {
  countOpenPayments,
  setStripe,
  setTest,
  showProvider,
  unsetProvider,
} from './checkout.provider.ts'

declare module '../store/work.ts' {
  interface Settings {
    /** The URL of Stripe's API, for tests. It is null for the default of Stripe's library. */
    readonly stripeApiUrl: string | null
  }
}
