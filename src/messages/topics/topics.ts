export {
  createTopic,
  deleteTopic,
  NewTopic,
  nameMaxLength,
  purgeTopics,
  TopicChange,
  topicsMax,
  updateTopic,
} from './change.ts'
export { findTopic, hasTopicId, isTopic, keepTopic, listTopics, type TopicView } from './find.ts'
export { terms } from './terms.ts'
