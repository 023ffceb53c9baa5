export { createTopic, deleteTopic, NewTopic, purgeTopics, topicsMax } from './change.ts'
export { findTopic, hasTopicId, isTopic, keepTopic, listTopics, type TopicView } from './find.ts'
export { terms } from './terms.ts'
