export { type BlockForm, enteredInto } from './blocks.views.ts'
export { filledLeaves, showLiveView } from './view.ts'
