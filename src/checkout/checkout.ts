export { listPayments, type PaymentView, paymentStatuses, showPayment } from './checkout.find.ts'
export {
  countOpenPayments,
  setStripe,
  setTest,
  showProvider,
  unsetProvider,
} from './checkout.provider.ts'
