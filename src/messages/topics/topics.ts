export { terms } from './terms.ts'
export {
  createTopic,
  deleteTopic,
  NewTopic,
  nameMaxLength,
  purgeTopics,
  TopicChange,
  topicsMax,
  updateTopic,
} from './topics.change.ts'
export { findTopic, hasTopicId, isTopic, keepTopic, listTopics, type TopicView } from './topics.find.ts'
