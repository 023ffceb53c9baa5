export { returnTo } from './checkout.block.ts'
export { listPayments, type PaymentView, paymentStatuses, showPayment } from './checkout.find.ts'
export { closeOrder, loadOrder, type Order, orderOfSession, settleOrder } from './checkout.orders.ts'
export {
  countOpenPayments,
  findWebhookSecrets,
  setStripe,
  setTest,
  showProvider,
  unsetProvider,
} from './checkout.provider.ts'
