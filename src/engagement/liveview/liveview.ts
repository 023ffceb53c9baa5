export { type BlockForm, enteredInto } from './forms.pages.ts'
export { filledLeaves, showLiveView } from './view.ts'
